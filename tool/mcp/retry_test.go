package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/tool"
	"github.com/ridethrough/ridethrough/tool/mcp"
	"github.com/ridethrough/ridethrough/turn"
)

// waits records what tools wait for.
type waits struct {
	mu  sync.Mutex
	all []string
}

func (w *waits) in(ctx context.Context) context.Context {
	return tool.WithWatch(ctx, func(e turn.Event) {
		w.mu.Lock()
		defer w.mu.Unlock()
		switch e := e.(type) {
		case turn.MCPRetry:
			w.all = append(w.all, fmt.Sprintf("%s: retry %d in %v", e.Server, e.Retry(), e.Verdict.Wait))
		case turn.MCPRecovered:
			w.all = append(w.all, fmt.Sprintf("%s: recovered after %d", e.Server, e.Retries))
		}
	})
}

// said returns what was recorded.
func (w *waits) said() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.all, ", ")
}

// flaky is an HTTP handler that fails as often as the test says.
type flaky struct {
	http.Handler
	mu    sync.Mutex
	fails int
	how   func(w http.ResponseWriter)
	posts int // calls that came through to the tools, or were failed
}

func (f *flaky) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	failed := f.fails > 0 && r.Method == http.MethodPost
	if failed {
		f.fails--
	}
	if r.Method == http.MethodPost {
		f.posts++
	}
	f.mu.Unlock()
	if failed {
		f.how(w)
		return
	}
	f.Handler.ServeHTTP(w, r)
}

func (f *flaky) fail(n int, how func(http.ResponseWriter)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fails, f.how, f.posts = n, how, 0
}

func TestClient_RetriesRepeatableCallsThroughFaultsOfTheServer(t *testing.T) {
	status := func(code int) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { w.WriteHeader(code) }
	}
	for name, how := range map[string]func(http.ResponseWriter){
		"500": status(500), "503": status(503), "429": status(429), "no answer": func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &flaky{Handler: handler(offer(), stateless)}
				s := web(t, f)
				s.Retry = policy.Policy{Backoff: policy.Backoff{Steps: []time.Duration{time.Second, 2 * time.Second}}, Retries: 3}
				tools, m := connected(t, s)
				f.fail(2, how)
				var w waits
				if got := run(w.in(t.Context()), tools["echo"], `{"a":1}`); got != `{"a":1}` {
					t.Errorf("a tool that reads: got %q, want its output", got)
				}
				if got, want := w.said(), "test: retry 1 in 1s, test: retry 2 in 2s, test: recovered after 2"; got != want {
					t.Errorf("events: got %q, want %q", got, want)
				}
				f.fail(1, how)
				got := run(t.Context(), tools["several"], "{}")
				switch name {
				case "429": // was not carried out
					if got != "one\ntwo" {
						t.Errorf("a tool that writes, refused: got %q, want its output", got)
					}
				default:
					if !strings.HasSuffix(got, "whether the call has taken effect is not known, so look before you try again") || f.posts != 1 {
						t.Errorf("a tool that writes: got %q after %d requests, want 1 and the warning", got, f.posts)
					}
				}
				f.fail(100, how)
				if got := run(t.Context(), tools["echo"], "{}"); !strings.HasPrefix(got, "!the MCP server did not answer in 4 tries: ") {
					t.Errorf("a server that stays down: got %q, want the end of the policy", got)
				}
				f.fail(0, nil)
				m.Close()
			})
		})
	}
}

func TestClient_SessionThatTheServerForgotIsMadeAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &flaky{Handler: handler(offer(), sessions)}
		s := web(t, f)
		s.Retry = policy.Simple()
		tools, m := connected(t, s)
		f.fail(1, func(w http.ResponseWriter) { w.WriteHeader(404) })
		if got := run(t.Context(), tools["several"], "{}"); got != "one\ntwo" {
			t.Errorf("a call of a lost session, which was not carried out: got %q, want its output", got)
		}
		m.Close()
	})
}

func TestClient_AnswerThatBreaksOffIsAFaultOfTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &flaky{Handler: handler(offer(), stateless)}
		s := web(t, f)
		s.Retry = policy.Simple()
		tools, m := connected(t, s)
		cut := func(w http.ResponseWriter) { stream(w, "data: {\"jsonrpc\"") }
		f.fail(1, cut)
		if got := run(t.Context(), tools["echo"], "{}"); got != "{}" {
			t.Errorf("a tool that reads: got %q, want its output", got)
		}
		f.fail(1, cut)
		if got := run(t.Context(), tools["several"], "{}"); !strings.Contains(got, "whether the call has taken effect is not known") || f.posts != 1 {
			t.Errorf("a tool that writes: got %q after %d requests, want 1 and the warning", got, f.posts)
		}
		m.Close()
	})
}

// A server that refuses connections has not carried anything out.
func TestClient_RefusedConnectionIsRetriedForAnyTool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := web(t, handler(offer(), stateless))
		s.Retry = policy.Simple()
		refuses, transport := 0, s.Client.Transport
		s.Client.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
			if refuses > 0 {
				refuses--
				return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
			}
			return transport.RoundTrip(r)
		})
		tools, m := connected(t, s)
		refuses = 2
		if got := run(t.Context(), tools["several"], "{}"); got != "one\ntwo" {
			t.Errorf("a tool that writes: got %q, want its output", got)
		}
		m.Close()
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestClient_WaitsStayWithinTheTimeoutOfACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &flaky{Handler: handler(offer(), stateless)}
		s := web(t, f)
		s.Retry, s.Timeout = policy.Patient(), 20*time.Second
		tools, m := connected(t, s)
		f.fail(1000, func(w http.ResponseWriter) { w.WriteHeader(503) })
		began := time.Now()
		got := run(t.Context(), tools["echo"], "{}")
		if took := time.Since(began); took > 15*time.Second || !strings.Contains(got, "HTTP 503") {
			t.Errorf("a server that stays down: got %q after %v, want its status within 15 s", got, took)
		}
		f.fail(0, nil)
		m.Close()
	})
}

func TestList_WaitsForAServerThatStarts(t *testing.T) {
	server := child("late")
	server.Env = append(server.Env, "RIDETHROUGH_TEST_MARK="+filepath.Join(t.TempDir(), "mark"))
	server.Retry = policy.Policy{Backoff: policy.Backoff{Steps: []time.Duration{time.Millisecond}}, Retries: 3}
	m := mcp.Open(server)
	t.Cleanup(func() { m.Close() })
	var w waits
	if tools, err := m.List(w.in(t.Context())); err != nil || len(tools) == 0 {
		t.Errorf("List: got %d tools, %v, want some", len(tools), err)
	}
	if got, want := w.said(), "test: retry 1 in 1ms, test: recovered after 1"; got != want {
		t.Errorf("events: got %q, want %q", got, want)
	}
}
