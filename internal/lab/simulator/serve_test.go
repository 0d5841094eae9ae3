package simulator_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
)

// served puts a provider on a real port and gives its address.
func served(t *testing.T, s simulator.Script) (*simulator.Provider, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	p, ended := simulator.New(s), make(chan error)
	go func() { ended <- p.Serve(l) }()
	t.Cleanup(func() {
		if err := errors.Join(p.Close(), <-ended); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return p, "http://" + l.Addr().String()
}

// network returns a client of its own connections.
func network(t *testing.T) *http.Client {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func TestServe_Reset(t *testing.T) {
	p, url := served(t, simulator.Script{Replies: parse(t, "reset, ok, reset")})
	client := network(t)
	for i := range 3 {
		got := post(t.Context(), client, url+messages, plain)
		if reset := errors.Is(got.err, syscall.ECONNRESET); reset != (i != 1) {
			t.Errorf("request %d: %+v", i+1, got)
		}
	}
	if got := outcomes(p); got != "reset ok reset" {
		t.Errorf("record: %s", got)
	}
}

func TestServe_RefusalIsAReset(t *testing.T) {
	p, url := served(t, simulator.Script{Replies: parse(t, "ok, refused*2, ok")})
	client := network(t)
	for i, want := range []int{200, 0, 0, 200} {
		got := post(t.Context(), client, url+messages, plain)
		if got.status != want || (got.err != nil) != (want == 0) {
			t.Errorf("request %d: %+v", i+1, got)
		}
	}
	if got := outcomes(p); got != "ok refused refused ok" {
		t.Errorf("record: %s", got)
	}
}

func TestServe_CutAnswerBreaksOff(t *testing.T) {
	_, url := served(t, simulator.Script{Replies: parse(t, "cut:2*2, cut:2:clean"), Answer: "one two three"})
	client := network(t)
	stream := post(t.Context(), client, url+completions, streamed)
	if !errors.Is(stream.err, io.ErrUnexpectedEOF) || text(t, stream.body) != "one two " {
		t.Errorf("stream: %+v", stream)
	}
	whole := post(t.Context(), client, url+completions, plain)
	if !errors.Is(whole.err, io.ErrUnexpectedEOF) || !strings.HasPrefix(whole.body, `{"id":`) {
		t.Errorf("body: %+v", whole)
	}
	clean := post(t.Context(), client, url+completions, streamed)
	if clean.err != nil || text(t, clean.body) != "one two " {
		t.Errorf("clean: %+v", clean)
	}
}

func TestServe_SilenceEndsWhenTheClientLeaves(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	p, url := served(t, simulator.Script{
		Replies:   parse(t, "silence"),
		OnRequest: func(simulator.Request) { leave() },
	})
	if got := post(ctx, network(t), url+messages, plain); !errors.Is(got.err, context.Canceled) {
		t.Errorf("got %+v", got)
	}
	if got := outcomes(p); got != "silence" {
		t.Errorf("record: %s", got)
	}
}

func TestClose_EndsSilence(t *testing.T) {
	said := make(chan struct{})
	script := simulator.Script{Then: simulator.Silence{}, OnRequest: func(simulator.Request) { close(said) }}
	p, url := served(t, script)
	ended := make(chan answer)
	go func() { ended <- post(context.Background(), network(t), url+messages, streamed) }()
	<-said
	if err := p.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if got := <-ended; got.err == nil {
		t.Errorf("got %+v", got)
	}
}

func TestServe_AfterCloseClosesTheListener(t *testing.T) {
	p := simulator.New(simulator.Script{})
	if err := errors.Join(p.Close(), p.Close()); err != nil {
		t.Errorf("join: %v", err)
	}
	pipe := simulator.NewPipe()
	if err := p.Serve(pipe); err != nil {
		t.Errorf("serve: %v", err)
	}
	if _, err := pipe.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the listener is left open: %v", err)
	}
	if got := ask(t, p, messages, plain); !errors.Is(got.err, syscall.ECONNREFUSED) {
		t.Errorf("got %+v", got)
	}
}

func TestServe_ReturnsListenerErrors(t *testing.T) {
	p := simulator.New(simulator.Script{})
	defer p.Close()
	pipe := simulator.NewPipe()
	_ = pipe.Close()
	if err := p.Serve(pipe); !errors.Is(err, net.ErrClosed) {
		t.Errorf("serve: %v", err)
	}
}

func TestProvider_IsAHandlerForAnyServer(t *testing.T) {
	p := simulator.New(simulator.Script{Replies: parse(t, "refused, reset, cut:1, ok")})
	server := httptest.NewServer(p)
	defer server.Close()
	for i, want := range []bool{false, false, false, true} {
		got := post(t.Context(), server.Client(), server.URL+messages, streamed)
		if (got.err == nil) != want {
			t.Errorf("request %d: %+v", i+1, got)
		}
	}
}

func TestProvider_ResetWithoutHijackerAborts(t *testing.T) {
	p := simulator.New(simulator.Script{Replies: parse(t, "reset")})
	defer func() {
		if got := recover(); got != http.ErrAbortHandler {
			t.Errorf("recovered %v", got)
		}
	}()
	p.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, messages, strings.NewReader(plain)))
}

