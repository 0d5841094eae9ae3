package transport_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/ratelimit"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/transport"
)

// Requests of any SDK stay below the limits that the provider states, with retries and without.
func TestTransport_WaitsForRoom(t *testing.T) {
	for name, p := range map[string]policy.Policy{"retries": policy.Patient(), "no retries": {}} {
		synctest.Test(t, func(t *testing.T) {
			allowed, _ := simulator.ParseRates("requests:60,tokens:10k")
			provider := simulator.New(simulator.Script{Rates: allowed})
			defer provider.Close()
			var queued []string
			var mu sync.Mutex
			tr := &transport.Transport{
				Base: provider.Transport(), Retry: retry.Retrier{Policy: p}, Room: new(ratelimit.Table),
				Queued: func(_ *http.Request, p ratelimit.Place) {
					mu.Lock()
					defer mu.Unlock()
					queued = append(queued, p.String())
				},
			}
			var all sync.WaitGroup
			begun := time.Now()
			for i := range 150 {
				all.Go(func() {
					ctx := ratelimit.WithFlow(t.Context(), fmt.Sprint(i%3), false)
					req, _ := http.NewRequestWithContext(ctx, "POST", "http://llm.test/v1/chat/completions",
						strings.NewReader(`{"model":"m","max_tokens":10,"stream":true,"messages":[{"role":"user","content":"Hi"}]}`))
					resp, err := tr.RoundTrip(req)
					if err != nil || resp.StatusCode != 200 {
						t.Errorf("%s: RoundTrip: got %v and error %v, want status 200", name, resp, err)
						return
					}
					if text, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(text), "[DONE]") {
						t.Errorf("%s: the answer is %q, %v; want all of it", name, text, err)
					}
					_ = resp.Body.Close()
				})
				time.Sleep(time.Second / 3)
			}
			all.Wait()
			if n := len(provider.Requests()); n != 150 {
				t.Errorf("%s: %d requests were sent for 150, want as many: one was refused", name, n)
			}
			if took := time.Since(begun); took < 80*time.Second || took > 105*time.Second {
				t.Errorf("%s: took %v, want about 90 s", name, took)
			}
			if len(queued) < 50 || !strings.Contains(queued[0], "of 60 requests/min left, about ") {
				t.Errorf("%s: %d have waited, the first because of %q; want many, for requests", name, len(queued), queued[:min(1, len(queued))])
			}
		})
	}
}
