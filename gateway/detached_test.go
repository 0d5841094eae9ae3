package gateway_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/policy"
)

// slowly is a provider that answers each request with parts, a second apart. It ends with the request's context.
type slowly struct {
	kind  string
	parts []string
	first time.Duration // before the head of the answer

	mu    sync.Mutex
	asked int
	ended []error // how each answer has ended for the provider; nil: it was read whole
}

// end notes how an answer has ended.
func (p *slowly) end(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = append(p.ended, err)
}

func (p *slowly) RoundTrip(req *http.Request) (*http.Response, error) {
	p.mu.Lock()
	p.asked++
	p.mu.Unlock()
	_, _ = io.Copy(io.Discard, req.Body)
	_ = req.Body.Close()
	select {
	case <-time.After(p.first):
	case <-req.Context().Done():
		p.end(context.Cause(req.Context()))
		return nil, context.Cause(req.Context())
	}
	out, in := io.Pipe()
	go func() {
		for _, part := range p.parts {
			if _, err := io.WriteString(in, part); err != nil {
				return
			}
			select {
			case <-time.After(time.Second):
			case <-req.Context().Done():
				p.end(context.Cause(req.Context()))
				_ = in.CloseWithError(context.Cause(req.Context()))
				return
			}
		}
		p.end(nil)
		_ = in.Close()
	}()
	return &http.Response{StatusCode: 200, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{"Content-Type": {p.kind}, "Request-Id": {"r1"}}, Body: out}, nil
}

// aMessage is a provider's stream of 10 s.
func aMessage() *slowly {
	return &slowly{kind: "text/event-stream", parts: append(append([]string{messageStart}, strings.SplitAfter(strings.Repeat(messageHi+"|", 8), "|")[:8]...), messageStop)}
}

// said is what the client is sent of it.
func (p *slowly) said() string { return strings.Join(p.parts, "") }

// newDetached returns a harness that keeps answers.
func newDetached(t *testing.T, p http.RoundTripper, d gateway.Detached, spool gateway.Spool) *harness {
	return newHarnessWith(t, gateway.Config{
		Upstreams: everything(address("provider.test")), Policy: policy.Patient(), Base: p, Detached: d, Spool: spool,
	})
}

var everyAgent = gateway.Detached{Agents: []string{gateway.AllAgents}}

func TestDetached_AnswerIsThereForTheNextRequest(t *testing.T) {
	tests := []struct {
		name                 string
		leaves, again, takes time.Duration
	}{
		{"it is finished", 3500 * time.Millisecond, 20 * time.Second, 0},
		{"it goes on", 3500 * time.Millisecond, 5500 * time.Millisecond, 4500 * time.Millisecond},
		{"before the gateway has noticed", 3500 * time.Millisecond, 3500 * time.Millisecond, 6500 * time.Millisecond},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			p := aMessage()
			p.parts = strings.SplitAfter(strings.ReplaceAll(p.said(), "|", ""), "\n\n")[:10]
			w := newDetached(t, p, everyAgent, gateway.Spool{})
			w.leaveAfter(tt.leaves, "/v1/messages", claude)
			time.Sleep(tt.again - tt.leaves)
			begun := time.Now()
			resp, text, err := w.get("/v1/messages", claude)
			if err != nil || text != p.said() || resp.Header.Get("X-Ridethrough-Replayed") != "true" || resp.Header.Get("Request-Id") != "r1" || resp.Header.Get("X-Ridethrough-Upstream") != "anthropic" {
				t.Errorf("%s: %v %q, %v; want the whole answer, marked", tt.name, resp.Header, text, err)
			}
			if took := time.Since(begun); p.asked != 1 || took != tt.takes {
				t.Errorf("%s: answered after %v by %d requests, want %v and one", tt.name, took, p.asked, tt.takes)
			}
			if resp, _, _ := w.get("/v1/messages", claude); p.asked != 2 || resp.Header.Get("X-Ridethrough-Replayed") != "" {
				t.Errorf("%s: once delivered, %d requests, %v; want a second one and no mark", tt.name, p.asked, resp.Header)
			}
			w.kept(0)
		})
	}
}

