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

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/policy"
)

func TestCoalesce_SlowFirstTryKeepsItsStatus(t *testing.T) {
	for body, slow := range map[string]time.Duration{claude: 9 * time.Second, whole(claude): 2 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			w := newHarnessOf(t, policy.Patient(), roundTrip(func(req *http.Request) (*http.Response, error) {
				time.Sleep(slow)
				return says(400, `{"type":"error","error":{"type":"invalid_request_error","message":"no"}}`)(req)
			}))
			var all sync.WaitGroup
			for _, count := range []string{"0", "1", "2"} {
				all.Go(func() {
					resp, text, err := w.get("/v1/messages", body, "X-Stainless-Retry-Count", count)
					if err != nil || resp.StatusCode != 400 || !strings.Contains(text, "invalid_request_error") {
						t.Errorf("%s: %d %q, %v; want no error, status 400, body with \"invalid_request_error\"", count, resp.StatusCode, text, err)
					}
				})
				time.Sleep(time.Second)
			}
			if waits := w.gateway.Waits(); len(waits) != 0 {
				t.Errorf("%+v wait for a try that is merely slow", waits)
			}
			all.Wait()
		})
	}
}

func TestWaits_OnlyConnectedCallsWithoutAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		w := newHarnessOf(t, policy.Patient(), roundTrip(func(req *http.Request) (*http.Response, error) {
			if tries++; tries < 4 {
				return &http.Response{StatusCode: 529, Body: http.NoBody}, nil
			}
			answer, end := io.Pipe()
			go func() {
				_, _ = io.WriteString(end, messageStart+messageHi)
				time.Sleep(time.Minute)
				_, _ = io.WriteString(end, messageStop)
				_ = end.Close()
			}()
			return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: answer}, nil
		}))
		var all sync.WaitGroup
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			if resp, err := w.ask(ctx, "/v1/messages", claude); err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
		})
		all.Go(func() {
			time.Sleep(10 * time.Second)
			_, _, _ = w.get("/v1/messages", claude, "X-Stainless-Retry-Count", "1")
		})
		for _, tt := range []struct {
			after time.Duration
			waits int
		}{{9 * time.Second, 1}, {19 * time.Second, 2}, {21 * time.Second, 1}, {44 * time.Second, 1}, {46 * time.Second, 0}} {
			time.Sleep(tt.after - time.Since(w.begun))
			if waits := w.gateway.Waits(); len(waits) != tt.waits {
				t.Errorf("after %v %d wait: %+v", tt.after, len(waits), waits)
			}
		}
		all.Wait()
	})
}

func TestGateway_PanicOfTheLeaderLeavesNoCallWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		g := newGateway(t, gateway.Config{
			Policy: policy.Simple(), Upstreams: everything(address("provider.test")),
			Base: roundTrip(func(req *http.Request) (*http.Response, error) {
				if tries++; tries == 1 {
					time.Sleep(time.Minute)
					panic("a transport with a mistake")
				}
				return says(200, messageStart+messageHi+messageStop)(req)
			}),
		})
		ask := func(count string) (status int) {
			defer func() { _ = recover() }()
			req := request(t, 1)
			req.Header.Set("X-Stainless-Retry-Count", count)
			rec := &recorder{header: http.Header{}}
			g.ServeHTTP(rec, req)
			return rec.status
		}
		go ask("0")
		time.Sleep(time.Second)
		if status := ask("1"); status != 200 || tries != 2 {
			t.Errorf("the joined call: %d in %d tries", status, tries)
		}
	})
}

