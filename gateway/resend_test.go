package gateway_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/ridethrough/ridethrough/policy"
)

// codexTurn is a request of Codex, and codexAgain the same one as it sends it again.
const (
	codexTurn = `{"model":"gpt-5","instructions":"Be brief","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"Hi"}]}],` +
		`"tools":[],"store":false,"stream":true,"client_metadata":{"x-codex-installation-id":"i","x-codex-turn-metadata":"{\"n\":1}"}}`
	codexAgain = `{"model":"gpt-5","instructions":"Be brief","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"Hi"}]}],` +
		`"tools":[],"store":false,"stream":true,"client_metadata":{"x-codex-turn-metadata":"{\"n\":22}","x-codex-installation-id":"i"}}`
)

// leaveAfter posts a body and leaves after some time.
func (w *harness) leaveAfter(d time.Duration, path, body string, headers ...string) {
	ctx, cancel := context.WithTimeout(w.t.Context(), d)
	defer cancel()
	if resp, err := w.ask(ctx, path, body, headers...); err == nil {
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}

func TestResend_IsKnownByItsMeaning(t *testing.T) {
	const path, session = "/v1/responses", "Session-Id"
	tests := []struct {
		name, path, body string
		headers          []string
		same             bool
	}{
		{"the same bytes", path, codexTurn, nil, true},
		{"Codex's re-send", path, codexAgain, nil, true},
		{"without its metadata, in another order", path, `{"stream":true, "store":false, "tools":[ ], "input":[{"content":[{"text":"Hi","type":"input_text"}],"role":"user","type":"message"}], "instructions":"Be brief", "model":"gpt-5"}`, nil, true},
		{"in gzip", path, zipped(codexAgain), []string{"Content-Encoding", "gzip"}, true},
		{"another text", path, strings.Replace(codexTurn, "Hi", "Ho", 1), nil, false},
		{"another model", path, strings.Replace(codexTurn, "gpt-5", "gpt-6", 1), nil, false},
		{"not streamed", path, strings.Replace(codexTurn, `"stream":true`, `"stream":false`, 1), nil, false},
		{"other tools", path, strings.Replace(codexTurn, `"tools":[]`, `"tools":[{}]`, 1), nil, false},
		{"another session", path, codexTurn, []string{session, "s2"}, false},
		{"another key", path, codexTurn, []string{"Authorization", "Bearer 2"}, false},
		{"another query", path + "?beta=true", codexTurn, nil, false},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			w := newHarness(t, policy.Patient(), outage(48*time.Hour))
			w.leaveAfter(20*time.Second, path, codexTurn, session, "s1", "Authorization", "Bearer 1") // tries at 0, 5 and 15 s
			time.Sleep(time.Second)
			w.leaveAfter(time.Second, tt.path, tt.body, append([]string{session, "s1", "Authorization", "Bearer 1"}, tt.headers...)...)
			if n := len(w.provider.Requests()); (n == 3) != tt.same {
				t.Errorf("%s: %d requests, want 3 of one run %v", tt.name, n, tt.same)
			}
		})
	}
}

func TestResend_JoinsByItsMeaning(t *testing.T) {
	for _, headers := range [][]string{{"X-Stainless-Retry-Count", "1"}, {"Session-Id", "s1"}} {
		synctest.Test(t, func(t *testing.T) {
			w := newHarness(t, policy.Patient(), outage(40*time.Second))
			go w.leaveAfter(30*time.Second, "/v1/responses", codexTurn, headers...) // whose connection is not known to be lost
			time.Sleep(20 * time.Second)
			if _, text, err := w.get("/v1/responses", codexAgain, headers...); err != nil || !strings.Contains(text, "response.completed") {
				t.Errorf("%v: %q, %v; want the whole answer", headers, text, err)
			}
			if n := len(w.provider.Requests()); n != 4 || time.Since(w.begun) > time.Minute { // 0, 5, 15 and 45 s
				t.Errorf("%v: %d requests in %v, want 4 of one run", headers, n, time.Since(w.begun))
			}
		})
	}
}

func TestResend_IsRefusedByItsMeaning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, policy.Simple(), outage(48*time.Hour))
		_, _, _ = w.get("/v1/responses", codexTurn)
		before, gaveUp := len(w.provider.Requests()), time.Now()
		resp, text, err := w.get("/v1/responses", codexAgain)
		if err != nil || resp.StatusCode != 529 || resp.Header.Get("X-Should-Retry") != "false" {
			t.Errorf("%d %q, %v; want the refusal with status 529", resp.StatusCode, text, err)
		}
		if n := len(w.provider.Requests()) - before; n != 0 || time.Since(gaveUp) != 0 {
			t.Errorf("%d further requests in %v, want none at once", n, time.Since(gaveUp))
		}
	})
}

