package gateway_test

import (
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
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/transport"
)

// moody answers or refuses each request by its number among all, and among those of the same call.
type moody struct {
	refuse func(n, ofCall int) http.RoundTripper // nil: it answers

	mu     sync.Mutex
	asked  int
	ofCall map[string]int
}

func (m *moody) RoundTrip(req *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(req.Body)
	m.mu.Lock()
	if m.ofCall == nil {
		m.ofCall = map[string]int{}
	}
	m.asked++
	m.ofCall[string(body)]++
	refusal := m.refuse(m.asked, m.ofCall[string(body)])
	m.mu.Unlock()
	if err := retry.Sleep(req.Context(), 50*time.Millisecond); err != nil {
		return nil, err
	}
	if refusal != nil {
		return refusal.RoundTrip(req)
	}
	return says(200, messageStart+messageHi+messageStop)(req)
}

// refusal is a response with an error.
type refusal struct {
	status      int
	retryAfter  string
	kind, words string
}

func (r refusal) RoundTrip(*http.Request) (*http.Response, error) {
	h := http.Header{"Content-Type": {"application/json"}}
	if r.retryAfter != "" {
		h.Set("Retry-After", r.retryAfter)
	}
	body := fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%q}}`, r.kind, r.words)
	return &http.Response{StatusCode: r.status, Header: h, Body: io.NopCloser(strings.NewReader(body))}, nil
}

// What a client would have survived alone it survives through the gateway, at its defaults.
func TestGateway_SurvivesWhatClientsSurviveAlone(t *testing.T) {
	once := func(r refusal) func(n, ofCall int) http.RoundTripper {
		return func(n, _ int) http.RoundTripper {
			if n == 13 {
				return r
			}
			return nil
		}
	}
	thirdTry := func(_, ofCall int) http.RoundTripper {
		if ofCall < 3 {
			return refusal{529, "", "overloaded_error", "Overloaded"}
		}
		return nil
	}
	short := policy.Policy{Retries: 3, Backoff: policy.Backoff{Steps: []time.Duration{200 * time.Millisecond}}}
	for _, tt := range []struct {
		name   string
		refuse func(n, ofCall int) http.RoundTripper
		policy policy.Policy
		most   time.Duration // for 100 calls
		tries  int           // of a call, besides those of a burst
	}{
		{"one refused for a second", once(refusal{429, "1", "rate_limit_error", "slow down"}), policy.Patient(), 6 * time.Second, 1},
		{"one refused", once(refusal{429, "", "rate_limit_error", "rate limited"}), policy.Patient(), 6 * time.Second, 1},
		{"one refused for calls at once", once(refusal{429, "", "rate_limit_error", "Too many concurrent requests"}), policy.Patient(), 6 * time.Second, 1},
		{"each passes by its third try", thirdTry, short, 20 * time.Second, 3},
		{"each passes by its third try, interactive", thirdTry, policy.Interactive(), 2 * time.Minute, 3},
	} {
		for _, calls := range []int{30, 100} {
			run := func(through func(base http.RoundTripper) http.RoundTripper) (answered int, took time.Duration, asked int) {
				synctest.Test(t, func(t *testing.T) {
					m := &moody{refuse: tt.refuse}
					client := through(m)
					begun := time.Now()
					var mu sync.Mutex
					var all sync.WaitGroup
					for i := range calls {
						all.Go(func() {
							time.Sleep(time.Duration(i) * 5 * time.Millisecond)
							if survives(t, client, i) {
								mu.Lock()
								defer mu.Unlock()
								answered++
							}
						})
					}
					all.Wait()
					took, asked = time.Since(begun), m.asked
				})
				return answered, took, asked
			}
			alone, aloneTook, _ := run(func(m http.RoundTripper) http.RoundTripper {
				return &transport.Transport{Base: m, Retry: retry.Retrier{Policy: tt.policy}}
			})
			with, took, asked := run(func(m http.RoundTripper) http.RoundTripper {
				g := newGateway(t, gateway.Config{Policy: tt.policy, Upstreams: everything(address("provider.test")), Base: m})
				return handled{g}
			})
			t.Logf("%s: %d of %d answered in %v with %d tries; alone %d in %v", tt.name, with, calls, took, asked, alone, aloneTook)
			if alone != calls || with != calls || took > tt.most || asked > tt.tries*calls+1 {
				t.Errorf("%s: want all, within %v and with %d tries at most", tt.name, tt.most, tt.tries*calls+1)
			}
		}
	}
}

// survives reports whether a call is answered.
func survives(t *testing.T, client http.RoundTripper, n int) bool {
	body := strings.Replace(claude, "Hi", fmt.Sprint("Hi ", n), 1)
	req, _ := http.NewRequestWithContext(t.Context(), "POST", "http://gateway.test/v1/messages", strings.NewReader(body))
	resp, err := client.RoundTrip(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return err == nil && resp.StatusCode == http.StatusOK && strings.HasSuffix(string(text), messageStop)
}

// handled sends requests to a handler.
type handled struct{ http.Handler }

func (h handled) RoundTrip(req *http.Request) (*http.Response, error) {
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, req)
	return rec.Result(), nil
}
