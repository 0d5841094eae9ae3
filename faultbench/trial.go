package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// trial is one check of one gateway.
type trial struct {
	*run
	ctx   context.Context
	limit time.Duration // of ctx
	mark  string        // in its requests
}

// answer is what the client got.
type answer struct {
	status int
	header http.Header
	body   []byte
	err    error // with which the body ended; nil: cleanly
}

// describe returns an answer for a message.
func (a answer) describe() string {
	return fmt.Sprintf("HTTP %d %s", a.status, quote(a.body))
}

// newRequest returns a request as Claude Code sends it.
func (t *trial) newRequest(method, path, body string) *http.Request {
	r, err := http.NewRequestWithContext(t.ctx, method, t.base+path, strings.NewReader(body))
	if err != nil {
		panic(err) // the URL has been checked, and the methods are ours
	}
	h := r.Header
	h.Set("User-Agent", "claude-cli/2.1.330 (external, cli)")
	h.Set("X-App", "cli")
	h.Set("Anthropic-Version", "2023-06-01")
	if body != "" {
		h.Set("Content-Type", "application/json")
	}
	h.Set("Accept", "application/json")
	t.authenticate(h)
	for name, values := range t.Header {
		h[http.CanonicalHeaderKey(name)] = values
	}
	return r
}

// authenticate sets the credential: a login's token or a key, or one that only a played provider accepts.
func (t *trial) authenticate(h http.Header) {
	switch {
	case strings.HasPrefix(t.Key, "sk-ant-oat"):
		h.Set("Authorization", "Bearer "+t.Key)
	case t.Key != "":
		h.Set("X-Api-Key", t.Key)
	case t.provider != nil:
		h.Set("X-Api-Key", playedKey)
	}
}

// playedKey is a key for the played provider.
const playedKey = "sk-ant-conform-0123456789"

// send sends a request and reads the whole answer.
func (t *trial) send(r *http.Request) (answer, error) {
	resp, err := t.client.Do(r)
	if err != nil {
		return answer{}, t.noAnswer(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if t.ctx.Err() != nil {
		return answer{}, t.noAnswer(t.ctx.Err())
	}
	return answer{resp.StatusCode, resp.Header, body, err}, nil
}

// noAnswer returns the error of a request without a whole answer.
func (t *trial) noAnswer(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no answer within %v", t.limit)
	}
	return fmt.Errorf("no answer: %w", err)
}

// within bounds the rest of the trial.
func (t *trial) within(limit time.Duration) context.CancelFunc {
	var cancel context.CancelFunc
	t.ctx, cancel = context.WithTimeout(t.ctx, limit)
	t.limit = limit
	return cancel
}

// exchange lets the provider answer a request by a script. It returns what reached the provider and what the
// client got, and an error if it is not the status or broken.
func (t *trial) exchange(play handler, body string, change func(http.Header)) (received, answer, error) {
	s := t.provider.expect(t.mark, play)
	r := t.newRequest(http.MethodPost, messagesPath, body)
	if change != nil {
		change(r.Header)
	}
	a, err := t.send(r)
	if err != nil {
		return received{}, a, err
	}
	got, ok := s.last()
	switch {
	case !ok:
		return got, a, fmt.Errorf("the request did not reach the provider; the client got %s", a.describe())
	case a.status != http.StatusOK:
		return got, a, fmt.Errorf("the provider answered 200, the client got %s", a.describe())
	}
	return got, a, a.err
}

// asked returns the request that reaches the provider for one with a body and headers.
func (t *trial) asked(body string, change func(http.Header)) (received, error) {
	got, _, err := t.exchange(sendWhole, body, change)
	return got, err
}

// sendWhole answers with an answer that is not streamed.
func sendWhole(w http.ResponseWriter, _ received) { send(w, http.StatusOK, wholeBody) }

// streams returns the script that sends a stream.
func streams(all string) handler {
	return func(w http.ResponseWriter, _ received) { stream(w, all) }
}

// read reads from a body until enough reports true of what has come, which it returns, or the body ends.
func read(body io.Reader, enough func([]byte) bool) ([]byte, error) {
	var all bytes.Buffer
	buf := make([]byte, 4<<10)
	for !enough(all.Bytes()) {
		n, err := body.Read(buf)
		all.Write(buf[:n])
		if err != nil {
			return all.Bytes(), err
		}
	}
	return all.Bytes(), nil
}
