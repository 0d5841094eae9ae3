package sdk_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	diff "github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
)

// peer is a vendor's SDK beside the model of ours that speaks the same API without it.
type peer struct {
	name  string
	model func(endpoint) llm.Model
	short func(context.Context, endpoint, bool) (outcome, error) // asks brief of the SDK; true: not streamed
	long  func(context.Context, endpoint, bool) (outcome, error) // asks rich of it
	said  func(error) (status int, message string)               // an SDK's own error
	deaf  bool                                                   // the SDK does not read reasoning, which other servers than its vendor's send
}

// outcome is an answer as a client decodes it.
type outcome struct {
	Text, Thought string
	Signatures    []string
	Calls         []llm.ToolCall
	Usage         llm.Usage
	End           llm.End
}

// brief is the least that is asked.
var brief = llm.Request{Messages: []llm.Message{llm.UserMessage("Hi")}}

// rich is a request with all that there is.
func rich(by llm.Name, signature string) llm.Request {
	return llm.Request{
		System: "Be brief.", MaxTokens: 4000, Effort: llm.Low,
		Tools: []llm.Tool{
			{Name: "now", Description: "Says what <time> it is.", Schema: json.RawMessage(`{"type":"object","properties":{}}`)},
			{Name: "read", Description: "Reads a file.", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)},
		},
		Messages: []llm.Message{
			llm.UserMessage("What is in a.txt?"),
			llm.AssistantMessage(
				by, llm.Reasoning{Text: "Let me see.", Signature: signature}, llm.Text{Text: "I look."},
				llm.ToolCall{ID: "call_1", Name: "read", Arguments: json.RawMessage(`{"path":"a.txt"}`), Signature: signature},
				llm.ToolCall{ID: "call_2", Name: "now", Arguments: json.RawMessage(`{}`)},
			),
			llm.ToolMessage(llm.ToolResult{ID: "call_1", Name: "read", Output: "no such file", Failed: true}, llm.ToolResult{ID: "call_2", Name: "now", Output: "noon"}),
		},
	}
}

// decode asks a model and gathers what it answers.
func decode(ctx context.Context, m llm.Model, r llm.Request) (o outcome, err error) {
	for p, err := range m.Stream(ctx, r) {
		if err != nil {
			return o, err
		}
		switch p := p.(type) {
		case llm.Text:
			o.Text += p.Text
		case llm.Reasoning:
			o.Thought += p.Text
			o.sign(p.Signature)
		case llm.ToolCall:
			o.sign(p.Signature)
			p.Signature = ""
			o.Calls = append(o.Calls, p)
		case llm.Usage:
			o.Usage = p
		case llm.End:
			o.End = p
		}
	}
	return o, nil
}

// sign notes what is to be sent back.
func (o *outcome) sign(signature string) {
	if signature != "" {
		o.Signatures = append(o.Signatures, signature)
	}
}

// finish completes what an SDK reads: a model gives a call without arguments an empty object.
func (o outcome) finish() outcome {
	for i := range o.Calls {
		o.Calls[i].Arguments = json.RawMessage(cmp.Or(string(o.Calls[i].Arguments), "{}"))
		o.End.Reason = llm.Calls
	}
	return o
}

var peers = []peer{anthropicPeer, chatPeer, responsesPeer, geminiPeer, ollamaPeer}

// TestClients_AskAndReadAsSDKsDo has both clients ask the same of a simulator each.
func TestClients_AskAndReadAsSDKsDo(t *testing.T) {
	for _, p := range peers {
		for _, reply := range []string{
			`say:"It is noon."`, `think:"Let me see."+say:"I look."+call:read{"path":"b.txt","deep":{"a":[1,2]}}+call:now`,
			`say:"It is"+stop:length`, `think:"hm"+say:"So it <is> ü."`,
		} {
			for _, whole := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/whole=%t", p.name, reply, whole), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { p.compare(t, reply, whole) })
				})
			}
		}
	}
}

// compare compares the requests and the answers.
func (p peer) compare(t *testing.T, reply string, whole bool) {
	var at tape
	theirs := at.record(newFixture(t, script(t, reply+"*2")).direct())
	ours := at.play(theirs)
	m := p.model(ours)
	for _, ask := range []struct {
		request llm.Request
		sdk     func(context.Context, endpoint, bool) (outcome, error)
	}{{brief, p.short}, {rich(m.Name(), "c2lnbmVk"), p.long}} {
		ask.request.NoStream = whole
		want, failed := ask.sdk(t.Context(), theirs, whole)
		got, err := decode(t.Context(), m, ask.request)
		if err != nil || failed != nil {
			t.Fatalf("our error %v, the SDK's %v", err, failed)
		}
		if p.deaf {
			got.Thought, got.Signatures = "", nil
		}
		if d := diff.Diff(want.finish(), got, diff.Transformer("parsed", parsed)); d != "" {
			t.Errorf("answer (-SDK's +ours):\n%s", d)
		}
	}
	if d := diff.Diff(at.recorded, at.played, diff.Transformer("parsed", parsed)); d != "" {
		t.Errorf("requests (-SDK's +ours):\n%s", d)
	}
}

