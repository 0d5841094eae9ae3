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
	"github.com/ridethrough/ridethrough/turn"
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

// Say says something in a conversation and yields the events of its turn, whose
// id the caller chooses: to say the same again under the same id changes
// nothing, so a connection that is lost is made again. Once the first event is
// there, the server will see to it. The error is last.
func (c Client) Say(ctx context.Context, conversation, turnID, text string) iter.Seq2[wire.Event, error] {
	body, err := json.Marshal(struct {
		ID   string `json:"id"`
		Text string `json:"text"`
	}{turnID, text})
	say := func(ctx context.Context, _ int64) (io.ReadCloser, error) {
		return c.stream(ctx, http.MethodPost, "/"+url.PathEscape(conversation)+"/turns", body)
	}
	return c.follow(ctx, conversation, turnID, say, err)
}

// Watch yields the events of a turn that is there already.
func (c Client) Watch(ctx context.Context, conversation, turnID string) iter.Seq2[wire.Event, error] {
	return c.follow(ctx, conversation, turnID, c.attach(conversation), nil)
}

// UnderWay gives the turn under way; "": none is.
func (c Client) UnderWay(ctx context.Context, conversation string) (string, error) {
	var view struct{ TurnID string }
	resp, err := c.do(ctx, http.MethodGet, "/"+url.PathEscape(conversation), "application/json", nil)
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

// follow yields the events of a turn until it is sealed, over as many
// connections as it takes, the first of them opened by open.
func (c Client) follow(
	ctx context.Context, conversation, turnID string, open func(context.Context, int64) (io.ReadCloser, error), err error,
) iter.Seq2[wire.Event, error] {
	return func(yield func(wire.Event, error) bool) {
		seen, over := int64(0), false
		hand := func(e wire.Event) bool { // whether there is more to come for the reader
			if wire.TurnOf(e.Body) != turnID {
				return true
			}
			over = !yield(e, nil) || e.Body.Type() == turn.Sealed{}.Type()
			return !over
		}
		for !over && err == nil && ctx.Err() == nil {
			var body io.ReadCloser
			body, err = retry.Do(ctx, retry.Engine{Policy: policy.Interactive()}, func(ctx context.Context, _ int) (io.ReadCloser, error) {
				return open(ctx, seen)
			})
			if err == nil {
				seen = pass(body, seen, hand)
				_ = body.Close()
				open = c.attach(conversation)
			}
		}
		if err != nil && ctx.Err() == nil {
			yield(wire.Event{}, err)
		}
	}
}

// pass hands events on until the connection ends or nobody wants more.
func pass(body io.Reader, seen int64, hand func(wire.Event) bool) (last int64) {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, lineBound)
	for lines.Scan() {
		var e wire.Event
		if len(bytes.TrimSpace(lines.Bytes())) == 0 || json.Unmarshal(lines.Bytes(), &e) != nil {
			continue // a sign of life
		}
		if wire.Kept(e.Body) { // of what passes by the number is that of another event
			seen = max(seen, e.Seq)
		}
		if !hand(e) {
			break
		}
	}
	return seen
}

// attach opens the stream of a conversation's events behind one.
func (c Client) attach(conversation string) func(context.Context, int64) (io.ReadCloser, error) {
	return func(ctx context.Context, after int64) (io.ReadCloser, error) {
		return c.stream(ctx, http.MethodGet, "/"+url.PathEscape(conversation)+"/events?after="+strconv.FormatInt(after, 10), nil)
	}
}

// stream opens a stream of events.
func (c Client) stream(ctx context.Context, method, path string, body []byte) (io.ReadCloser, error) {
	resp, err := c.do(ctx, method, path, "application/x-ndjson", body)
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
	resp, err := c.do(ctx, http.MethodPost, path, "application/json", text)
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
func (c Client) do(ctx context.Context, method, path, accept string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.Base, "/")+"/-/conversations"+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", accept)
	if method == http.MethodPost {
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
