package provider_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/internal/preamble"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
	"github.com/ridethrough/ridethrough/transport"
	"github.com/ridethrough/ridethrough/turn"
)

var name = llm.Name{Provider: "house", Model: "m"}

// say is an ask that yields parts and then has seen the end.
func say(parts ...llm.Part) func(context.Context, *provider.Call) error {
	return func(_ context.Context, c *provider.Call) error {
		for _, p := range parts {
			if !c.Yield(p) {
				return nil
			}
		}
		c.End(llm.Stop, "m-1")
		return nil
	}
}

// all ranges over an answer and returns its parts and its error.
func all(t *testing.T, ctx context.Context, ask func(context.Context, *provider.Call) error) (parts []llm.Part, last error) {
	t.Helper()
	for p, err := range provider.Stream(ctx, name, classify.Classifier{}, ask) {
		if last != nil {
			t.Fatalf("%v, %v after the error", p, err)
		}
		if last = err; err == nil {
			parts = append(parts, p)
		}
	}
	return parts, last
}

func TestStream_YieldsContentUsageAndEnd(t *testing.T) {
	hi, end := llm.Text{Text: "hi"}, llm.End{Reason: llm.Stop, Model: "m-1"}
	few, many := llm.Usage{Input: 7}, llm.Usage{Input: 7, Output: 2}
	call := llm.ToolCall{ID: "1", Name: "look", Arguments: []byte(`{}`)}
	tests := []struct {
		name string
		ask  func(context.Context, *provider.Call) error
		want []llm.Part
	}{
		{"text", say(hi), []llm.Part{hi, end}},
		{"nothing at all", say(), []llm.Part{end}},
		{"empty text", say(llm.Text{}, llm.Reasoning{}, hi), []llm.Part{hi, end}},
		{"a tool call", say(hi, call), []llm.Part{hi, call, llm.End{Reason: llm.Calls, Model: "m-1"}}},
		{"costs before it begins", func(ctx context.Context, c *provider.Call) error {
			c.InitialUsage(few)
			return say(hi, hi)(ctx, c)
		}, []llm.Part{hi, few, hi, end}},
		{"costs of nothing", func(ctx context.Context, c *provider.Call) error {
			c.InitialUsage(few)
			c.Usage(many)
			return say()(ctx, c)
		}, []llm.Part{many, end}},
		{"costs at the end", func(ctx context.Context, c *provider.Call) error {
			c.Usage(few)
			defer c.Usage(many)
			return say(hi)(ctx, c)
		}, []llm.Part{hi, many, end}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := all(t, t.Context(), tt.ask)
			if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
				t.Errorf("error %v; parts (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestStream_CallWithoutIDGetsOne(t *testing.T) {
	parts, err := all(t, t.Context(), say(llm.ToolCall{Name: "a"}, llm.ToolCall{Name: "a"}))
	one, two := parts[0].(llm.ToolCall), parts[1].(llm.ToolCall)
	if err != nil || !provider.IsGeneratedID(one.ID) || one.ID == two.ID || string(one.Arguments) != "{}" {
		t.Errorf("calls %v and %v, error %v; want generated ids", one, two, err)
	}
}

func TestStream_CallerMayLeave(t *testing.T) {
	for range provider.Stream(t.Context(), name, classify.Classifier{}, func(_ context.Context, c *provider.Call) error {
		c.InitialUsage(llm.Usage{Input: 1})
		if c.Yield(llm.Text{Text: "a"}) || c.Yield(llm.Text{Text: "b"}) || c.Yield(llm.Text{}) {
			t.Error("Yield after the caller left: true, want false")
		}
		return errors.New("left")
	}) {
		break
	}
}

func TestStream_CallerLeavesAtTheEnd(t *testing.T) {
	n := 0
	for range provider.Stream(t.Context(), name, classify.Classifier{}, func(ctx context.Context, c *provider.Call) error {
		c.InitialUsage(llm.Usage{Input: 1})
		c.Usage(llm.Usage{Output: 1})
		return say(llm.Text{Text: "a"})(ctx, c)
	}) {
		if n++; n == 3 {
			break
		}
	}
	if n != 3 {
		t.Errorf("%d parts, want 3", n)
	}
}

// peer asks in the manner of a careless SDK: lines are text, [DONE] is the end, an
// error of any kind is an error without words.
func peer(client *http.Client, quiet bool) func(context.Context, *provider.Call) error {
	client = provider.Observe(client)
	return func(ctx context.Context, c *provider.Call) error {
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://house.test/v1/chat/completions", strings.NewReader(`{"model":"m","stream":true}`))
		resp, err := client.Do(req)
		if err != nil {
			return fmt.Errorf("sdk: %w", err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			_, _ = io.ReadAll(resp.Body)
			return errSDK
		}
		lines := bufio.NewScanner(resp.Body)
		for lines.Scan() {
			switch data, _ := strings.CutPrefix(lines.Text(), "data: "); {
			case strings.Contains(data, `"error"`) && strings.HasPrefix(lines.Text(), "data: "):
				return c.ErrorEvent([]byte(data), errSDK)
			case data == "[DONE]":
				c.End(llm.Stop, "")
			case strings.Contains(data, `"content":"`) && !strings.Contains(data, `"content":""`):
				if !c.Yield(llm.Text{Text: "."}) {
					return nil
				}
			}
		}
		if lines.Err() != nil && !quiet {
			return errSDK
		}
		return nil
	}
}

var errSDK = errors.New("something went wrong")

func TestStream_ClassifiesFaultsThatTheSDKHides(t *testing.T) {
	tests := []struct {
		script string
		parts  int
		want   fault.Error
	}{
		{"429;retry-after=7", 0, fault.Error{Kind: fault.RateLimited, Status: 429, Wait: 7 * time.Second}},
		{"503", 0, fault.Error{Kind: fault.Overloaded, Status: 503}},
		{"401", 0, fault.Error{Kind: fault.Auth, Status: 401}},
		{"400", 0, fault.Error{Kind: fault.Invalid, Status: 400}},
		{"refused", 0, fault.Error{Kind: fault.Unavailable}},
		{"reset", 0, fault.Error{Kind: fault.Unavailable}},
		{"empty", 0, fault.Error{Kind: fault.Truncated, Status: 200}},
		{"html", 0, fault.Error{Kind: fault.Unavailable, Status: 200}},
		{"error-first", 0, fault.Error{Kind: fault.Overloaded, Status: 200}},
		{"role-error", 0, fault.Error{Kind: fault.Overloaded, Status: 200}},
		{"error-200", 0, fault.Error{Kind: fault.Overloaded, Status: 200}},
		{"cut:0", 0, fault.Error{Kind: fault.Truncated, Status: 200}},
		{"cut:0:clean", 0, fault.Error{Kind: fault.Truncated, Status: 200}},
		{"cut:2", 2, fault.Error{Kind: fault.Truncated, Status: 200}},
		{"cut:2:clean", 2, fault.Error{Kind: fault.Truncated, Status: 200}},
		{"silence", 0, fault.Error{Kind: fault.Timeout}},
	}
	for _, tt := range tests {
		for _, quiet := range []bool{false, true} { // as Ollama's client is about a connection that breaks
			t.Run(fmt.Sprintf("%s/%t", tt.script, quiet), func(t *testing.T) {
				world(t, tt.script, func(t *testing.T, client *http.Client, p *simulator.Provider) {
					parts, err := all(t, t.Context(), peer(client, quiet))
					f, ok := err.(*fault.Error)
					if !ok {
						t.Fatalf("error %T %v, want a fault", err, err)
					}
					got := fault.Error{Kind: f.Kind, Status: f.Status, Wait: f.Wait}
					if diff := cmp.Diff(tt.want, got); diff != "" || len(parts) != tt.parts || f.Provider != "house" {
						t.Errorf("parts %v, provider %q, fault (-want +got):\n%s", parts, f.Provider, diff)
					}
					if n := len(p.Requests()); n > 1 {
						t.Errorf("%d requests, want at most 1", n)
					}
				})
			})
		}
	}
}

// world returns a test a client as Client makes it, for a provider in memory.
func world(t *testing.T, script string, test func(*testing.T, *http.Client, *simulator.Provider)) {
	t.Helper()
	replies, err := simulator.Parse(script)
	if err != nil {
		t.Fatalf("parse: %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		p := simulator.New(simulator.Script{Replies: replies})
		defer p.Close()
		client := provider.DefaultClient()
		client.Transport.(*transport.Transport).Base = p.Transport()
		test(t, client, p)
	})
}

func TestStream_SDKErrorIsTheCause(t *testing.T) {
	for _, script := range []string{"503", "error-first", "cut:1", "refused"} {
		world(t, script, func(t *testing.T, client *http.Client, _ *simulator.Provider) {
			_, err := all(t, t.Context(), peer(client, false))
			if !errors.Is(err, errSDK) && !strings.HasPrefix(fmt.Sprint(errors.Unwrap(err)), "sdk: ") {
				t.Errorf("script %s: got error %v, want the SDK's", script, errors.Unwrap(err))
			}
		})
	}
}

func TestStream_ReturnsCallersCause(t *testing.T) {
	enough := errors.New("enough")
	for _, script := range []string{"silence", "drip:1m"} {
		world(t, script, func(t *testing.T, client *http.Client, _ *simulator.Provider) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer time.AfterFunc(90*time.Second, func() { cancel(enough) }).Stop()
			if _, err := all(t, ctx, peer(client, false)); err != enough {
				t.Errorf("%s: error %v, want the caller's cause", script, err)
			}
		})
	}
}

func TestStream_KeepsKnownFault(t *testing.T) {
	known := &fault.Error{Kind: fault.Invalid, Message: "no such thing"}
	_, err := all(t, t.Context(), func(context.Context, *provider.Call) error { return fmt.Errorf("sdk: %w", known) })
	want := &fault.Error{Kind: fault.Invalid, Message: "no such thing", Provider: "house"}
	if diff := cmp.Diff(want, err); diff != "" || known.Provider != "" {
		t.Errorf("known fault %v, returned fault (-want +got):\n%s", known, diff)
	}
}

func TestStream_UnsentRequestIsInvalid(t *testing.T) {
	_, err := all(t, t.Context(), func(context.Context, *provider.Call) error { return errors.New("no such parameter") })
	if f, ok := errors.AsType[*fault.Error](err); !ok || f.Kind != fault.Invalid {
		t.Errorf("error %v of unexpected type or kind", err)
	}
}

func TestStream_ErrorWithoutTextIsNamedByStatus(t *testing.T) {
	world(t, `401;body=" "`, func(t *testing.T, client *http.Client, _ *simulator.Provider) {
		if _, err := all(t, t.Context(), peer(client, false)); err.Error() != "HTTP 401: Unauthorized" {
			t.Errorf("stream: %v", err)
		}
	})
}

func TestCheckURL(t *testing.T) {
	for base, good := range map[string]bool{
		"": true, "https://house.test": true, "http://localhost:1/v1": true, "localhost:1": false, "/v1": false, "http://": false, "ws://house.test": false, "http://[": false,
	} {
		if err := provider.CheckURL(base); (err == nil) != good {
			t.Errorf("base URL %q: error %v, want an invalid request", base, err)
		}
	}
}

func TestStream_UsesGivenClassifier(t *testing.T) {
	faults := classify.Classifier{Judges: []classify.Judge{func(classify.Evidence) (classify.Ruling, bool) {
		return classify.Ruling{Kind: fault.Refused, Rule: "mine"}, true
	}}}
	world(t, "503", func(t *testing.T, client *http.Client, _ *simulator.Provider) {
		for _, err := range provider.Stream(t.Context(), name, faults, peer(client, false)) {
			if f, ok := errors.AsType[*fault.Error](err); !ok || f.Kind != fault.Refused {
				t.Errorf("error %v of unexpected type or kind", err)
			}
		}
	})
}

func TestObserve_ErrorBodyIsBounded(t *testing.T) {
	client := provider.Observe(&http.Client{Transport: roundTripper(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 500, Header: http.Header{}, Body: io.NopCloser(endless{})}, nil
	})})
	_, err := all(t, t.Context(), func(ctx context.Context, _ *provider.Call) error {
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://house.test/", nil)
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		body, err := io.ReadAll(resp.Body)
		if len(body) != 64<<10 {
			t.Errorf("body of %d bytes, error %v", len(body), err)
		}
		return resp.Body.Close()
	})
	if f, ok := errors.AsType[*fault.Error](err); !ok || f.Status != 500 {
		t.Errorf("error %v of unexpected type or kind", err)
	}
}

// The key is masked in the wait that a gateway reports ahead of its answer too.
func TestObserve_KeyIsNotInThePreambleOfAGateway(t *testing.T) {
	const key = "plain-word-of-a-team-4711"
	told := `{"type":"provider-retry","attempt":0,"delayMs":1000,"message":"refused: ` + key + `","kind":"overloaded"}` + "\n" +
		`{"type":"answer","status":503,"header":{"X-Debug":["` + key + `"]}}` + "\n" + `{"error":{"message":"refused: ` + key + `"}}`
	client := provider.Observe(&http.Client{Transport: &transport.Transport{Base: roundTripper(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {preamble.Type}}, Body: io.NopCloser(strings.NewReader(told))}, nil
	})}})
	var heard strings.Builder
	caller := &preamble.Caller{OnEvent: func(e turn.Event, _ *preamble.Hold) { fmt.Fprintf(&heard, "%+v\n", e) }}
	req, _ := http.NewRequestWithContext(preamble.With(t.Context(), caller), http.MethodPost, "http://house.test/v1/messages", strings.NewReader("{}"))
	req.Header.Set("Authorization", "Bearer "+key)
	resp, err := client.Do(req)
	if err != nil {
		t.Fatalf("Do: %v", err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	all := fmt.Sprintln(heard.String(), resp.Header, string(body))
	if strings.Contains(all, key) || strings.Count(all, strings.Repeat("*", len(key))) < 3 {
		t.Errorf("the event, header and body have %s, want asterisks in place of the key", all)
	}
}

func TestObserve_RequestsWithoutCall(t *testing.T) {
	world(t, "", func(t *testing.T, client *http.Client, _ *simulator.Provider) {
		resp, err := provider.Observe(client).Get("http://house.test/v1/models")
		if err != nil {
			t.Fatalf("watch: %v", err)
		}
		if body, err := io.ReadAll(resp.Body); err != nil || len(body) == 0 {
			t.Errorf("read all: %v", err)
		}
		_ = resp.Body.Close()
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

type endless struct{}

func (endless) Read(p []byte) (int, error) { return copy(p, "more "), nil }

// BenchmarkStream is what a part costs on its way through, beside its SDK.
func BenchmarkStream(b *testing.B) {
	var part llm.Part = llm.Text{Text: "word "}
	b.ReportAllocs()
	for _, err := range provider.Stream(b.Context(), name, classify.Classifier{}, func(_ context.Context, c *provider.Call) error {
		for b.Loop() {
			c.Yield(part)
		}
		c.End(llm.Stop, "")
		return nil
	}) {
		if err != nil {
			b.Fatal(err)
		}
	}
}

// seenHeaders records whether requests have a header for gateways, and answers as a gateway if call is set.
type seenHeaders struct {
	call string
	told []bool
}

func (s *seenHeaders) RoundTrip(req *http.Request) (*http.Response, error) {
	told := false
	for name := range req.Header {
		told = told || strings.HasPrefix(name, "X-Ridethrough-")
	}
	s.told = append(s.told, told)
	resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("{}")), Request: req}
	if s.call != "" {
		resp.Header.Set(preamble.Call, s.call)
	}
	return resp, nil
}

// The headers for gateways go to an address that is one, or may be: no provider's own, and none that has answered
// without the sign of a gateway.
func TestObserve_TellsProvidersNothingForGateways(t *testing.T) {
	for name, tt := range map[string]struct {
		url, call string
		want      []bool
	}{
		"a provider's own address": {"https://api.anthropic.com/v1/messages", "", []bool{false, false, false}},
		"another address":          {"http://house.test/v1/messages", "", []bool{true, false, false}},
		"a gateway":                {"http://house.test/v1/messages", "7", []bool{true, true, true}},
		"a gateway in its place":   {"https://api.openai.com/v1/responses", "7", []bool{false, true, true}},
	} {
		server := &seenHeaders{call: tt.call}
		client := provider.Observe(&http.Client{Transport: &transport.Transport{Base: server}})
		if provider.Observe(client) != client {
			t.Error("Observe makes another client of its own, which knows nothing of the address")
		}
		for range tt.want {
			ctx := preamble.With(t.Context(), &preamble.Caller{Budget: func() time.Duration { return time.Hour }})
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, tt.url, strings.NewReader("{}"))
			if err != nil {
				t.Fatalf("NewRequest: %v", err)
			}
			resp, err := client.Do(req)
			if err != nil {
				t.Fatalf("%s: Do: %v", name, err)
			}
			_ = resp.Body.Close()
		}
		if !slices.Equal(server.told, tt.want) {
			t.Errorf("%s: requests with headers for gateways: %v, want %v", name, server.told, tt.want)
		}
	}
}