func TestDetached_ClientsThatStayHaveAnswersOfTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := aMessage()
		w := newDetached(t, p, everyAgent, gateway.Spool{})
		var all sync.WaitGroup
		for i := range 3 {
			time.Sleep(time.Duration(i) * time.Second)
			all.Go(func() {
				if resp, text, err := w.get("/v1/messages", claude); err != nil || text != p.said() || resp.Header.Get("X-Ridethrough-Replayed") != "" {
					t.Errorf("client %d: %v %q, %v; want an answer of its own", i, resp.Header, text, err)
				}
			})
		}
		all.Wait()
		if p.asked != 3 {
			t.Errorf("the provider was asked %d times, want 3", p.asked)
		}
		w.kept(0)
	})
}

// Of several clients that come back at once each has a whole answer, be it the kept one or its own.
func TestDetached_SeveralRequestsForOneAnswer(t *testing.T) {
	for _, again := range []time.Duration{4 * time.Second, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			p := aMessage()
			w := newDetached(t, p, everyAgent, gateway.Spool{})
			w.leaveAfter(3500*time.Millisecond, "/v1/messages", claude)
			time.Sleep(again - 3500*time.Millisecond)
			var all sync.WaitGroup
			for i := range 20 {
				all.Go(func() {
					if _, text, err := w.get("/v1/messages", claude); err != nil || text != p.said() {
						t.Errorf("client %d, after %v: %q, %v; want the whole answer", i, again, text, err)
					}
				})
			}
			all.Wait()
			synctest.Wait()
			detached := 0
			for _, e := range w.all {
				if e.Detached {
					detached++
				}
			}
			if detached != 1 {
				t.Errorf("%d requests were read on without a client, want 1", detached)
			}
			w.kept(0)
		})
	}
}

// kept checks what is left in the gateway.
func (w *harness) kept(want int64) {
	w.t.Helper()
	synctest.Wait()
	if shared, waits, memory, disk := w.gateway.Left(); shared+waits != 0 || (memory+disk > 0) != (want > 0) {
		w.t.Errorf("left: %d shared requests, %d waits, %d and %d bytes", shared, waits, memory, disk)
	}
}

func TestDetached_OnlyForTheSameRequestOfChosenAgents(t *testing.T) {
	codex := gateway.Detached{Agents: []string{"Codex", "claude-cli"}}
	tests := []struct {
		name    string
		d       gateway.Detached
		body    string
		headers []string
		asked   int
	}{
		{"a chosen agent", codex, claude, []string{"User-Agent", "claude-cli/2.1.197 (external)"}, 1},
		{"its originator", codex, claude, []string{"User-Agent", "node", "Originator", "codex_cli_rs"}, 1},
		{"in another order", everyAgent, "{ " + strings.Replace(claude, "{", "", 1), nil, 1},
		{"off by default", gateway.Detached{}, claude, nil, 2},
		{"another agent", codex, claude, []string{"User-Agent", "curl/8"}, 2},
		{"another key", everyAgent, claude, []string{"X-Api-Key", "other"}, 2},
		{"another session", everyAgent, claude, []string{"X-Claude-Code-Session-Id", "other"}, 2},
		{"not streamed", everyAgent, whole(claude), nil, 2},
		{"another question", everyAgent, strings.Replace(claude, "Hi", "Ho", 1), nil, 2},
		{"other betas", everyAgent, claude, []string{"Anthropic-Beta", "context-1m"}, 2},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			p := aMessage()
			w := newDetached(t, p, tt.d, gateway.Spool{})
			agent := tt.headers
			if len(agent) > 0 && agent[0] != "User-Agent" {
				agent = nil
			}
			w.leaveAfter(3500*time.Millisecond, "/v1/messages", claude, agent...)
			time.Sleep(time.Minute)
			_, _, _ = w.get("/v1/messages", tt.body, tt.headers...)
			if p.asked != tt.asked {
				t.Errorf("%s: the provider was asked %d times, want %d", tt.name, p.asked, tt.asked)
			}
		})
	}
}

func TestDetached_BrokenAnswerIsNotReplayed(t *testing.T) {
	cut := aMessage()
	cut.parts = cut.parts[:5]
	failed := aMessage()
	failed.parts = append(failed.parts[:5:5], "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"full\"}}\n\n")
	tests := []struct {
		name string
		p    *slowly
		d    gateway.Detached
		full bool // the spool
	}{
		{"cut by the provider", cut, everyAgent, false},
		{"with an error of the provider", failed, everyAgent, false},
		{"beyond the bytes", aMessage(), gateway.Detached{Agents: everyAgent.Agents, Bytes: 500}, false},
		{"beyond the time", aMessage(), gateway.Detached{Agents: everyAgent.Agents, Time: 2 * time.Second}, false},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			w := newDetached(t, tt.p, tt.d, gateway.Spool{})
			w.leaveAfter(3500*time.Millisecond, "/v1/messages", claude)
			time.Sleep(20 * time.Second)
			w.kept(0)
			if resp, _, _ := w.get("/v1/messages", claude); tt.p.asked != 2 || resp.Header.Get("X-Ridethrough-Replayed") != "" {
				t.Errorf("%s: the provider was asked %d times, %v; want twice and no mark", tt.name, tt.p.asked, resp.Header)
			}
		})
	}
}

