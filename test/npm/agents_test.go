package npm_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
)

// scene is a provider, the gateway in front of it as a process of its own, and a tap in front of that.
type scene struct {
	t        *testing.T
	provider *simulator.Provider
	tries    atomic.Int64  // requests for answers that reached the provider
	begin    sync.Once     // with the first of these
	first    chan struct{} // closed then
	answer   string        // that the agent has to print
	upstream string        // the provider's address
	args     []string      // of the gateway
	gateway  process
	tap      *tap
}

// newScene starts all three. policy is in the form of a configuration.
func newScene(t *testing.T, script simulator.Script, policy string) *scene {
	t.Helper()
	s := &scene{t: t, answer: answer, first: make(chan struct{}), provider: simulator.New(script)}
	s.start("policy: own\npolicies: {own: "+policy+"}\n", func(w http.ResponseWriter, r *http.Request) {
		if asks(r.URL.Path) {
			s.try(w, r)
			return
		}
		s.provider.ServeHTTP(w, r)
	})
	return s
}

// try has the provider answer a request for an answer. The first one starts its clock.
func (s *scene) try(w http.ResponseWriter, r *http.Request) {
	s.tries.Add(1)
	s.begin.Do(func() {
		s.provider.Start()
		close(s.first)
	})
	s.provider.ServeHTTP(w, r)
}

// questions has requests with tools answered by ask, and those without, for a title or a warm-up, by another provider.
func questions(t *testing.T, ask func(w http.ResponseWriter, r *http.Request, body []byte)) http.HandlerFunc {
	others := simulator.New(simulator.Script{})
	t.Cleanup(func() { _ = others.Close() })
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if asks(r.URL.Path) && offersTools(body) {
			ask(w, r, body)
			return
		}
		others.ServeHTTP(w, r)
	}
}

// offersTools reports whether a request offers the model tools.
func offersTools(body []byte) bool {
	var request struct{ Tools []json.RawMessage }
	return json.Unmarshal(body, &request) == nil && len(request.Tools) > 0
}

// start starts the upstream, with a handler, and what stands in front of it. It returns the upstream's URL.
func (s *scene) start(settings string, answer http.HandlerFunc) string {
	t := s.t
	t.Helper()
	upstream := httptest.NewServer(answer)
	s.upstream = upstream.Listener.Addr().String()
	t.Cleanup(func() {
		_ = s.provider.Close()
		upstream.Close()
	})
	config := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(config, []byte(settings), 0o600); err != nil {
		t.Fatalf("write file: %v", err)
	}
	s.args = []string{"--config", config, "--data", "none"}
	for _, name := range []string{"anthropic", "openai", "gemini"} {
		s.args = append(s.args, "--upstream", name+"="+upstream.URL)
	}
	s.tap = newTap(t, s.serve("127.0.0.1:0"))
	return upstream.URL
}

// serve starts the gateway, and returns its address.
func (s *scene) serve(address string) string {
	s.t.Helper()
	s.gateway = run(s.t, program(s.t), append([]string{"serve", "--listen", address}, s.args...)...)
	return strings.TrimPrefix(s.gateway.wait(s.t, "listening")["url"], "http://")
}

// outcome is what became of a question.
type outcome struct {
	said
	answered bool
}

// ask asks an agent a question, and logs a row of the table: the agent's requests and those at the provider.
func (s *scene) ask(a agent, limit time.Duration) <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		began := time.Now()
		got := outcome{said: a.ask(s.t, "http://"+s.tap.address, limit)}
		got.answered = got.err == nil && strings.Contains(got.out, s.answer)
		s.t.Logf("| %s | answered: %v | after %v | requests: %d of the agent, %d at the provider | %s |", a.name, got.answered,
			time.Since(began).Round(time.Second), s.tap.since(began), s.tries.Load(), got.words())
		done <- got
	}()
	return done
}