// A Codex that loses its socket while it waits resumes the same wait, on another socket or by POST.
func TestResend_OfASocketGoesOnInItsWait(t *testing.T) {
	for _, post := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newHarness(t, policy.Patient(), outage(48*time.Hour))
			send := func(body string, d time.Duration) {
				conn, _, err := w.dialCodex("/v1/responses")
				if err != nil {
					t.Fatalf("dial: %v", err)
				}
				if err := conn.Write(t.Context(), websocket.MessageText, []byte(strings.Replace(body, "{", `{"type":"response.create",`, 1))); err != nil {
					t.Fatalf("write: %v", err)
				}
				time.Sleep(d)
				_ = conn.CloseNow()
			}
			send(codexTurn, 20*time.Second)
			time.Sleep(time.Second)
			if post {
				w.leaveAfter(time.Second, "/v1/responses", codexAgain, "Originator", "codex_cli_rs", "Session-Id", "s1")
			} else {
				send(codexAgain, time.Second)
			}
			if n := len(w.provider.Requests()); n != 3 {
				t.Errorf("by POST %v: %d requests, want 3 of one run", post, n)
			}
		})
	}
}

// A client that leaves in a wait and comes back loses nothing: no try is made early, no step is skipped, and the
// waiting time that it sees is the clock's.
func TestResend_GoesOnInTheSameWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, policy.Patient(), outage(48*time.Hour))
		for range 20 { // 70 s each, in the waits of 1, 5, 10 and 15 min
			ctx, cancel := context.WithTimeout(t.Context(), 70*time.Second)
			if resp, err := w.ask(ctx, "/v1/messages", claude); err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
			cancel()
			time.Sleep(time.Second)
		}
		// 0, 5, 15, 45, 105, 405 and 1005 s after the start; then 23 min 40 s have passed.
		if n := len(w.provider.Requests()); n != 7 {
			t.Errorf("%d requests in %v, want 7 as for a client that stays", n, time.Since(w.begun))
		}
		go w.ask(t.Context(), "/v1/messages", claude)
		synctest.Wait()
		waits := w.gateway.Waits()
		if len(waits) != 1 || waits[0].Due.Sub(w.begun) != 1905*time.Second {
			t.Fatalf("%+v, want one wait until 1905 s after the start", waits)
		}
		if told := waits[0].Waited; (time.Since(w.begun) - told).Abs() > time.Second {
			t.Errorf("told that it has waited %v of %v, want the clock's within 1 s", told, time.Since(w.begun))
		}
	})
}

// The refusal of what was given up lasts no longer than the run was patient: after an outage of seconds the
// provider is asked again seconds later, also if no other client has noticed that it is back.
func TestResend_RefusedNoLongerThanThePatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, policy.Simple(), outage(10*time.Second))
		_, _, _ = w.get("/v1/messages", claude)
		gaveUp := time.Since(w.begun)
		for i := range 10 {
			resp, text, _ := w.get("/v1/messages", claude)
			if resp.StatusCode == 200 {
				if time.Since(w.begun) > 2*gaveUp+time.Second || !strings.Contains(text, "message_stop") {
					t.Errorf("answered after %v, want at most twice the %v of the run", time.Since(w.begun), gaveUp)
				}
				return
			}
			time.Sleep(time.Second)
			if i == 9 {
				t.Errorf("refused for %v, want at most %v", time.Since(w.begun), gaveUp)
			}
		}
	})
}