// A client that joins an answer that breaks off, or grows too large, never takes it for a whole one.
func TestDetached_JoinedAnswerThatBreaksOffEndsInAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := aMessage()
		p.parts = p.parts[:7]
		w := newDetached(t, p, everyAgent, gateway.Spool{})
		w.leaveAfter(3500*time.Millisecond, "/v1/messages", claude)
		resp, text, err := w.get("/v1/messages", claude)
		if err != nil || resp.Header.Get("X-Ridethrough-Replayed") != "true" || !strings.HasPrefix(text, messageStart) || !strings.Contains(text, "event: error") {
			t.Errorf("%q, %v; want the beginning and an error event", text, err)
		}
		w.kept(0)
	})
}

func TestDetached_ClientMayLeaveAtAnyMoment(t *testing.T) {
	step := 457 * time.Millisecond
	if testing.Short() {
		step *= 5
	}
	for _, spool := range []gateway.Spool{{}, {Memory: 1}} {
		for leaves := 100 * time.Millisecond; leaves < 11*time.Second; leaves += step {
			synctest.Test(t, func(t *testing.T) {
				p := aMessage()
				for i := 1; i < len(p.parts)-1; i++ {
					p.parts[i] = strings.Replace(messageHi, "Hi", prose(40 << 10)[100:40<<10-100], 1)
				}
				w := newDetached(t, p, gateway.Detached{Agents: everyAgent.Agents, Tries: true}, spool)
				w.leaveAfter(leaves, "/v1/messages", claude)
				time.Sleep(10 * time.Millisecond)                          // the gateway notices that
				w.leaveAfter(300*time.Millisecond, "/v1/messages", claude) // the replay too
				time.Sleep(10 * time.Millisecond)
				resp, text, err := w.get("/v1/messages", claude)
				if err != nil || text != p.said() || leaves < 9*time.Second && p.asked != 1 || (leaves > time.Second && p.asked == 1) != (resp.Header.Get("X-Ridethrough-Replayed") == "true") {
					t.Errorf("left after %v: %d bytes of %d, %v, %d requests", leaves, len(text), len(p.said()), err, p.asked)
				}
				time.Sleep(10 * time.Minute)
				w.kept(0)
			})
		}
	}
}

func TestDetached_IsKeptForItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := aMessage()
		w := newDetached(t, p, everyAgent, gateway.Spool{})
		w.leaveAfter(3500*time.Millisecond, "/v1/messages", claude)
		time.Sleep(5 * time.Minute)
		w.kept(1)
		time.Sleep(time.Minute)
		w.kept(0)
		if _, _, _ = w.get("/v1/messages", claude); p.asked != 2 {
			t.Errorf("asked %d times, want again after 5 min", p.asked)
		}
	})
}

// An answer that is not streamed comes whole, so that its client leaves before there is any of it.
func TestDetached_TryWithoutContentGoesOn(t *testing.T) {
	for _, tries := range []bool{false, true} {
		for _, again := range []time.Duration{20 * time.Second, time.Minute} {
			synctest.Test(t, func(t *testing.T) {
				p := &slowly{kind: "application/json", first: 30 * time.Second, parts: []string{`{"type":"message","content":[{"type":"text","text":"Hi"}],`, `"stop_reason":"end_turn","usage":{"output_tokens":1}}`}}
				w := newDetached(t, p, gateway.Detached{Agents: everyAgent.Agents, Tries: tries}, gateway.Spool{})
				w.leaveAfter(10*time.Second, "/v1/messages", whole(claude))
				time.Sleep(again - 10*time.Second)
				_, text, err := w.get("/v1/messages", whole(claude))
				if err != nil || text != p.said() || (p.asked == 1) != tries {
					t.Errorf("tries %v, again after %v: %q, %v by %d requests", tries, again, text, err, p.asked)
				}
				time.Sleep(10 * time.Minute)
				w.kept(0)
			})
		}
	}
}

