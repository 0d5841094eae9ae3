package gateway_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
)

// blackout is a provider that answers in two seconds, except during one outage.
// It counts its requests.
type blackout struct {
	from, to time.Time
	mu       sync.Mutex
	asked    []time.Time
}

func (b *blackout) RoundTrip(req *http.Request) (*http.Response, error) {
	now := time.Now()
	b.mu.Lock()
	b.asked = append(b.asked, now)
	b.mu.Unlock()
	if !now.Before(b.from) && now.Before(b.to) {
		return &http.Response{StatusCode: 529, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`))}, nil
	}
	if err := retry.Sleep(req.Context(), 2*time.Second); err != nil {
		return nil, err
	}
	return says(200, messageStart+messageHi+messageStop)(req)
}

// between returns the times of the requests from one moment to another.
func (b *blackout) between(from, to time.Time) []time.Time {
	first, _ := slices.BinarySearchFunc(b.asked, from, time.Time.Compare)
	last, _ := slices.BinarySearchFunc(b.asked, to, time.Time.Compare)
	return b.asked[first:last]
}

// most returns the largest number of requests in a window of that length.
func most(asked []time.Time, window time.Duration) (n int) {
	for i, j := 0, 0; j < len(asked); j++ {
		for asked[j].Sub(asked[i]) >= window {
			i++
		}
		n = max(n, j-i+1)
	}
	return n
}

// crowd runs callers in a loop through an outage of two hours, each
// with 28 s between an answer and its next request. It returns the times at which
// those that waited had their answers.
func crowd(b *blackout, ask func(n int) error) (answered []time.Duration, failed int) {
	start := time.Now()
	b.from, b.to = start.Add(10*time.Minute), start.Add(130*time.Minute)
	end := start.Add(150 * time.Minute)
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			time.Sleep(time.Duration(i) * 30 * time.Second / callers)
			for time.Now().Before(end) {
				begun := time.Now()
				err := ask(i)
				mu.Lock()
				switch {
				case err != nil:
					failed++
				case begun.Before(b.to) && time.Since(b.to) > 0:
					answered = append(answered, time.Since(b.to))
				}
				mu.Unlock()
				time.Sleep(28 * time.Second)
			}
		})
	}
	all.Wait()
	slices.Sort(answered)
	return answered, failed
}

// The steady rate is 33 requests a second; under the race detector it is a tenth.
func TestGateway_ThousandCallersShareOneOutage(t *testing.T) {
	const steady = callers / 30.0
	synctest.Test(t, func(t *testing.T) {
		b := &blackout{}
		g := newGateway(t, gateway.Config{Policy: policy.Patient(), Upstreams: everything(address("provider.test")), Base: b})
		answered, failed := crowd(b, func(n int) error {
			rec := &recorder{header: http.Header{}}
			g.ServeHTTP(rec, request(t, n))
			if rec.status != 200 {
				return io.ErrUnexpectedEOF
			}
			return nil
		})
		if failed > 0 || len(answered) < callers {
			t.Fatalf("%d calls failed and %d waited for the end, want none and at least %d", failed, len(answered), callers)
		}
		if n := most(b.between(b.from.Add(10*time.Minute), b.to), time.Minute); n > 2 {
			t.Errorf("%d requests in a minute of the outage, want 2 at most", n)
		}
		if last := answered[len(answered)-1]; last > time.Minute {
			t.Errorf("the last waiter was answered after %v, want a minute at most", last)
		}
		if peak := most(b.between(b.to, b.to.Add(20*time.Minute)), time.Second); float64(peak) > 2*steady+1 {
			t.Errorf("%d requests in a second after the outage, want %.0f at most", peak, 2*steady+1)
		}
	})
}

// request is one of a caller's own.
func request(t *testing.T, n int) *http.Request {
	body := strings.NewReader(strings.Replace(claude, "64", string(rune('0'+n%10)), 1))
	req, _ := http.NewRequestWithContext(t.Context(), "POST", "http://gateway.test/v1/messages", body)
	return req
}