func TestCoalesce_JoinedCallIsKeptAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarnessOf(t, policy.Patient(), roundTrip(func(req *http.Request) (*http.Response, error) {
			answer, end := io.Pipe()
			go func() {
				_, _ = io.WriteString(end, messageStart)
				time.Sleep(5 * time.Minute)
				_, _ = io.WriteString(end, messageHi+messageStop)
				_ = end.Close()
			}()
			return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: answer}, nil
		}))
		var all sync.WaitGroup
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 9*time.Second)
			defer cancel()
			if _, err := w.ask(ctx, "/v1/messages", claude); err == nil {
				t.Error("it was answered")
			}
		})
		time.Sleep(5 * time.Second)
		resp, err := w.ask(t.Context(), "/v1/messages", claude, "X-Stainless-Retry-Count", "1")
		if err != nil || time.Since(w.begun) != 15*time.Second {
			t.Fatalf("%v, %v after %v", resp, err, time.Since(w.begun))
		}
		text, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		all.Wait()
		if err != nil || !strings.HasSuffix(string(text), messageStop) || time.Since(w.begun) != 5*time.Minute {
			t.Errorf("%q, %v after %v", text, err, time.Since(w.begun))
		}
	})
}

func TestResend_AfterExhaustionIsRefusedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, policy.Patient(), outage(48*time.Hour))
		_, _, _ = w.get("/v1/messages", claude)
		before, ended := len(w.provider.Requests()), time.Now()
		time.Sleep(10 * time.Second)
		resp, text, err := w.get("/v1/messages", claude)
		h := resp.Header
		if err != nil || resp.StatusCode != 529 || h.Get("X-Should-Retry") != "false" || h.Get("Retry-After") != "5" || !strings.Contains(text, "overloaded_error") {
			t.Errorf("%d %v %q, %v", resp.StatusCode, h, text, err)
		}
		if time.Since(ended) != 10*time.Second || len(w.provider.Requests()) != before {
			t.Errorf("it took %v and %d requests", time.Since(ended)-10*time.Second, len(w.provider.Requests())-before)
		}
		for range 12 { // an agent that begins with five seconds and has many retries; each is tried once
			time.Sleep(70 * time.Second)
			if resp, _, err := w.get("/v1/messages", claude); err != nil || resp.StatusCode != 529 {
				t.Errorf("after %v: %v, %v; want no error, status 529", time.Since(ended), resp, err)
			}
		}
		if n := len(w.provider.Requests()); n != before+12 {
			t.Errorf("%d requests, want one for each re-send", n-before)
		}
		time.Sleep(2 * time.Minute)
		_, text, err = w.get("/v1/messages", claude)
		if err != nil || !strings.Contains(text, "event: ping") {
			t.Errorf("later: %q, %v; want no error, body with \"event: ping\"", text[:min(len(text), 300)], err)
		}
	})
}

func TestResend_NextRequestOfTheSessionIsRefusedToo(t *testing.T) {
	tests := []struct {
		session, model string
		atOnce         bool
	}{
		{"s-1", "sonnet", true},
		{"s-2", "sonnet", false},
		{"s-1", "haiku", false},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			w := newHarness(t, policy.Simple(), outage(48*time.Hour))
			_, _, _ = w.get("/v1/messages", claude, "X-Claude-Code-Session-Id", "s-1")
			before := time.Now()
			other := strings.Replace(whole(claude), "Hi", "Hi again", 1)
			_, _, _ = w.get("/v1/messages", strings.Replace(other, "sonnet", tt.model, 1), "X-Claude-Code-Session-Id", tt.session)
			if took := time.Since(before); (took == 0) != tt.atOnce {
				t.Errorf("%s, %s: answered after %v", tt.session, tt.model, took)
			}
		})
	}
}

func TestResend_OfAnotherClientIsSeparate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, policy.Simple(), outage(48*time.Hour))
		_, _, _ = w.get("/v1/messages", whole(claude), "X-Api-Key", "one")
		before := time.Now()
		_, _, _ = w.get("/v1/messages", whole(claude), "X-Api-Key", "other")
		if took := time.Since(before); took != 7*time.Second {
			t.Errorf("answered after %v, want 7s", took)
		}
	})
}

func TestResend_IsTriedAfterRecovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, policy.Simple(), outage(7500*time.Millisecond))
		_, _, _ = w.get("/v1/messages", whole(claude))
		time.Sleep(time.Second)
		resp, _, _ := w.get("/v1/messages", strings.Replace(whole(claude), "Hi", "Hello", 1))
		again, text, err := w.get("/v1/messages", whole(claude))
		if err != nil || resp.StatusCode != 200 || again.StatusCode != 200 {
			t.Errorf("%d, then %d %q, %v", resp.StatusCode, again.StatusCode, text, err)
		}
	})
}