// outage is a provider that does the same for a time.
func outage(d time.Duration, reply simulator.Reply) simulator.Script {
	return simulator.Script{Outages: []simulator.Outage{{To: d, Reply: reply}}}
}

// needsRealTime skips a test that takes many minutes.
func needsRealTime(t *testing.T) {
	if !*realTime {
		t.Skip("takes many minutes: -args -agents agents -real-time")
	}
}

// answeredAfter is the test of an outage that an agent has to survive.
func answeredAfter(t *testing.T, d time.Duration, reply simulator.Reply) {
	forAgents(t, func(t *testing.T, a agent) {
		s := newScene(t, outage(d, reply), "{preset: patient}")
		if got := <-s.ask(a, d+15*time.Minute); !got.answered {
			t.Errorf("%v: %s, want the answer", got.err, got.words())
		}
	})
}

func TestAgents_AnsweredAfterTwentyMinutesWithoutAHead(t *testing.T) {
	needsRealTime(t)
	answeredAfter(t, 20*time.Minute, simulator.Silence{})
}

func TestAgents_AnsweredAfterTwentyMinutesWithAHeadOnly(t *testing.T) {
	needsRealTime(t)
	answeredAfter(t, 20*time.Minute, simulator.Stall{})
}

// An agent that sends its request again, as Qwen Code does every 15 minutes, continues in the same wait.
func TestAgents_AnsweredAfterFortyMinutesOfOverload(t *testing.T) {
	needsRealTime(t)
	forAgents(t, func(t *testing.T, a agent) {
		s := newScene(t, outage(40*time.Minute, nil), "{preset: patient}")
		asking := s.ask(a, 80*time.Minute) // the next try after half an hour's wait is due after 61 min 45 s
		var began time.Duration            // of the wait, on the clock of the gateway's account
		for started, every := time.Now(), time.NewTicker(time.Second); ; {
			select {
			case got := <-asking:
				if !got.answered {
					t.Errorf("%v: %s, want the answer", got.err, got.words())
				}
				return
			case <-every.C:
			}
			waited, waits := s.waited()
			switch at := time.Since(started) - waited; {
			case !waits:
			case began == 0:
				began = at
			case (at - began).Abs() > time.Second:
				t.Errorf("after %v the request has waited %v, which began %v earlier or later than before", time.Since(started), waited, at-began)
				began = at
			}
		}
	})
}

// waited returns the longest time that a request has waited, on the gateway's account; false: none waits.
func (s *scene) waited() (longest time.Duration, waits bool) {
	resp, err := http.Get("http://" + s.tap.gateway + "/-/waits")
	if err != nil {
		s.t.Errorf("waits: %v", err)
		return 0, false
	}
	defer resp.Body.Close()
	var list struct{ Waits []struct{ WaitedMs int64 } }
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil {
		s.t.Errorf("waits: %v", err)
	}
	for _, w := range list.Waits {
		longest = max(longest, time.Duration(w.WaitedMs)*time.Millisecond)
	}
	return longest, len(list.Waits) > 0
}

// further is how many requests an agent may send after the gateway has given up.
const further = 3

func TestAgents_StopAfterAGiveUp(t *testing.T) {
	forAgents(t, func(t *testing.T, a agent) {
		s := newScene(t, simulator.Script{Then: simulator.Status{Code: 503}}, "{preset: simple}")
		got := <-s.ask(a, 5*time.Minute)
		ended := s.gateway.at(t, "gave up")
		again, tries := s.tap.since(ended), s.tries.Load()
		t.Logf("| %s | %d further requests | %d tries |", a.name, again, tries)
		if got.answered || again > further {
			t.Errorf("answered: %v, %d requests after the give-up, want at most %d: %s", got.answered, again, further, got.words())
		}
		// simple has three retries. While two calls wait, the circuit probes for both once, beside their tries.
		const each = 4
		if most := int64(each*(1+a.beside) + a.beside); tries > most {
			t.Errorf("%d requests reached the provider, want at most %d: it was held a second time", tries, most)
		}
	})
}