// A try that fails while its client is away is not repeated. A client that returns resumes the wait that follows.
func TestDetached_TryThatFailsIsFollowedByItsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []time.Duration
		begun := time.Now()
		p := roundTrip(func(req *http.Request) (*http.Response, error) {
			asked = append(asked, time.Since(begun))
			time.Sleep(20 * time.Second)
			return says(529, `{"type":"error","error":{"type":"overloaded_error","message":"full"}}`)(req)
		})
		w := newDetached(t, p, gateway.Detached{Agents: everyAgent.Agents, Tries: true}, gateway.Spool{})
		w.leaveAfter(10*time.Second, "/v1/messages", claude)
		time.Sleep(13 * time.Second) // the wait of 5 s has begun at 20 s
		w.leaveAfter(4*time.Second, "/v1/messages", claude)
		time.Sleep(time.Minute) // the provider takes its time
		synctest.Wait()
		if len(asked) != 2 || asked[1] != 25*time.Second {
			t.Errorf("asked at %v, want at 0 s and, when the wait is over, at 25 s", asked)
		}
	})
}

func TestDetached_EndsWithDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := aMessage()
		w := newDetached(t, p, everyAgent, gateway.Spool{})
		w.leaveAfter(3500*time.Millisecond, "/v1/messages", claude)
		synctest.Wait()
		w.gateway.Drain()
		synctest.Wait()
		if len(p.ended) != 1 || p.ended[0] == nil || time.Since(w.begun) != 3500*time.Millisecond {
			t.Errorf("the provider's answers ended with %v after %v, want an error at once", p.ended, time.Since(w.begun))
		}
		w.kept(0)
	})
}

// A Codex that loses its socket finds its answer on the next one. One that cancels does not want it.
func TestDetached_LostSocketAndCanceledResponse(t *testing.T) {
	for _, cancels := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			event := func(name, rest string) string {
				return "event: " + name + "\ndata: {\"type\":\"" + name + "\"" + rest + "}\n\n"
			}
			p := &slowly{kind: "text/event-stream", parts: []string{
				event("response.created", `,"response":{"id":"r"}`), event("response.output_text.delta", `,"delta":"Hi"`),
				event("response.output_text.delta", `,"delta":"there"`), event("response.completed", `,"response":{"id":"r","status":"completed"}`),
			}}
			w := newDetached(t, p, gateway.Detached{Agents: []string{"codex"}}, gateway.Spool{})
			ask := func(body string) *websocket.Conn {
				conn, _, err := w.dialCodex("/v1/responses")
				if err != nil {
					t.Fatalf("dial: %v", err)
				}
				_ = conn.Write(t.Context(), websocket.MessageText, []byte(strings.Replace(body, "{", `{"type":"response.create",`, 1)))
				time.Sleep(1500 * time.Millisecond)
				return conn
			}
			conn := ask(codexTurn)
			if cancels {
				_ = conn.Write(t.Context(), websocket.MessageText, []byte(`{"type":"response.cancel"}`))
				time.Sleep(time.Second)
			}
			_ = conn.CloseNow()
			time.Sleep(10 * time.Second)
			_ = ask(codexAgain).CloseNow()
			time.Sleep(time.Minute) // what is read on ends
			synctest.Wait()
			if want := map[bool]int{false: 1, true: 2}[cancels]; p.asked != want || (p.ended[0] == nil) == cancels {
				t.Errorf("canceled %v: asked %d times, want %d; the first answer ended with %v", cancels, p.asked, want, p.ended[0])
			}
		})
	}
}

func TestDetached_IsShownByEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newDetached(t, aMessage(), everyAgent, gateway.Spool{})
		w.leaveAfter(3500*time.Millisecond, "/v1/messages", claude)
		time.Sleep(time.Minute)
		_, _, _ = w.get("/v1/messages", claude)
		var detached, replayed []int64
		for _, e := range w.all {
			if e.Detached {
				detached = append(detached, e.Call.ID)
			}
			if e.Replayed != 0 {
				replayed = append(replayed, e.Call.ID, e.Replayed)
			}
		}
		if len(detached) != 1 || detached[0] != 1 || len(replayed) != 2 || replayed[0] != 2 || replayed[1] != 1 {
			t.Errorf("detached %v, replayed %v; want request 1 detached, and 2 given the answer of 1", detached, replayed)
		}
	})
}
