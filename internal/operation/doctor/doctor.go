// Package doctor checks what the program depends on: the clock, and the providers' addresses. Package storecheck
// checks the store of conversations. It changes nothing and describes its findings in sentences. The command chooses
// what to check.
package doctor

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/fault"
)

// State is the severity of a finding.
type State string

const (
	OK      State = "ok"      // nothing to do
	Warning State = "warning" // works, but needs attention
	Problem State = "problem" // does not work
)

// Finding is the result of one check.
type Finding struct {
	Check string `json:"check"` // what was checked
	State State  `json:"state"`
	Text  string `json:"text"`
}

// Well reports whether no finding is a problem.
func Well(all []Finding) bool {
	return !slices.ContainsFunc(all, func(f Finding) bool { return f.State == Problem })
}

// Find formats a finding.
func Find(check string, state State, format string, args ...any) Finding {
	return Finding{check, state, fmt.Sprintf(format, args...)}
}

const (
	MaxSkew = time.Minute     // between two clocks
	maxJump = 2 * time.Second // of the clock during a check
)

// Clock checks the wall clock: its year, its jump during the checks, and its
// difference from the clocks of servers.
func Clock(now time.Time, jump time.Duration, skews []Skew) Finding {
	if jump.Abs() > maxJump {
		return Find("clock", Warning, "the clock jumped by %v during the checks: waits that ended meanwhile retry at once", jump.Round(time.Second))
	}
	if y := now.Year(); y < 2025 || y > 2100 {
		return Find("clock", Problem, "the clock is wrong: %s; waits and certificates depend on it", now.Format(time.RFC3339))
	}
	for _, s := range skews {
		if d := s.Ahead.Abs().Round(time.Second); d > MaxSkew {
			return Find("clock", Warning, "the clock differs by %v from that of %s", d, s.Server)
		}
	}
	if len(skews) == 0 {
		return Find("clock", OK, "%s; not compared, because no server answered", now.Format(time.RFC3339))
	}
	return Find("clock", OK, "%s, in agreement with the servers that answered", now.Format(time.RFC3339))
}

// Jump returns how far the wall clock has moved ahead of the monotonic clock. Both arguments must come from
// time.Now.
func Jump(began, now time.Time) time.Duration {
	return now.Round(0).Sub(began.Round(0)) - now.Sub(began)
}

// Skew is the difference of a server's clock from ours.
type Skew struct {
	Server string
	Ahead  time.Duration
}

// Address is the address of an upstream.
type Address struct {
	Name     string
	Variable string // of the environment, which has it; "": none
	URL      *url.URL
	Default  bool // the built-in address, not configured
	HasKey   bool // an API key is set

	Transport *http.Transport // has the upstream's proxy and authorities; nil: the system's
}

// Timeout bounds the time of an answer.
const Timeout = 5 * time.Second

// Reach sends a request without credentials. Any HTTP answer below 500, such as
// 401, means that the upstream is reachable.
func Reach(ctx context.Context, a Address) (Finding, []Skew) {
	check, where := "upstream "+a.Name, a.URL.Redacted()
	if a.Variable != "" {
		check += " (" + a.Variable + ")"
	}
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	began := time.Now()
	answer, err := get(ctx, a.URL.JoinPath("/").String(), a.Transport)
	switch {
	case err != nil:
		return Find(check, Problem, "%s cannot be reached: %s", where, reason(ctx, err)), nil
	case answer.StatusCode >= 500:
		return Find(check, Warning, "%s answers with HTTP %d", where, answer.StatusCode), nil
	}
	now := time.Now()
	var skews []Skew
	if date, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
		skews = append(skews, Skew{a.URL.Hostname(), date.Sub(now)})
	}
	return Find(check, OK, "%s answers after %v", where, now.Sub(began).Round(time.Millisecond)), skews
}

// Usual says which of the usual providers have answered, where none is configured or has a key.
func Usual(answered []string) Finding {
	if len(answered) == 0 {
		return Find("upstreams", Warning, "no provider of the defaults answers: is this machine offline, or behind a proxy?")
	}
	return Find("upstreams", OK, "%s answer; none is configured or has a key here, so clients bring their own", strings.Join(answered, ", "))
}

func withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, Timeout, errors.New("no answer within "+Timeout.String()))
}

// get sends one request on a new connection of a transport; nil: the default. It follows no redirects. The body is
// cut at 4 KiB.
func get(ctx context.Context, url string, via *http.Transport) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	once := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true}
	if via != nil {
		once = via.Clone()
	}
	once.DisableKeepAlives = true
	client := &http.Client{
		Transport:     once,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	answer, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	body, _ := io.ReadAll(io.LimitReader(answer.Body, 4<<10)) // what the status says does not depend on it
	err = answer.Body.Close()
	answer.Body = io.NopCloser(bytes.NewReader(body))
	return answer, err
}

func reason(ctx context.Context, err error) string {
	if cause := context.Cause(ctx); cause != nil {
		return cause.Error()
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // without the URL
	}
	return fault.Scrub(err.Error())
}

func storeOf(answer *http.Response) string {
	var ready struct {
		Store string `json:"store"`
	}
	_ = json.NewDecoder(answer.Body).Decode(&ready) // an older server says nothing
	return ready.Store
}

// Ready checks whether a ridethrough server accepts requests.
func Ready(ctx context.Context, base string) Finding {
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	// The address is this machine's and the certificate is for another name. Nothing secret is sent.
	switch answer, err := get(ctx, base+"/-/readyz", &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}); {
	case err != nil:
		return Find("server", Warning, "no server answers at %s: %s", base, reason(ctx, err))
	case answer.StatusCode != http.StatusOK:
		return Find("server", Warning, "the server at %s accepts no requests now (HTTP %d)", base, answer.StatusCode)
	case storeOf(answer) == "unavailable":
		return Find("server", Problem, "the server at %s accepts requests, but its store of conversations is not open; its log and its page say why", base)
	}
	return Find("server", OK, "the server at %s accepts requests", base)
}
