// Package remote has conversations on a server: it is the client of what
// package server offers at /-/conversations. What is said there goes on there,
// whatever becomes of us; whoever loses the connection attaches again and
// misses nothing that is kept.
package remote

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/wire"
)

// Client speaks to one server. It may be used by many goroutines.
type Client struct {
	Base  string       // such as http://127.0.0.1:8484
	Token string       // that the server wants; "": none
	HTTP  *http.Client // nil: http.DefaultClient
}

// Settings are what a conversation is made with, as the server takes them.
type Settings struct {
	Model    string   `json:"model"`
	Fallback []string `json:"fallback,omitzero"`
	Patience int64    `json:"patienceMs,omitzero"`
	System   string   `json:"system,omitzero"`
	Policy   string   `json:"policy,omitzero"`
}

// Problem is a server's refusal.
type Problem struct {
	Status int    `json:"status"`
	Code   string `json:"code"` // stable, such as "not-found"
	Detail string `json:"detail"`
}

// Error gives the server's words.
func (p *Problem) Error() string {
	if p.Detail == "" {
		return fmt.Sprintf("the server answers %d", p.Status)
	}
	return p.Detail
}

// bounds of what is read, in bytes.
const (
	answerBound = 1 << 20
	lineBound   = 64 << 20
)

// Create makes a conversation and gives its id.
func (c Client) Create(ctx context.Context, s Settings) (string, error) {
	var made struct{ ID string }
	err := c.post(ctx, "", s, &made)
	return made.ID, err
}

// Say says something in a conversation and gives the turn's id. When it
// returns, the server will see to it.
func (c Client) Say(ctx context.Context, conversation, text string) (string, error) {
	var taken struct{ TurnID string }
	err := c.post(ctx, "/"+url.PathEscape(conversation)+"/turns", struct {
		Text string `json:"text"`
	}{text}, &taken)
	return taken.TurnID, err
}

// UnderWay gives the turn under way; "": none is.
func (c Client) UnderWay(ctx context.Context, conversation string) (string, error) {
	var view struct{ TurnID string }
	resp, err := c.do(ctx, http.MethodGet, "/"+url.PathEscape(conversation), nil)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	err = json.NewDecoder(io.LimitReader(resp.Body, lineBound)).Decode(&view)
	return view.TurnID, err
}

// Stop ends the turn under way.
func (c Client) Stop(ctx context.Context, conversation string) error {
	return c.post(ctx, "/"+url.PathEscape(conversation)+"/stop", struct{}{}, nil)
}

// Events yields what has happened in a conversation, and then what happens,
// until ctx ends. A connection that is lost is made again, as
// policy.Interactive has it; the error is last.
func (c Client) Events(ctx context.Context, conversation string) iter.Seq2[wire.Event, error] {
	return func(yield func(wire.Event, error) bool) {
		seen, left := int64(0), false
		for !left {
			e := retry.Engine{Policy: policy.Interactive()}
			body, err := retry.Do(ctx, e, func(ctx context.Context, _ int) (io.ReadCloser, error) {
				return c.attach(ctx, conversation, seen)
			})
			if err != nil {
				yield(wire.Event{}, err)
				return
			}
			seen, left = pass(body, seen, yield)
			_ = body.Close()
			if ctx.Err() != nil {
				return
			}
		}
	}
}

// pass hands events on until the connection ends, or the reader has left. What
// was seen already is left out.
func pass(body io.Reader, seen int64, yield func(wire.Event, error) bool) (last int64, left bool) {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, lineBound)
	for lines.Scan() {
		var e wire.Event
		if len(bytes.TrimSpace(lines.Bytes())) == 0 || json.Unmarshal(lines.Bytes(), &e) != nil {
			continue // a sign of life
		}
		seen = max(seen, e.Seq)
		if !yield(e, nil) {
			return seen, true
		}
	}
	return seen, false
}

// attach opens the stream of events behind one.
func (c Client) attach(ctx context.Context, conversation string, after int64) (io.ReadCloser, error) {
	path := "/" + url.PathEscape(conversation) + "/events?after=" + strconv.FormatInt(after, 10)
	resp, err := c.do(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// post sends JSON and reads the answer; into nil: it says nothing.
func (c Client) post(ctx context.Context, path string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	resp, err := c.do(ctx, http.MethodPost, path, text)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if into == nil {
		return nil
	}
	return json.NewDecoder(io.LimitReader(resp.Body, answerBound)).Decode(into)
}

// do sends a request below /-/conversations. A refusal is a *Problem.
func (c Client) do(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.Base, "/")+"/-/conversations"+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/x-ndjson")
	if method == http.MethodPost {
		req.Header.Set("Accept", "application/json")
		req.Header.Set("Content-Type", "application/json")
	}
	if c.Token != "" {
		req.Header.Set("X-Ridethrough-Token", c.Token)
	}
	client := c.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("the server at %s cannot be reached: %w", c.Base, reason(err))
	}
	if resp.StatusCode < http.StatusBadRequest {
		return resp, nil
	}
	defer resp.Body.Close()
	p := &Problem{}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, answerBound)) // what came of it says enough
	if json.Unmarshal(text, p) != nil || p.Detail == "" {
		p = &Problem{Detail: strings.TrimSpace(string(text[:min(len(text), 200)]))}
	}
	p.Status = resp.StatusCode
	return nil, p
}

// reason leaves out of an error what the caller knows.
func reason(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}
