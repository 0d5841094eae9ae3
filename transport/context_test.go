package transport_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/transport"
)

var errLeft = errors.New("the caller has left")

// TestLimits_EndTheContextOfATry checks each way to learn that a try's context has ended, for each end.
func TestLimits_EndTheContextOfATry(t *testing.T) {
	ways := map[string]func(ctx context.Context, f func()) (stop func() bool){
		"context.AfterFunc": context.AfterFunc,
		"a context made of it": func(ctx context.Context, f func()) func() bool {
			inner, cancel := context.WithCancel(ctx)
			context.AfterFunc(inner, cancel)
			return context.AfterFunc(inner, f)
		},
	}
	for name, register := range ways {
		for _, end := range []struct {
			leaves time.Duration // of the caller
			cause  func(error) bool
		}{
			{time.Hour, func(err error) bool { f, ok := errors.AsType[*fault.Error](err); return ok && f.Kind == fault.Timeout }},
			{time.Minute, func(err error) bool { return err == errLeft }},
		} {
			synctest.Test(t, func(t *testing.T) {
				ctx, leave := context.WithCancelCause(t.Context())
				defer time.AfterFunc(end.leaves, func() { leave(errLeft) }).Stop()
				calls := 0
				base := roundTrip(func(req *http.Request) (*http.Response, error) {
					ended := make(chan struct{})
					register(req.Context(), func() { calls++; close(ended) })
					<-ended
					if req.Context().Err() == nil || !end.cause(context.Cause(req.Context())) {
						t.Errorf("%s, caller leaves after %v: got context error %v, cause %v", name, end.leaves, req.Context().Err(), context.Cause(req.Context()))
					}
					return nil, context.Cause(req.Context())
				})
				p := policy.Policy{Retries: 1, RetryOn: 1 << 31} // decides, and lets nothing pass
				resp, err := (&transport.Transport{Base: base, Limits: limits, Retry: retry.Retrier{Policy: p}}).RoundTrip(post(ctx))
				if err == nil {
					_ = resp.Body.Close()
				}
				leave(nil)
				if synctest.Wait(); calls != 1 {
					t.Errorf("%s, caller leaves after %v: called %d times, want once", name, end.leaves, calls)
				}
			})
		}
	}
}

// TestLimits_ContextOfATryEndsWithItsAnswer checks that what is asked for late has ended too.
func TestLimits_ContextOfATryEndsWithItsAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tried context.Context
		base := roundTrip(func(req *http.Request) (*http.Response, error) {
			tried = req.Context()
			return &http.Response{StatusCode: 204, Body: http.NoBody}, nil
		})
		if _, err := (&transport.Transport{Base: base, Limits: limits, Retry: retry.Retrier{Policy: policy.Simple()}}).RoundTrip(post(t.Context())); err != nil {
			t.Fatalf("round trip: %v", err)
		}
		called := false
		context.AfterFunc(tried, func() { called = true })
		synctest.Wait()
		select {
		case <-tried.Done():
		default:
			t.Error("the context of a try whose answer has ended: Done is open, want closed")
		}
		if err := context.Cause(tried); err != context.Canceled || !called {
			t.Errorf("the context of a try whose answer has ended: got cause %v, called %t, want %v, true", err, called, context.Canceled)
		}
	})
}