func TestResend_JoinsTheWaitingRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, policy.Patient(), outage(40*time.Minute))
		var all sync.WaitGroup
		all.Go(func() { // a client whose patience ends at 600 s
			ctx, cancel := context.WithTimeout(t.Context(), 600*time.Second)
			defer cancel()
			resp, err := w.ask(ctx, "/v1/chat/completions", whole(gpt))
			if err == nil {
				_, err = io.ReadAll(resp.Body)
				resp.Body.Close()
			}
			if err == nil {
				t.Error("it was answered")
			}
		})
		time.Sleep(599 * time.Second)
		_, text, err := w.get("/v1/chat/completions", whole(gpt), "X-Stainless-Retry-Count", "1")
		all.Wait()
		if err != nil || !strings.Contains(text, "The provider is well again") {
			t.Errorf("body %q, error %v; want no error, body with \"The provider is well again\"", text, err)
		}
		if n := len(w.provider.Requests()); n != 9 { // 5 s, 15 s, 45 s, 105 s, 405 s, 1005 s, 1905 s, then it is back
			t.Errorf("%d requests", n)
		}
	})
}

func TestCoalesce_AnswerGoesToAConnectedClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := simulator.Script{Replies: []simulator.Reply{simulator.Silence{For: 15 * time.Minute}}}
		w := newUnlimitedHarness(t, slow)
		var all sync.WaitGroup
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			if _, err := w.ask(ctx, "/v1/messages", whole(claude)); err == nil {
				t.Error("it was answered")
			}
		})
		time.Sleep(599 * time.Second)
		resp, text, err := w.get("/v1/messages", whole(claude), "X-Stainless-Retry-Count", "1")
		all.Wait()
		if err != nil || resp.StatusCode != 200 || time.Since(w.begun) != 15*time.Minute || len(w.provider.Requests()) != 1 {
			t.Errorf("%d %q, %v after %v in %d requests", resp.StatusCode, text, err, time.Since(w.begun), len(w.provider.Requests()))
		}
	})
}

// newUnlimitedHarness is a harness whose tries have no limits.
func newUnlimitedHarness(t *testing.T, script simulator.Script) *harness {
	provider := simulator.New(script)
	all := everything(address("provider.test"))
	for i := range all {
		all[i].Limits = &gateway.Limits{}
	}
	w := newHarnessWith(t, gateway.Config{Upstreams: all, Policy: policy.Patient(), Base: provider.Transport()})
	w.provider = provider
	t.Cleanup(func() { _ = provider.Close() })
	return w
}

func TestCoalesce_EqualRequestsAreSeparateWithoutAResend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, policy.Patient(), simulator.Script{Replies: replies(t, "silence:1m, silence:1m")})
		var all sync.WaitGroup
		for _, count := range []string{"0", "0"} {
			all.Go(func() { _, _, _ = w.get("/v1/messages", claude, "X-Stainless-Retry-Count", count) })
		}
		all.Wait()
		if n := len(w.provider.Requests()); n != 2 {
			t.Errorf("%d requests", n)
		}
	})
}

func TestCoalesce_BothClientsAreAnswered(t *testing.T) {
	for _, body := range []string{claude, whole(claude)} {
		synctest.Test(t, func(t *testing.T) {
			w := newHarness(t, policy.Patient(), outage(3*time.Minute))
			var all sync.WaitGroup
			for i, count := range []string{"0", "1"} {
				time.Sleep(time.Duration(i) * time.Second)
				all.Go(func() {
					_, text, err := w.get("/v1/messages", body, "X-Stainless-Retry-Count", count)
					if err != nil || !strings.Contains(text, "stop") {
						t.Errorf("%s: %q, %v; want no error, body with \"stop\"", count, text, err)
					}
				})
			}
			all.Wait()
			if n := len(w.provider.Requests()); n != 7 { // 0, 5, 15, 45, 105 s fail, then one answer each
				t.Errorf("%d requests: %s", n, w.outcomes())
			}
		})
	}
}

