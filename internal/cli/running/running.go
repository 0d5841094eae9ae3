// Package running asks the gateway that runs over its HTTP API: what waits, and for what. It has the commands that do
// so in place of curl, status and waits, and no model of conversations, for which there is package client.
package running

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/operation/access"
)

// Gateway is the address of a gateway, whether it runs or not.
type Gateway struct {
	URL   string // such as http://127.0.0.1:8484
	Token string // "": none
}

const (
	askTime  = time.Second // for a gateway on this machine to say that it is there
	getTime  = 10 * time.Second
	liveTime = 4 * time.Second // less than the health check of the image allows
	bound    = 64 << 20        // of an answer: a list of many thousand waits
)

// Answers reports whether a gateway of ours answers at the address.
func (g Gateway) Answers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	answer, err := g.Get(ctx, "/-/waits", "application/json")
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	var list struct {
		Waits *[]json.RawMessage `json:"waits"`
	}
	return answer.StatusCode == http.StatusOK && json.NewDecoder(answer.Body).Decode(&list) == nil && list.Waits != nil
}

// Get requests something from the gateway's API.
func (g Gateway) Get(ctx context.Context, path, accept string) (*http.Response, error) {
	return g.send(ctx, http.MethodGet, path, accept, nil)
}

func (g Gateway) send(ctx context.Context, method, path, accept string, body []byte) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(g.URL, "/")+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", accept)
	if len(body) > 0 {
		r.Header.Set("Content-Type", "application/json")
	}
	if g.Token != "" {
		r.Header.Set(access.Header, g.Token)
	}
	return http.DefaultClient.Do(r)
}

// Live returns nil if a gateway answers and is not frozen, and else the reason that it states. It sends no token.
// At an address of this machine it accepts any certificate, which is for another name.
func (g Gateway) Live(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, liveTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(g.URL, "/")+"/-/livez", http.NoBody)
	if err != nil {
		return err
	}
	r.Header.Set("Accept", "application/json")
	to := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: command.IsLoopback(r.URL.Hostname())}}
	defer to.CloseIdleConnections()
	answer, err := to.RoundTrip(r)
	if err != nil {
		return Unreachable{g.URL, reason(err)}
	}
	defer answer.Body.Close()
	var is struct{ Status, Reason string }
	switch err := json.NewDecoder(io.LimitReader(answer.Body, bound)).Decode(&is); {
	case err != nil || is.Status == "":
		return Unreachable{g.URL, errors.New("another program does")}
	case answer.StatusCode != http.StatusOK:
		return Refused{answer.StatusCode, is.Status + ": " + is.Reason}
	}
	return nil
}

// Unreachable is the error about an address where no gateway answers.
type Unreachable struct {
	URL string
	Err error
}

// Error names the address and the reason.
func (u Unreachable) Error() string { return fmt.Sprintf("no gateway answers at %s: %v", u.URL, u.Err) }

// Unwrap returns the reason.
func (u Unreachable) Unwrap() error { return u.Err }

// Refused is the gateway's refusal of a request.
type Refused struct {
	Status int
	Detail string
}

// Error returns the gateway's reason.
func (r Refused) Error() string { return r.Detail }

func (g Gateway) ask(ctx context.Context, method, path string, body, into any) error {
	ctx, cancel := context.WithTimeout(ctx, getTime)
	defer cancel()
	var text []byte
	if body != nil {
		text, _ = json.Marshal(body) // of strings
	}
	answer, err := g.send(ctx, method, path, "application/json", text)
	if err != nil {
		return Unreachable{g.URL, reason(err)}
	}
	defer answer.Body.Close()
	content := io.LimitReader(answer.Body, bound)
	if answer.StatusCode >= http.StatusBadRequest {
		return refusal(answer, content)
	}
	if err := json.NewDecoder(content).Decode(into); err != nil {
		return Unreachable{g.URL, fmt.Errorf("another program does: its answer to %s is not JSON", path)}
	}
	return nil
}

