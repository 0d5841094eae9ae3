package gateway_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/policy"
)

// rates are what a provider allows in a minute.
func rates(t *testing.T, s string) []simulator.Rate {
	t.Helper()
	all, err := simulator.ParseRates(s)
	if err != nil {
		t.Fatalf("ParseRates(%s): %v", s, err)
	}
	return all
}

// Three times as many requests as the provider allows are all answered, none is refused, and each session gets its
// share.
func TestAdmission_ThreeTimesTheLimit(t *testing.T) {
	for _, tt := range []struct {
		name, path, body, limits string
	}{
		{"requests of OpenAI", chat, gpt, "requests:300,tokens:10000k"},
		{"tokens of OpenAI", chat, strings.Replace(gpt, `"stream"`, `"max_tokens":980,"stream"`, 1), "requests:10k,tokens:300k"},
		{"requests of Anthropic", messages, claude, "requests:300,input-tokens:1000k,output-tokens:1000k"},
		{"input tokens of Anthropic", messages, strings.Replace(claude, "Hi", strings.Repeat("word ", 1000), 1), "requests:10k,input-tokens:380k,output-tokens:1000k"},
		{"output tokens of Anthropic", messages, claude, "requests:10k,input-tokens:1000k,output-tokens:4200"},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newHarness(t, policy.Patient(), simulator.Script{Rates: rates(t, tt.limits)})
			const sessions, n = 10, 500
			answers := map[string][]time.Duration{}
			var mu sync.Mutex
			var all sync.WaitGroup
			for i := range n {
				session := fmt.Sprint("s", i%sessions)
				all.Go(func() {
					resp, text, err := w.get(tt.path, tt.body, "X-Claude-Code-Session-Id", session)
					if err != nil || resp.StatusCode != 200 || !strings.Contains(text, "say") {
						t.Errorf("%s: request %d: %v, %v", tt.name, i, resp, err)
					}
					mu.Lock()
					defer mu.Unlock()
					answers[session] = append(answers[session], time.Since(w.begun))
				})
				time.Sleep(time.Minute / 900)
			}
			all.Wait()
			took := time.Since(w.begun)
			refused := strings.Count(w.outcomes(), "429")
			if refused != 0 || len(w.provider.Requests()) != n {
				t.Errorf("%s: %d refused, %d requests for %d; want 0 and as many", tt.name, refused, len(w.provider.Requests()), n)
			}
			if took > 55*time.Second {
				t.Errorf("%s: took %v, want about 40 s for what exceeds a minute's limit", tt.name, took)
			}
			var sum, squares float64
			for _, all := range answers {
				k := 0.0
				for _, at := range all {
					if at < took*3/4 {
						k++
					}
				}
				sum, squares = sum+k, squares+k*k
			}
			if j := sum * sum / (squares * sessions); j < 0.95 {
				t.Errorf("%s: Jain's index over the sessions is %.3f, want at least 0.95", tt.name, j)
			}
		})
	}
}