func TestAgents_StopAtAnEmptyAccount(t *testing.T) {
	forAgents(t, func(t *testing.T, a agent) {
		s := newScene(t, simulator.Script{Then: simulator.Spent}, "{preset: patient}")
		got := <-s.ask(a, 5*time.Minute)
		if n := int64(1 + a.beside); got.answered || s.tries.Load() > n || s.tap.since(time.Time{}) > int(n)+further {
			t.Errorf("answered: %v, %d requests, %d at the provider, want %d there: %s", got.answered,
				s.tap.since(time.Time{}), s.tries.Load(), n, got.words())
		}
	})
}

func TestAgents_AnsweredAfterAnOrderlyRestart(t *testing.T) { answeredAfterRestart(t, syscall.SIGTERM) }

func TestAgents_AnsweredAfterTheGatewayIsKilled(t *testing.T) {
	answeredAfterRestart(t, syscall.SIGKILL)
}

// answeredAfterRestart ends the gateway while it holds a request, and starts it again.
func answeredAfterRestart(t *testing.T, signal os.Signal) {
	forAgents(t, func(t *testing.T, a agent) {
		s := newScene(t, outage(10*time.Second, nil), "{preset: patient, backoff: [1s]}")
		asking := s.ask(a, 5*time.Minute)
		s.awaitFirst(asking)
		for range 4 { // then the headers are out
			s.gateway.wait(t, "provider retry")
		}
		s.restart(signal)
		if got := <-asking; !got.answered {
			t.Errorf("%v: %s, want the answer", got.err, got.words())
		}
	})
}

// awaitFirst waits for the first request at the provider.
func (s *scene) awaitFirst(asking <-chan outcome) {
	s.t.Helper()
	select {
	case <-s.first:
	case got := <-asking:
		s.t.Fatalf("the agent has asked for nothing: %v: %s", got.err, got.words())
	}
}

// restart ends the gateway and starts it again.
func (s *scene) restart(signal os.Signal) {
	s.t.Helper()
	s.tap.close()
	if err := s.gateway.end(signal); err != nil && signal != syscall.SIGKILL {
		s.t.Errorf("the gateway ended with %v", err)
	}
	<-time.After(time.Second) // as long as a restart takes
	s.serve(s.tap.gateway)
	s.tap.listen()
}

// window is the length of the usage window that the agents wait for.
const window = 90 * time.Second

// spent is a provider whose usage window is spent.
var spent = simulator.Script{Replies: []simulator.Reply{simulator.SpentWindow{For: window}}}

// A policy with few retries waits for a window as well.
func TestAgents_AnsweredAfterAUsageWindow(t *testing.T) {
	forAgents(t, func(t *testing.T, a agent) {
		s := newScene(t, spent, "{preset: simple}")
		got := <-s.ask(a, window+2*time.Minute)
		if n := int64(1 + a.beside); !got.answered || s.tap.since(time.Time{}) > int(n) || s.tries.Load() > 2*n {
			t.Errorf("answered: %v, %d requests of the agent and %d at the provider, want %d and at most %d: %v, %s", got.answered,
				s.tap.since(time.Time{}), s.tries.Load(), n, 2*n, got.err, got.words())
		}
	})
}

func TestAgents_AnsweredAfterAUsageWindowInWhichTheGatewayIsKilled(t *testing.T) {
	forAgents(t, func(t *testing.T, a agent) {
		s := newScene(t, spent, "{preset: simple}")
		asking := s.ask(a, window+2*time.Minute)
		s.awaitFirst(asking)
		s.gateway.wait(t, "usage window is spent")
		<-time.After(30 * time.Second)
		s.restart(syscall.SIGKILL)
		got := <-asking
		if n := int64(1 + a.beside); !got.answered || s.tries.Load() > 3*n {
			t.Errorf("answered: %v, %d requests at the provider, want at most %d: %v, %s", got.answered, s.tries.Load(), 3*n, got.err, got.words())
		}
	})
}
