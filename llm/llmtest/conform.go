package llmtest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/llm"
)

// Suite describes a provider to the conformance suite.
type Suite struct {
	Model string                // its name for a model that reasons and calls tools
	Open  func(Place) llm.Model // returns the model of a case

	// Own reports whether an error is the client's own for an error response, such as an SDK's or a
	// *provider.ResponseError; nil if there is no body.
	Own func(error) bool

	Sealed     bool // reasoning is never shown, only given to be sent back
	Uncounted  bool // the API does not say how many tokens are reasoning or came from a cache
	Unfiltered bool // the API has no filter that would end an answer
}

// Place is where a model is reached, and with which credentials. The client reaches the provider whatever
// the host is: a provider that is known by its port may use that.
type Place struct {
	Client *http.Client
	Base   string // scheme and host alone
	Model  string
	Key    string
}

// Conform tests a provider's model against everything that [llm.Model] promises. Its server is a provider
// in memory that implements the vendor's API and fails on command. Each case runs in a testing/synctest
// bubble, for a streamed answer and for one in one response.
func Conform(t *testing.T, s Suite) {
	t.Run("answers", s.answers)
	t.Run("calls", s.calls)
	t.Run("conversations", s.conversations)
	t.Run("images", s.images)
	t.Run("faults", s.faults)
	t.Run("leaving", s.leaving)
	t.Run("retries", s.retries)
}

// The place of every case.
const (
	base = "http://provider.test"
	key  = "sk-proj-AbCdEf0123456789abcdefXYZ"
)

// room is one case: a provider in memory, a model that uses it, and the observed responses.
type room struct {
	*testing.T
	suite Suite
	house *simulator.Provider
	wire  *wire
	model llm.Model
	whole bool
}

// each runs a case twice, streamed and whole, each against a provider of its
// own that answers with these replies.
func (s Suite) each(t *testing.T, name, replies string, test func(*room)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Run("streamed", func(t *testing.T) { s.in(t, s.Model, replies, false, test) })
		t.Run("whole", func(t *testing.T) { s.in(t, s.Model, replies, true, test) })
	})
}

// in runs a case in a bubble. When it ends nothing may be left of it.
func (s Suite) in(t *testing.T, model, replies string, whole bool, test func(*room)) {
	script := simulator.Script{Answer: "one two three"}
	var err error
	if script.Replies, err = simulator.Parse(replies); err != nil {
		t.Fatalf("parse replies: %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		house := simulator.New(script)
		defer func() { _ = house.Close() }()
		wire := &wire{base: house.Transport()}
		open := Place{Client: &http.Client{Transport: wire}, Base: base, Model: model, Key: key}
		test(&room{T: t, suite: s, house: house, wire: wire, model: s.Open(open), whole: whole})
		synctest.Wait()
		if n := wire.open(); n > 0 {
			t.Errorf("%d responses are left open", n)
		}
	})
}

// say returns a request of one message.
func say(text string) llm.Request { return llm.Request{Messages: []llm.Message{llm.UserMessage(text)}} }

// heard is the result of a request.
type heard struct {
	llm.Collector
	parts []llm.Part
	err   error
}

// ask sends a request and checks the rules of every answer.
func (r *room) ask(ctx context.Context, q llm.Request) *heard {
	r.Helper()
	q.NoStream = r.whole
	h := new(heard)
	for p, err := range r.model.Stream(ctx, q) {
		switch {
		case h.err != nil:
			r.Errorf("after the error %v: %#v, %v", h.err, p, err)
		case h.End != (llm.End{}):
			r.Errorf("after the end: %#v, %v", p, err)
		case err != nil:
			h.err = err
			if p != nil {
				r.Errorf("beside the error %v: %#v", err, p)
			}
			continue
		}
		r.fits(h, p)
		h.parts = append(h.parts, p)
		h.Add(p)
	}
	if h.err == nil && h.End == (llm.End{}) {
		r.Errorf("an answer without an end: %#v", h.parts)
	}
	if len(h.Content()) > 0 {
		if u, first := h.parts[0].(llm.Usage); first {
			r.Errorf("before any content: %#v", u)
		}
	}
	return h
}

// fits reports a part that must not be in an answer, or not here.
func (r *room) fits(before *heard, p llm.Part) {
	r.Helper()
	switch p := p.(type) {
	case llm.End:
		if p.Reason == "" {
			r.Errorf("an end without a reason: %#v", p)
		}
	case llm.ToolCall:
		var object any
		err := json.Unmarshal(p.Arguments, &object)
		if p.ID == "" || p.Name == "" || err != nil {
			r.Errorf("a call that is none: %#v, %v", p, err)
		}
		for _, other := range before.Content().Calls() {
			if other.ID == p.ID {
				r.Errorf("the id %s twice", p.ID)
			}
		}
	default:
		if !llm.IsContent(p) {
			r.Errorf("a part with nothing in it: %#v", p)
		}
	}
}

// answer sends a request whose answer must be whole.
func (r *room) answer(q llm.Request) *heard {
	r.Helper()
	h := r.ask(r.Context(), q)
	if h.err != nil {
		r.Fatalf("%v: %#v", h.err, h.err)
	}
	if h.End.Model != r.model.Name().Model {
		r.Errorf("the end names the model %q", h.End.Model)
	}
	return h
}

// call returns the first tool call of an answer that must have one.
func (r *room) call(h *heard) llm.ToolCall {
	r.Helper()
	calls := h.Content().Calls()
	if len(calls) == 0 {
		r.Fatalf("the answer calls no tool: %q", h.Content().Text())
	}
	return calls[0]
}

// fault sends a request that must fail.
func (r *room) fault(q llm.Request) (*heard, *fault.Error) {
	r.Helper()
	h := r.ask(r.Context(), q)
	f, ok := errors.AsType[*fault.Error](h.err)
	if !ok {
		r.Fatalf("want a *fault.Error, got %#v after %#v", h.err, h.parts)
	}
	if f.Provider != r.model.Name().Provider {
		r.Errorf("the fault is of the provider %q", f.Provider)
	}
	if h.End != (llm.End{}) {
		r.Errorf("a fault and the end %#v", h.End)
	}
	return h, f
}

// asked counts the requests that the provider has seen.
func (r *room) asked(want int) {
	r.Helper()
	if n := len(r.house.Requests()); n != want {
		r.Errorf("%d requests, want %d", n, want)
	}
}

// body returns the body of the last request.
func (r *room) body() string {
	all := r.house.Requests()
	return string(all[len(all)-1].Body)
}