// What waits for room is shown, held, and obeys commands.
func TestAdmission_WaitsAreShownAndObey(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(w *harness)
		sent int // at once
		took time.Duration
		says string
	}{
		{"nothing", func(*harness) {}, 2, 30 * time.Second, "message_stop"},
		{"now", func(w *harness) { w.gateway.Act(3, gateway.RetryNow) }, 3, 30 * time.Second, "message_stop"}, // in vain
		{"now for all", func(w *harness) { w.gateway.ActOn("anthropic", gateway.RetryNow) }, 3, 30 * time.Second, "message_stop"},
		{"give up", func(w *harness) { w.gateway.Act(3, gateway.GiveUp) }, 2, 10 * time.Second, "given up by command before it was sent"},
		{"give all up", func(w *harness) { w.gateway.ActOn("anthropic", gateway.GiveUp) }, 2, 10 * time.Second, "given up by command before it was sent"},
		{"drain", func(w *harness) { w.gateway.Drain() }, 2, 10 * time.Second, "shutting down"},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newHarness(t, policy.Patient(), simulator.Script{Rates: rates(t, "requests:2")})
			for range 2 {
				_, _, _ = w.get(messages, claude)
			}
			var all sync.WaitGroup
			all.Go(func() {
				_, text, _ := w.get(messages, claude)
				if took := time.Since(w.begun); took < tt.took || took > tt.took+15*time.Second || !strings.Contains(text, tt.says) {
					t.Errorf("%s: %q after %v, want %q after %v", tt.name, text[max(0, len(text)-300):], took, tt.says, tt.took)
				}
			})
			time.Sleep(10 * time.Second)
			waits := w.gateway.Waits()
			if len(waits) != 1 || waits[0].State != "queued" || waits[0].Place == nil || !strings.Contains(waits[0].Place.String(), "of 2 requests/min left, about ") {
				t.Errorf("%s: %+v, want one queued request that says why", tt.name, waits)
			}
			tt.do(w)
			synctest.Wait()
			if n := len(w.provider.Requests()); n != tt.sent {
				t.Errorf("%s: %d requests are sent then, want %d", tt.name, n, tt.sent)
			}
			all.Wait()
			if waits := w.gateway.Waits(); len(waits) != 0 {
				t.Errorf("%s: %+v still wait", tt.name, waits)
			}
		})
	}
}

// The client sees in the comments of the stream why it waits, and events say when a wait begins and ends.
func TestAdmission_SaysWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, policy.Patient(), simulator.Script{Rates: rates(t, "requests:1")})
		_, _, _ = w.get(chat, gpt)
		_, text, _ := w.get(chat, gpt)
		if want := ": ridethrough waits: 0 of 1 requests/min left, about "; !strings.Contains(text, want) {
			t.Errorf("got %q, want a comment %q", text, want)
		}
		var queued, admitted int
		for _, e := range w.all {
			if e.Queued != nil {
				queued++
			}
			if e.Admitted > 50*time.Second {
				admitted++
			}
		}
		if queued != 1 || admitted != 1 {
			t.Errorf("%d began to wait and %d were let go after a minute, want 1 and 1", queued, admitted)
		}
	})
}

// An upstream without pacing is asked at once.
func TestAdmission_Off(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		provider := simulator.New(simulator.Script{Rates: rates(t, "requests:2")})
		defer provider.Close()
		w := newHarnessWith(t, gateway.Config{
			Upstreams: []gateway.Upstream{{Name: "a", API: "openai", Base: address("provider.test"), Admission: gateway.AdmissionOff}}, Base: provider.Transport(),
		})
		for i, want := range []int{200, 200, 429} {
			resp, _, err := w.get(chat, gpt)
			if err != nil || resp.StatusCode != want {
				t.Errorf("request %d: %v, %v; want %d", i, resp, err, want)
			}
		}
	})
}

// A route has an admission and a reserve of its own. Both models are of one account, whose limit is stated.
func TestAdmission_OfARoute(t *testing.T) {
	none := 0.0
	for _, tt := range []struct {
		name  string
		route gateway.Route
		want  string // statuses of the requests within a minute, and how many wait
	}{
		{"none of its own", gateway.Route{}, "200, 1 wait"},
		{"off", gateway.Route{Admission: gateway.AdmissionOff}, "200 200, 0 wait"},
		{"nothing reserved", gateway.Route{Reserve: &none}, "200 200, 0 wait"},
	} {
		synctest.Test(t, func(t *testing.T) {
			base := roundTrip(func(req *http.Request) (*http.Response, error) {
				_ = req.Body.Close()
				h := http.Header{
					"Content-Type": {"application/json"}, "X-Ratelimit-Limit-Requests": {"4"},
					"X-Ratelimit-Remaining-Requests": {"2"}, "X-Ratelimit-Reset-Requests": {"15s"},
				}
				return &http.Response{StatusCode: 200, Header: h, Body: io.NopCloser(strings.NewReader(`{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}`))}, nil
			})
			g := newGateway(t, gateway.Config{Policy: policy.Patient(), Base: base, Upstreams: []gateway.Upstream{{
				Name: "a", API: "openai", Base: address("a.test"), Reserve: 0.5, Routes: []gateway.Route{tt.route},
			}}})
			var got []string
			var mu sync.Mutex
			for range 2 {
				go func() {
					defer func() { _ = recover() }() // cut by Close
					req := httptest.NewRequestWithContext(t.Context(), "POST", chat, strings.NewReader(gpt))
					req.Header.Set("X-Claude-Code-Agent-Id", "a")
					w := &recorder{header: http.Header{}}
					g.ServeHTTP(w, req)
					mu.Lock()
					defer mu.Unlock()
					got = append(got, "200")
				}()
				synctest.Wait()
			}
			mu.Lock()
			if got := fmt.Sprintf("%s, %d wait", strings.Join(got, " "), len(g.Waits())); got != tt.want {
				t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
			}
			mu.Unlock()
			g.Close()
		})
	}
}

