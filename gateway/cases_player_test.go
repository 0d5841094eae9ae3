package gateway_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/retry"
)

// player is the upstream of a play.
type player struct {
	play
	at    caller
	mu    sync.Mutex
	asked int
	turns map[string]int
}

func (u *player) count() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.asked
}

// next returns the answer to a request.
func (u *player) next(req *http.Request) playedAnswer {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.asked++
	key := ""
	for _, a := range u.Upstream {
		if a.If != "" && strings.Contains(req.Header.Get("X-Api-Key")+req.Header.Get("Authorization"), a.If) {
			key = a.If
		}
	}
	mine := slices.DeleteFunc(slices.Clone(u.Upstream), func(a playedAnswer) bool { return a.If != key })
	if u.turns == nil {
		u.turns = map[string]int{}
	}
	n := u.turns[key]
	u.turns[key]++
	switch {
	case n < len(mine):
		return mine[n]
	case u.Again:
		return mine[len(mine)-1]
	}
	return playedAnswer{Good: true}
}

// RoundTrip implements http.RoundTripper.
func (u *player) RoundTrip(req *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, req.Body)
	a := u.next(req)
	if after, err := time.ParseDuration(a.After); err == nil {
		if err := retry.Sleep(req.Context(), after); err != nil {
			return nil, context.Cause(req.Context())
		}
	}
	kind := map[bool]string{true: u.at.form.ContentType(), false: "application/json"}[a.Body == nil]
	h := http.Header{"Content-Type": {kind}}
	for name, value := range a.Header {
		h.Set(name, value)
	}
	text := textOf(a.Body)
	if a.Good {
		text = u.at.good()
	}
	for _, e := range a.Events {
		text += u.at.frame(e)
	}
	body := &playedBody{ctx: req.Context(), text: text, closed: make(chan struct{})}
	if a.Beat != nil {
		body.beat = u.at.frame(a.Beat)
	}
	return &http.Response{StatusCode: max(a.Status, 200), Header: h, Body: body, Request: req}, nil
}

// textOf returns a text that stands as a string, or JSON as it is.
func textOf(raw json.RawMessage) (text string) {
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// playedBody is the body of an answer.
type playedBody struct {
	ctx        context.Context
	text, beat string
	once       sync.Once
	closed     chan struct{}
}

func (b *playedBody) Read(p []byte) (int, error) {
	if b.text == "" && b.beat == "" {
		return 0, io.EOF
	}
	if b.text == "" {
		select {
		case <-time.After(2 * time.Second):
			b.text = b.beat
		case <-b.closed:
			return 0, io.ErrClosedPipe
		case <-b.ctx.Done():
			return 0, context.Cause(b.ctx)
		}
	}
	n := copy(p, b.text)
	b.text = b.text[n:]
	return n, nil
}

func (b *playedBody) Close() error {
	b.once.Do(func() { close(b.closed) })
	return nil
}
