package transport_test

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/transport"
)

func TestTransport_HappyPathAllocatesTwice(t *testing.T) {
	if raced {
		t.Skip("the race detector allocates")
	}
	base := &static{http.Header{"Content-Type": {"application/json"}}, []byte(answerJSON)}
	ours := &transport.Transport{Base: base, Retry: retry.Retrier{Policy: policy.Patient()}}
	req, _ := http.NewRequestWithContext(t.Context(), "POST", "http://api.test/v1/messages", bytes.NewReader([]byte(prompt)))
	allocations := func(rt http.RoundTripper) float64 {
		return testing.AllocsPerRun(1000, func() {
			resp, err := rt.RoundTrip(req)
			if err != nil {
				t.Fatalf("round trip: %v", err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		})
	}
	if bare, got := allocations(base), allocations(ours); got-bare > 2 {
		t.Errorf("a call without a fault: got %v allocations above the %v of its base, want 2", got-bare, bare)
	}
}
