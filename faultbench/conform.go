package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"iter"
	"net"
	"net/http"
	"strings"
	"time"
)

// Options say how a gateway is checked.
type Options struct {
	Provider  net.Listener      // where to play the provider, which Run closes; nil: the gateway has one
	Header    http.Header       // of every request to the gateway, such as the gateway's own token
	Key       string            // of the provider: with it a check may cost a few tokens; "": none does
	Model     string            // that requests ask for; "": DefaultModel
	Transport http.RoundTripper // to the gateway; nil: one like http.DefaultTransport
}

// DefaultModel is the model that requests ask for.
const DefaultModel = "claude-haiku-4-5"

// Status is how a check ended.
type Status string

// The ends of a check.
const (
	OK         Status = "ok"
	Fails      Status = "fails"
	NotChecked Status = "not checked"
)

// Result is the result of one check.
type Result struct {
	Check  string `json:"check"`
	About  string `json:"about"` // what the contract asks for
	Status Status `json:"status"`
	Reason string `json:"reason,omitzero"` // what was seen, or why there was no check
	Client string `json:"client,omitzero"` // what a user of Claude Code sees, where the check fails
}

// checkLimit bounds one check.
const checkLimit = 60 * time.Second

// Run checks the gateway at a base URL and returns the results as they come. It stops when ctx ends.
func Run(ctx context.Context, base string, o Options) iter.Seq[Result] {
	return func(yield func(Result) bool) {
		r := newRun(base, o)
		defer r.close()
		for _, c := range checks {
			if result := r.check(ctx, c); ctx.Err() != nil || !yield(result) {
				return
			}
		}
	}
}

// run is a gateway that is being checked.
type run struct {
	Options
	base        string
	client      *http.Client
	provider    *provider // nil: the gateway has a real one
	unreachable bool      // no request reaches the provider
}

func newRun(base string, o Options) *run {
	if o.Model == "" {
		o.Model = DefaultModel
	}
	if o.Transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.DisableCompression = true // a check sees what the gateway sends
		o.Transport = t
	}
	r := &run{Options: o, base: strings.TrimRight(base, "/")}
	r.client = &http.Client{
		Transport:     o.Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	if o.Provider != nil {
		r.provider = newProvider(o.Provider)
	}
	return r
}

// close ends the provider and the connections to the gateway.
func (r *run) close() {
	r.client.CloseIdleConnections()
	if r.provider != nil {
		r.provider.close()
	}
}

// check makes one check.
func (r *run) check(ctx context.Context, c check) Result {
	out := Result{Check: c.name, About: c.about}
	do, why := r.way(c)
	if do == nil {
		out.Status, out.Reason = NotChecked, why
		return out
	}
	t := &trial{run: r, ctx: ctx, mark: "conform-" + rand.Text()}
	defer t.within(checkLimit)()
	note, err := do(t)
	out.Status, out.Reason = OK, note
	switch skipped, ok := err.(skip); {
	case ok:
		out.Status, out.Reason = NotChecked, string(skipped)
	case err != nil:
		out.Status, out.Reason, out.Client = Fails, err.Error(), c.client
		r.unreachable = r.unreachable || c.name == reachableCheck
	}
	return out
}

// way returns how a check can be made; nil: it cannot, with the reason.
func (r *run) way(c check) (do method, why string) {
	switch {
	case r.provider == nil && c.real == nil:
		return nil, "needs --provider: only the provider sees it"
	case r.provider == nil && c.costs && r.Key == "":
		return nil, "needs --provider, or a key: the provider charges a few tokens for it"
	case r.provider == nil:
		return c.real, ""
	case r.unreachable && !c.alone:
		return nil, "no request reaches the provider"
	}
	return c.played, ""
}

// method makes a check. What it notes is shown where the check passes.
type method func(*trial) (note string, err error)

// skip is the error of a check that turned out to be impossible.
type skip string

// Error returns why.
func (s skip) Error() string { return string(s) }

// skipf returns a skip.
func skipf(format string, args ...any) error { return skip(fmt.Sprintf(format, args...)) }