// A client that stayed would have been woken when the upstream answered another: one that comes back is tried at
// once. If that fails, the rest of its wait is as it was.
func TestResend_IsTriedWhenTheUpstreamHasAnsweredMeanwhile(t *testing.T) {
	for _, recovered := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			asked := 0
			w := newHarnessOf(t, policy.Patient(), roundTrip(func(req *http.Request) (*http.Response, error) {
				body, _ := io.ReadAll(req.Body)
				_ = req.Body.Close()
				if own := strings.Contains(string(body), "true"); own {
					if asked++; asked <= 5 || !recovered {
						return says(529, "")(req)
					}
				}
				return says(200, messageStart+messageHi+messageStop)(req)
			}))
			begun := time.Now()
			w.leaveAfter(115*time.Second, "/v1/messages", claude) // in the wait from 105 to 405 s
			time.Sleep(25 * time.Second)
			_, _, _ = w.get("/v1/messages", whole(claude)) // another one, at 140 s
			came := time.Now()
			w.leaveAfter(5*time.Second, "/v1/messages", claude)
			took := time.Since(came)
			synctest.Wait()
			if asked != 6 || (took == 0) != recovered {
				t.Errorf("back at 140 s: %d tries, the answer %v after %v; want a sixth try, and the answer at once %v", asked, recovered, took, recovered)
			}
			if recovered {
				return
			}
			go w.leaveAfter(time.Second, "/v1/messages", claude)
			synctest.Wait()
			waits := w.gateway.Waits()
			if len(waits) != 1 || waits[0].Due.Sub(begun) != 405*time.Second || waits[0].Run.Tries != 5 {
				t.Errorf("then %+v, want one wait until 405 s after five tries", waits)
			}
			time.Sleep(2 * time.Second)
		})
	}
}

// The budget is the clock's before and after, and the next try is when it would have been.
func TestResend_BudgetIsTheClocks(t *testing.T) {
	const s = time.Second
	tests := []struct {
		name         string
		silent       int // the number of the first try that gets no answer; 0: none
		other        time.Duration
		leaves, back time.Duration
		waited, due  time.Duration
		tries        int
	}{
		{"left in the first wait", 0, 0, 3 * s, 4 * s, 4 * s, 5 * s, 1},
		{"left in a longer wait", 0, 0, 200 * s, 201 * s, 201 * s, 405 * s, 5},
		{"left in a wait, while another's probe is out", 6, 110 * s, 200 * s, 201 * s, 201 * s, 405 * s, 5},
		{"the wait ended meanwhile", 0, 0, 60 * s, 130 * s, 105 * s, 430 * s, 5},
		{"left in a silent try", 3, 0, 40 * s, 42 * s, 15 * s, 72 * s, 3},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			asked, begun := 0, time.Now()
			w := newHarnessOf(t, policy.Patient(), roundTrip(func(req *http.Request) (*http.Response, error) {
				if asked++; asked == tt.silent {
					<-req.Context().Done()
					return nil, context.Cause(req.Context())
				}
				return says(529, "")(req)
			}))
			if tt.other > 0 {
				go func() {
					time.Sleep(tt.other)
					w.leaveAfter(tt.back+s, "/v1/messages", strings.Replace(claude, "Hi", "Ho", 1))
				}()
			}
			w.leaveAfter(tt.leaves, "/v1/messages", claude)
			time.Sleep(tt.back - tt.leaves)
			go w.leaveAfter(2*s, "/v1/messages", claude)
			synctest.Wait()
			for _, wait := range w.gateway.Waits() {
				if wait.ID == 1 || tt.other > 0 && wait.Began.Sub(begun) == tt.other {
					continue
				}
				if (wait.Waited-tt.waited).Abs() > s || (wait.Due.Sub(begun)-tt.due).Abs() > s || wait.Run.Tries != tt.tries {
					t.Errorf("%s: waited %v, until %v, after %d tries; want %v, %v and %d", tt.name, wait.Waited, wait.Due.Sub(begun), wait.Run.Tries, tt.waited, tt.due, tt.tries)
				}
				tt.name = ""
			}
			if tt.name != "" {
				t.Errorf("%s: %+v, want the request among the waits", tt.name, w.gateway.Waits())
			}
			time.Sleep(tt.back + time.Minute)
		})
	}
}

// Where no other client asks, a request that was given up notices itself that the upstream is back.
func TestResend_RefusedRequestIsTriedEveryThirtySeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const held = 27105 * time.Second
		w := newHarness(t, policy.Patient(), outage(held+20*time.Second))
		_, _, _ = w.get("/v1/messages", claude)
		gaveUp, before := time.Now(), len(w.provider.Requests())
		if took := gaveUp.Sub(w.begun); took != held {
			t.Fatalf("gave up after %v, want %v", took, held)
		}
		for {
			resp, text, err := w.get("/v1/messages", claude)
			if resp.StatusCode == 200 {
				if took := time.Since(gaveUp); err != nil || took > 35*time.Second || !strings.Contains(text, "message_stop") {
					t.Errorf("%q, %v after %v; want the answer within 35 s", text, err, took)
				}
				break
			}
			if time.Since(gaveUp) > time.Hour {
				t.Fatal("refused for an hour")
			}
			time.Sleep(5 * time.Second)
		}
		if n := len(w.provider.Requests()) - before; n != 1 {
			t.Errorf("%d further requests, want 1", n)
		}
	})
}
