package transport_test

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/transport"
)

// TestTransport_RequestsToOneHostShareItsOutage compares a hundred requests that know of
// each other with a hundred that do not.
func TestTransport_RequestsToOneHostShareItsOutage(t *testing.T) {
	asked := map[bool]int{}
	for _, shared := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			begun := time.Now()
			tr := &transport.Transport{
				Retry: retry.Retrier{Policy: policy.Patient()},
				Base: roundTrip(func(req *http.Request) (*http.Response, error) {
					mu.Lock()
					asked[shared]++
					mu.Unlock()
					status, body := 200, `{"choices":[{"message":{"content":"Hi"}}]}`
					if time.Since(begun) < time.Hour {
						status, body = 503, `{"error":{"message":"overloaded"}}`
					}
					return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
				}),
			}
			if shared {
				tr.Breakers = &breaker.Set{}
			}
			var all sync.WaitGroup
			for range 100 {
				all.Go(func() {
					req, _ := http.NewRequestWithContext(t.Context(), "POST", "http://llm.test/v1/chat/completions", strings.NewReader(`{"model":"m","messages":[]}`))
					resp, err := tr.RoundTrip(req)
					if err != nil || resp.StatusCode != 200 {
						t.Errorf("RoundTrip: got %v and error %v, want status 200", resp, err)
						return
					}
					_ = resp.Body.Close()
				})
				time.Sleep(time.Second)
			}
			all.Wait()
		})
	}
	if alone, shared := asked[false], asked[true]; alone < 900 || shared > 400 {
		t.Errorf("%d requests alone, %d shared", alone, shared)
	}
}

func TestTransport_OutageOfOneModelSparesTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		tr := &transport.Transport{
			Breakers: &breaker.Set{},
			Retry:    retry.Retrier{Policy: policy.Patient()},
			Base: roundTrip(func(req *http.Request) (*http.Response, error) {
				body, _ := io.ReadAll(req.Body)
				if strings.Contains(string(body), "opus") && time.Since(begun) < time.Hour {
					return &http.Response{StatusCode: 529, Header: http.Header{}, Body: http.NoBody}, nil
				}
				return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{"content":[]}`))}, nil
			}),
		}
		ask := func(model string) {
			req, _ := http.NewRequestWithContext(t.Context(), "POST", "http://llm.test/v1/messages", strings.NewReader(`{"model":"`+model+`"}`))
			resp, err := tr.RoundTrip(req)
			if err != nil || resp.StatusCode != 200 {
				t.Errorf("RoundTrip: got %v and error %v, want status 200", resp, err)
				return
			}
			_ = resp.Body.Close()
		}
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() { ask("opus") })
		}
		time.Sleep(10 * time.Minute)
		before := time.Now()
		if ask("haiku"); time.Since(before) != 0 {
			t.Errorf("it waited %v", time.Since(before))
		}
		all.Wait()
	})
}