// reason returns an error without the address, which the message already has.
func reason(err error) error {
	if number, ok := errors.AsType[syscall.Errno](err); ok {
		return number
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

func refusal(answer *http.Response, content io.Reader) error {
	var problem struct {
		Type, Title, Detail string
	}
	if json.NewDecoder(content).Decode(&problem) != nil || problem.Detail == "" {
		return Refused{answer.StatusCode, answer.Status}
	}
	return Refused{answer.StatusCode, cmp.Or(problem.Detail, problem.Title)}
}

// Info is what a gateway reports about itself.
type Info struct {
	Name    string    `json:"name"`
	Version string    `json:"version"`
	Process int       `json:"process"`
	Since   time.Time `json:"since"`
	Fleet   *Fleet    `json:"fleet,omitempty"` // nil: it is on its own
}

// Fleet is what a gateway reports about its fleet.
type Fleet struct {
	Name      string    `json:"name"`
	Replica   string    `json:"replica"`
	Connected bool      `json:"connected"`
	Since     time.Time `json:"since"`
	Replicas  []string  `json:"replicas"`
}

// Info asks the gateway about itself.
func (g Gateway) Info(ctx context.Context) (is Info, err error) {
	if err = g.ask(ctx, http.MethodGet, "/-/", nil, &is); err == nil && is.Name != "ridethrough" {
		err = Unreachable{g.URL, errors.New("another program does")}
	}
	return is, err
}

// Wait is a call that waits at the gateway, or a turn of a conversation. It has the fields of /-/waits that the
// commands use.
type Wait struct {
	Face        string    `json:"face"`
	ID          int64     `json:"id,omitzero"`           // of a call
	Turn        string    `json:"conversation,omitzero"` // the conversation of a turn; "": it is a call
	State       string    `json:"state"`
	Upstream    string    `json:"upstream"`
	Model       string    `json:"model"`
	Client      string    `json:"client"`
	Cause       string    `json:"cause"`
	Limit       string    `json:"limit"` // for which it waits, in words; "": for none
	Retries     int       `json:"retries"`
	Began       time.Time `json:"began"`
	OpensAt     time.Time `json:"opensAt"`
	RemainingMs int64     `json:"remainingMs"`
	WaitedMs    int64     `json:"waitedMs"`

	Heard time.Time `json:"-"` // when it came
}

// Name is the name of the wait for [Gateway.Act].
func (w Wait) Name() string { return cmp.Or(w.Turn, strconv.FormatInt(w.ID, 10)) }

// Due returns when the next try is due, or zero if that is unknown.
func (w Wait) Due() time.Time {
	switch {
	case !w.OpensAt.IsZero():
		return w.OpensAt
	case w.RemainingMs > 0:
		return w.Heard.Add(time.Duration(w.RemainingMs) * time.Millisecond)
	}
	return time.Time{}
}

// Soonest returns the wait that is due first. Waits of unknown time come last.
func Soonest(all []Wait) (first Wait) {
	for i, w := range all {
		switch due, sooner := w.Due(), first.Due(); {
		case i == 0, sooner.IsZero() && !due.IsZero(), !due.IsZero() && due.Before(sooner):
			first = w
		}
	}
	return first
}

// Waits returns the calls that wait, and then the turns, the oldest of each first.
func (g Gateway) Waits(ctx context.Context) ([]Wait, error) {
	var list struct{ Waits []Wait }
	err := g.ask(ctx, http.MethodGet, "/-/waits", nil, &list)
	now := time.Now()
	for i := range list.Waits {
		list.Waits[i].Heard = now
	}
	return list.Waits, err
}

// Upstream is an upstream, with the fields of /-/upstreams that the commands use.
type Upstream struct {
	Name    string `json:"name"`
	Base    string `json:"base"`
	State   string `json:"state"`
	Reason  string `json:"reason"`
	UntilMs int64  `json:"untilMs"`
	Waiting int    `json:"waiting"`
	Turns   int    `json:"turns"` // of these, turns of conversations
}

// Upstreams returns the upstreams.
func (g Gateway) Upstreams(ctx context.Context) ([]Upstream, error) {
	var list struct{ Upstreams []Upstream }
	err := g.ask(ctx, http.MethodGet, "/-/upstreams", nil, &list)
	return list.Upstreams, err
}

// Bounds returns the longest that a call may wait in all, by upstream. It leaves out an upstream where no time bounds
// every call.
func (g Gateway) Bounds(ctx context.Context) (map[string]time.Duration, error) {
	var list struct {
		Policies []struct {
			UsedBy                []string
			MaxWaitMs, DeadlineMs int64
		}
	}
	err := g.ask(ctx, http.MethodGet, "/-/policies", nil, &list)
	const endless = time.Duration(math.MaxInt64)
	bound := func(ms int64) time.Duration { return cmp.Or(time.Duration(ms)*time.Millisecond, endless) }
	all := map[string]time.Duration{}
	for _, p := range list.Policies {
		for _, user := range p.UsedBy {
			upstream, _, _ := strings.Cut(user, ", route ")
			all[upstream] = max(all[upstream], min(bound(p.MaxWaitMs), bound(p.DeadlineMs)))
		}
	}
	maps.DeleteFunc(all, func(_ string, longest time.Duration) bool { return longest == endless })
	return all, err
}

// Act carries out an action on the waits of a name, such as "now" or "give-up".
func (g Gateway) Act(ctx context.Context, name, do string) error {
	return g.ask(ctx, http.MethodPost, "/-/waits/"+url.PathEscape(name), map[string]string{"do": do}, &struct{}{})
}

// Move has the turn of a conversation, which waits, ask another model.
func (g Gateway) Move(ctx context.Context, conversation, model string) error {
	return g.ask(ctx, http.MethodPost, "/-/conversations/"+url.PathEscape(conversation)+"/move", map[string]string{"model": model}, &struct{}{})
}
