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
	"github.com/ridethrough/ridethrough/policy"
)

func TestSlowFirstTryKeepsItsStatusForEverybody(t *testing.T) {
	for _, body := range []string{claude, whole(claude)} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorldOf(t, policy.Patient(), roundTrip(func(req *http.Request) (*http.Response, error) {
				time.Sleep(2 * time.Minute)
				return says(400, `{"type":"error","error":{"type":"invalid_request_error","message":"no"}}`)(req)
			}))
			var all sync.WaitGroup
			for _, count := range []string{"0", "1", "2"} {
				all.Go(func() {
					resp, text, err := w.get("/v1/messages", body, "X-Stainless-Retry-Count", count)
					if err != nil || resp.StatusCode != 400 || !strings.Contains(text, "invalid_request_error") {
						t.Errorf("%s: %d %q, %v", count, resp.StatusCode, text, err)
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

func TestOnlyThoseWaitWhoAreThereAndHaveNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		w := newWorldOf(t, policy.Patient(), roundTrip(func(req *http.Request) (*http.Response, error) {
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
			t.Errorf("who has joined: %d in %d tries", status, tries)
		}
	})
}

func TestWhoJoinsAnOpenedAnswerIsKeptAliveAsWell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorldOf(t, policy.Patient(), roundTrip(func(req *http.Request) (*http.Response, error) {
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
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			if _, err := w.ask(ctx, "/v1/messages", claude); err == nil {
				t.Error("it was answered")
			}
		})
		time.Sleep(10 * time.Second)
		resp, err := w.ask(t.Context(), "/v1/messages", claude, "X-Stainless-Retry-Count", "1")
		if err != nil || time.Since(w.begun) != 55*time.Second {
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