// A wait whose beginning was reported has its end reported too, even if it lasts only a moment.
func TestAdmission_WaitsThatAreToldEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, policy.Patient(), simulator.Script{Rates: rates(t, "requests:1")})
		_, _, _ = w.get(chat, gpt)
		ctx, leave := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer leave()
		if resp, err := w.ask(ctx, chat, gpt); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		time.Sleep(time.Second)
		synctest.Wait()
		var began, ended int
		for _, e := range w.all {
			if e.Queued != nil {
				began++
			}
			if e.Admitted != 0 {
				ended++
			}
		}
		if began != 1 || ended != 1 {
			t.Errorf("%d waits began and %d ended, want 1 and 1", began, ended)
		}
	})
}

// A request that waits for room goes to its fallback when its patience ends.
func TestAdmission_LeavesForTheFallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		provider := simulator.New(simulator.Script{Rates: rates(t, "requests:1")})
		defer provider.Close()
		other := simulator.New(simulator.Script{Answer: "I am the other one."})
		defer other.Close()
		base := hosts{"a.test": provider.Transport(), "b.test": other.Transport()}
		w := newHarnessWith(t, gateway.Config{Policy: policy.Patient(), Base: base, Upstreams: []gateway.Upstream{
			{Name: "a", API: "openai", Base: address("a.test"), Fallback: []gateway.Fallback{{To: "b", After: 20 * time.Second}}},
			{Name: "b", API: "openai", Base: address("b.test"), NoKey: true},
		}})
		_, _, _ = w.get(chat, gpt)
		_, text, err := w.get(chat, gpt)
		if took := time.Since(w.begun); err != nil || !strings.Contains(text, "other") || took < 20*time.Second || took > 21*time.Second {
			t.Errorf("%q after %v, %v; want the other one's answer after 20 s", text, took, err)
		}
	})
}

// A client that leaves while it waits for room takes no place.
func TestAdmission_ClientsLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, policy.Patient(), simulator.Script{Rates: rates(t, "requests:1")})
		_, _, _ = w.get(chat, gpt)
		for range 5 {
			ctx, leave := context.WithTimeout(t.Context(), time.Second)
			if resp, err := w.ask(ctx, chat, gpt); err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
			leave()
		}
		_, _, _ = w.get(chat, gpt)
		if took := time.Since(w.begun); took > 62*time.Second || strings.Contains(w.outcomes(), "429") {
			t.Errorf("answered after %v, outcomes %s; want a minute and no refusal", took, w.outcomes())
		}
	})
}

func TestAdmission_UnknownNamesAreRefused(t *testing.T) {
	const want = "requests are admitted in no other way than [learned off]"
	for _, u := range []gateway.Upstream{
		{Admission: "sideways"},
		{Routes: []gateway.Route{{Admission: "sideways"}}},
	} {
		u.Name, u.API = "a", "openai"
		if err := (gateway.Config{Upstreams: []gateway.Upstream{u}}).Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Check of %+v: %v, want %q", u, err, want)
		}
	}
}
