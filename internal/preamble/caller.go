package preamble

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/ridethrough/ridethrough/turn"
)

// Caller is the layer that waits for a request, as the gateway on its way is to know it. A gateway that holds the
// request decides alone when to try again; the layer shows the wait and bounds it.
type Caller struct {
	Budget  func() time.Duration    // the longest wait that is left; 0: no limit. nil: no limit
	OnEvent func(turn.Event, *Hold) // called in the goroutine of the request for each event; nil: at the end of the hold

	waited time.Duration // by gateways, since it was taken last
	budget time.Duration // that text is
	text   []string
}

// TakeWaited returns how long gateways have waited since the last call; nil: 0. It is for the goroutine of the requests.
func (c *Caller) TakeWaited() time.Duration {
	if c == nil {
		return 0
	}
	waited := c.waited
	c.waited = 0
	return waited
}

// callerKey is the context key of a Caller.
type callerKey struct{}

// With returns a context for requests of a caller.
func With(ctx context.Context, c *Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// From returns the caller of a context, or nil.
func From(ctx context.Context) *Caller {
	c, _ := ctx.Value(callerKey{}).(*Caller)
	return c
}

// accepted is the value of Accept, and not to be changed.
var accepted = []string{Type}

// Announce sets the headers that tell a gateway of the caller. Send does so with a copy, unless they are set.
func (c *Caller) Announce(h http.Header) {
	h[Accept] = accepted
	if left := c.left(); left != nil {
		h[MaxWait] = left
	} else {
		delete(h, MaxWait)
	}
}

// longest returns the longest wait that is left; 0: there is no limit.
func (c *Caller) longest() time.Duration {
	if c.Budget == nil {
		return 0
	}
	return max(0, c.Budget())
}

// left returns the value of MaxWait, which is not to be changed; nil: there is no limit.
func (c *Caller) left() []string {
	left := c.longest()
	switch {
	case left == 0:
		return nil
	case c.text == nil || left != c.budget:
		c.budget, c.text = left, []string{left.Round(time.Millisecond).String()}
	}
	return c.text
}

// Send sends a request. If the gateway that answers holds it, Send calls OnEvent until the answer comes, and
// returns that. hold is called at the beginning of the preamble and returns what is called at its end.
func (c *Caller) Send(base http.RoundTripper, req *http.Request, hold func() (end func())) (*http.Response, error) {
	req = c.announced(req)
	resp, err := base.RoundTrip(req)
	if err != nil || resp == nil || resp.Header.Get("Content-Type") != Type {
		return resp, err
	}
	return c.follow(base, req, resp, hold)
}

// announced returns the request with the headers of Announce.
func (c *Caller) announced(req *http.Request) *http.Request {
	if slices.Equal(req.Header[Accept], accepted) && slices.Equal(req.Header[MaxWait], c.left()) {
		return req
	}
	out := *req
	out.Header = req.Header.Clone()
	c.Announce(out.Header)
	return &out
}

// follow reads the preamble of a response, and returns the answer after it.
func (c *Caller) follow(base http.RoundTripper, req *http.Request, resp *http.Response, hold func() (end func())) (*http.Response, error) {
	defer hold()()
	h := &Hold{base: base, req: req, call: resp.Header.Get(Call), body: resp.Body}
	defer func() {
		h.endWait(false)
		c.waited += h.Waited
		c.OnEvent(nil, h)
	}()
	return c.await(resp, h)
}

// silence is how long a gateway that holds a request may send nothing: it sends a line every ten seconds.
const silence = time.Minute

// lineBound bounds a line of a preamble.
const lineBound = 1 << 20

// await reads the preamble of a response, and returns the answer after it.
func (c *Caller) await(resp *http.Response, h *Hold) (*http.Response, error) {
	bound := &io.LimitedReader{R: resp.Body}
	lines := bufio.NewReader(bound)
	silent := time.AfterFunc(silence, func() { _ = resp.Body.Close() })
	defer silent.Stop()
	left := c.longest()
	over := time.AfterFunc(h.limit(left), func() { _ = resp.Body.Close() })
	defer over.Stop()
	for {
		bound.N = lineBound
		text, err := lines.ReadBytes('\n')
		if err != nil || !silent.Reset(silence) {
			_ = resp.Body.Close()
			return nil, fmt.Errorf("the gateway that held the request is gone: %w", cause(err))
		}
		if text = bytes.TrimSpace(text); len(text) == 0 {
			continue
		}
		var first head
		if err := json.Unmarshal(text, &first); err != nil {
			_ = resp.Body.Close()
			return nil, fmt.Errorf("read what the gateway tells: %w", err)
		}
		if first.Type == answerType {
			bound.N = math.MaxInt64
			h.endWait(true)
			return answer(resp, first, lines), nil
		}
		if e, err := turn.UnmarshalWait(first.Type, text); e != nil && err == nil {
			e = dated(e)
			h.note(e)
			over.Reset(h.limit(left))
			c.OnEvent(e, h)
		}
	}
}

// cause returns why no other line has come. A clean end is an error too: the answer is missing.
func cause(err error) error {
	if err == nil || err == io.EOF || errors.Is(err, http.ErrBodyReadAfterClose) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// dated returns an event with the times that it does not have in JSON.
func dated(e turn.Event) turn.Event {
	if r, ok := e.(turn.Retry); ok {
		r.Due = time.Now().Add(r.Verdict.Wait)
		return r
	}
	return e
}

// answer returns the response behind a preamble.
func answer(resp *http.Response, first head, rest io.Reader) *http.Response {
	out := *resp
	out.StatusCode, out.Status = first.Status, fmt.Sprint(first.Status, " ", http.StatusText(first.Status))
	if out.Header = first.Header; out.Header == nil {
		out.Header = http.Header{}
	}
	out.Header.Del("Content-Length") // the body is one with the preamble
	out.ContentLength, out.Uncompressed = -1, false
	out.Body = struct {
		io.Reader
		io.Closer
	}{rest, resp.Body}
	return &out
}

// Hold is a request that a gateway holds.
type Hold struct {
	Retries int           // that the gateway has made
	Waited  time.Duration // in the waits that are over

	base       http.RoundTripper
	req        *http.Request
	call       string
	body       io.Closer // of the response
	since, due time.Time // of the wait in progress; zero: there is none
}

// note takes an event into account.
func (h *Hold) note(e turn.Event) {
	if _, ok := e.(turn.Waiting); ok {
		return
	}
	h.endWait(true)
	if r, ok := e.(turn.Retry); ok {
		h.since, h.due = time.Now(), r.Due
	}
}

// endWait counts the wait in progress, and the try that has followed it.
func (h *Hold) endWait(tried bool) {
	if !h.since.IsZero() {
		if tried {
			h.Retries++
		}
		h.Waited += max(0, min(time.Since(h.since), h.due.Sub(h.since)))
	}
	h.since, h.due = time.Time{}, time.Time{}
}

// longestTry is how long a gateway may take without reporting a wait: a try is in progress.
const longestTry = 10 * time.Minute

// limit returns how long the hold may last before the next event, for a caller that waits at most for the longest wait;
// 0: without limit. It bounds an upstream that claims to be a gateway and reports no wait.
func (h *Hold) limit(longest time.Duration) time.Duration {
	if longest == 0 {
		return math.MaxInt64
	}
	left := max(0, longest-h.Waited)
	if !h.since.IsZero() {
		left = min(left, max(0, time.Until(h.due)))
	} else if h.Retries > 0 || h.Waited > 0 {
		left = 0
	}
	return left + longestTry
}

// Leave ends the hold: the gateway's client leaves.
func (h *Hold) Leave() { _ = h.body.Close() }

// commandTime bounds a command to a gateway.
const commandTime = 10 * time.Second

// RetryNow has the gateway try at once.
func (h *Hold) RetryNow(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	out := h.req.WithContext(ctx)
	out.Header = h.req.Header.Clone()
	for _, name := range []string{"Content-Type", "Content-Length", "Content-Encoding", Accept, MaxWait} {
		out.Header.Del(name)
	}
	out.Header[Command], out.Header[Call] = []string{RetryNow}, []string{h.call}
	out.Body, out.GetBody, out.ContentLength = nil, nil, 0
	resp, err := h.base.RoundTrip(out)
	if err != nil {
		return fmt.Errorf("retry now at the gateway: %w", err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("retry now at the gateway: %s", resp.Status)
	}
	return nil
}