func TestResend_ContinuesTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, policy.Patient(), outage(48*time.Hour))
		for range 60 { // a client that leaves after ten minutes and comes back at once
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			resp, err := w.ask(ctx, "/v1/messages", claude)
			if err == nil {
				_, err = io.ReadAll(resp.Body)
				resp.Body.Close()
			}
			cancel()
			if err == nil {
				break
			}
			time.Sleep(time.Second)
		}
		if took := time.Since(w.begun); took < 2*time.Hour || took > 10*time.Hour {
			t.Errorf("it was held for %v", took)
		}
	})
}

func TestResend_AfterACutIsAnsweredWithAPlainError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, policy.Patient(), outage(48*time.Hour))
		resp, text, err := w.get("/v1/messages", whole(claude))
		if err == nil || resp.StatusCode != 200 || strings.Trim(text, " ") != "" {
			t.Errorf("status %d, body %q, error %v", resp.StatusCode, text, err)
		}
		resp, _, err = w.get("/v1/messages", whole(claude), "X-Stainless-Retry-Count", "1")
		if err != nil || resp.StatusCode != 529 || resp.Header.Get("X-Should-Retry") != "false" {
			t.Errorf("again: %d %v, %v; want no error, status 529, X-Should-Retry \"false\"", resp.StatusCode, resp.Header, err)
		}
	})
}

func TestGateway_ReleasesBodyOfAnsweredRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, policy.Patient(), outage(48*time.Hour))
		for range 3 { // the second and third come while the upstream is out, and are packed
			_, _, _ = w.get("/v1/messages", prose(20<<10))
		}
		synctest.Wait()
		if flights, waits, memory, disk := w.gateway.Left(); flights+waits != 0 || memory+disk != 0 {
			t.Errorf("left: %d flights, %d waits, %d and %d bytes", flights, waits, memory, disk)
		}
	})
}

// The equal requests in progress are a list, from which each may go: what is sent again joins the oldest.
func TestResend_JoinsTheOldestOfEqualRequests(t *testing.T) {
	for leaves, want := range map[int]string{0: "joined 2", 1: "joined 1", 2: "joined 1"} {
		synctest.Test(t, func(t *testing.T) {
			w := newUnlimitedHarness(t, simulator.Script{Replies: replies(t, "silence:1h, silence:1h, silence:1h, silence:1h")})
			var all sync.WaitGroup
			post := func(stays time.Duration, count string) {
				all.Go(func() {
					ctx, leave := context.WithTimeout(t.Context(), stays)
					defer leave()
					if resp, err := w.ask(ctx, "/v1/messages", whole(claude), "X-Stainless-Retry-Count", count); err == nil {
						_ = resp.Body.Close()
					}
				})
				time.Sleep(time.Second)
			}
			for n := range 3 {
				stays := time.Hour
				if n == leaves {
					stays = 10 * time.Second
				}
				post(stays, "0")
			}
			time.Sleep(20 * time.Second)
			post(time.Hour, "1")
			if got := w.story(4); got != "start, "+want {
				t.Errorf("client %d of 3 has left, and one sends the request again: got %q, want start and %q", leaves+1, got, want)
			}
			w.gateway.Close()
			all.Wait()
			_, text, err := w.get("/v1/messages", whole(claude))
			if took := time.Since(w.begun); err != nil || !strings.Contains(text, "shutting down; try again") || took > time.Minute {
				t.Errorf("a request after Close: got %q, %v after %v, want the gateway's error at once", text, err, took)
			}
			synctest.Wait()
			if shared, waits, memory, disk := w.gateway.Left(); shared+waits != 0 || memory+disk != 0 {
				t.Errorf("left: got %d requests, %d waits, %d and %d bytes, want none", shared, waits, memory, disk)
			}
		})
	}
}