// tape records an SDK's exchanges, and plays the answers to another client, byte for byte.
type tape struct {
	recorded, played []sent
	answers          []http.Response
	bodies           [][]byte
}

// sent is a request.
type sent struct {
	Method, URL, Key string
	Body             json.RawMessage
}

// sentBy returns a request with its body.
func sentBy(req *http.Request) sent {
	body, _ := io.ReadAll(req.Body)
	req.Body = io.NopCloser(bytes.NewReader(body))
	key := cmp.Or(req.Header.Get("X-Goog-Api-Key"), req.Header.Get("X-Api-Key"), req.Header.Get("Authorization"))
	key = strings.TrimPrefix(key, "Bearer ") // Anthropic's API takes a key in either header; its SDK uses this one from version 2 on
	return sent{req.Method, req.URL.String(), key, body}
}

// record returns an endpoint whose exchanges are recorded.
func (a *tape) record(s endpoint) endpoint {
	base := s.client
	s.client = &http.Client{Transport: roundTripper(func(req *http.Request) (*http.Response, error) {
		a.recorded = append(a.recorded, sentBy(req))
		resp, err := base.Transport.RoundTrip(req)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return nil, err
		}
		a.answers, a.bodies = append(a.answers, *resp), append(a.bodies, body)
		played := *resp
		played.Body = io.NopCloser(bytes.NewReader(body))
		return &played, nil
	})}
	return s
}

// play returns an endpoint that answers as the recorded one did.
func (a *tape) play(s endpoint) endpoint {
	s.client = &http.Client{Transport: roundTripper(func(req *http.Request) (*http.Response, error) {
		n := len(a.played)
		a.played = append(a.played, sentBy(req))
		if n >= len(a.answers) {
			return nil, errors.New("one request too many")
		}
		resp := a.answers[n]
		resp.Request, resp.Body = req, io.NopCloser(bytes.NewReader(a.bodies[n]))
		return &resp, nil
	})}
	return s
}

// parsed returns JSON as a value, so that its order does not matter.
func parsed(text json.RawMessage) any {
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return string(text)
	}
	return v
}

// TestClients_FailAsSDKsDo compares errors: their status, the provider's words, and what the SDK has beside.
func TestClients_FailAsSDKsDo(t *testing.T) {
	for _, p := range peers {
		for _, reply := range []string{"400", "401", "403", "404", "413", "429;retry-after=7", "500", "503", "529", "too-long", "quota", "blocked"} {
			for _, whole := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/whole=%t", p.name, reply, whole), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { p.compareErrors(t, reply, whole) })
				})
			}
		}
		t.Run(p.name+"/error-first", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { p.compareErrors(t, "error-first", false) })
		})
	}
}

// compareErrors compares the errors of a request.
func (p peer) compareErrors(t *testing.T, reply string, whole bool) {
	var at tape
	theirs := at.record(newFixture(t, script(t, reply)).direct())
	request := brief
	request.NoStream = whole
	_, want := p.short(t.Context(), theirs, whole)
	_, err := decode(t.Context(), p.model(at.play(theirs)), request)
	f, ok := errors.AsType[*fault.Error](err)
	if want == nil { // it takes a prompt that is blocked for an answer
		if !ok || f.Kind != fault.Refused || reply != "blocked" {
			t.Errorf("our error %#v, the SDK has none", err)
		}
		return
	}
	status, message := p.said(want)
	e, own := errors.AsType[*provider.ResponseError](err)
	if !ok || !own || message == "" {
		t.Fatalf("our error %#v, the SDK's %#v", err, want)
	}
	if f.Message != message || status != 0 && status != f.Status && status != e.StatusCode {
		t.Errorf("HTTP %d, %d: %q\nthe SDK has %d: %q", f.Status, e.StatusCode, f.Message, status, message)
	}
	if !strings.Contains(fmt.Sprint(parsed(e.Body)), message) || e.StatusCode != 200 && len(e.Header) == 0 {
		t.Errorf("the response is not in the error: %d %v %s", e.StatusCode, e.Header, e.Body)
	}
}