func FuzzServeHTTP(f *testing.F) {
	f.Add("POST", messages, "2023-06-01", `{"model":"claude","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"Hi"}]}`, "ok")
	f.Add("POST", completions, "", `{"model":"gpt","stream":true,"stream_options":{"include_usage":true},"messages":[]}`, "cut:1:done")
	f.Add("POST", completions, "", `{"model":"\ud800","stream":"yes"}`, "role-error")
	f.Add("GET", "/v1/models", "", "", "204;body=x")
	f.Add("POST", responses, "", streamed, "role-error")
	f.Add("POST", geminiArray, "", `{"contents":[{"parts":[{"text":"Hi"}]}]}`, "429;retry-after=7")
	f.Add("POST", ollamaChat, "", unstreamed, "cut:1:clean")
	f.Add("POST", studio, "", `{"model":"m","input":"Hi","stream":true}`, "error-first")
	f.Add("POST", messages, "", `{"model":"m","stream":true,"thinking":{"type":"adaptive"}}`, everythingSaid+"+mixed")
	f.Add("POST", messages, "", `{"model":"m","messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","input":{}}]}]}`, "ok")
	f.Add("POST", completions, "", `{"model":"m","messages":[{"role":"tool","content":"a","tool_call_id":"b"}]}`, "too-long")
	f.Add("POST", responses, "", `{"model":"no-such","input":[{"type":"function_call","call_id":"a"}]}`, everythingSaid+"+cut:5:error")
	f.Add("POST", "/v1beta/models/gemini-3:generateContent", "", `{"contents":[{"role":"model","parts":[{"functionCall":{"name":"a"}}]}]}`, "blocked")
	f.Add("POST", ollamaChat, "", `{"model":"m","messages":[{"tool_calls":[{"function":{"arguments":{}}}]}]}`, everythingSaid+"+cut:5:done")
	f.Fuzz(func(t *testing.T, method, path, version, body, words string) {
		replies, err := simulator.Parse(words)
		if err != nil || strings.Contains(words, "silence") || strings.Contains(words, "drip") {
			return // the first is no script, the others take their time
		}
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		r.Method, r.URL.Path = method, path
		r.Header.Set("anthropic-version", version)
		defer func() {
			if got := recover(); got != nil && got != http.ErrAbortHandler {
				t.Errorf("%s %s %q: got panic %v, want none but http.ErrAbortHandler", method, path, body, got)
			}
		}()
		simulator.New(simulator.Script{Replies: replies}).ServeHTTP(httptest.NewRecorder(), r)
	})
}
