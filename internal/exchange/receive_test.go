package exchange_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/internal/exchange"
)

// deadlines is an answer that keeps the read deadlines of its connection.
type deadlines struct {
	http.ResponseWriter
	set []time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error {
	d.set = append(d.set, t)
	return nil
}

func TestBound_TighterLimitsMoveTheDeadline(t *testing.T) {
	tests := []struct {
		name string
		then exchange.Limits
		want []time.Duration // of the deadlines
	}{
		{"the client has the same time", exchange.Default(), []time.Duration{30 * time.Second}},
		{"the client has less", exchange.Limits{Total: 10 * time.Second}, []time.Duration{30 * time.Second, 15 * time.Second}},
		{"the client has more", exchange.Limits{Pause: time.Minute}, []time.Duration{30 * time.Second, 65 * time.Second}},
	}
	for _, test := range tests {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			w, r := &deadlines{}, httptest.NewRequest("POST", "/", strings.NewReader("{}"))
			exchange.Bound(w, r, exchange.Unread())
			time.Sleep(5 * time.Second)
			exchange.Bound(w, r, test.then)
			var got []time.Duration
			for _, at := range w.set {
				got = append(got, at.Sub(began))
			}
			if len(got) != len(test.want) || got[len(got)-1] != test.want[len(got)-1] {
				t.Errorf("%s: got deadlines after %v, want %v", test.name, got, test.want)
			}
			if _, err := io.ReadAll(r.Body); err != nil {
				t.Errorf("%s: read the body: got %v, want no error", test.name, err)
			}
			if last := w.set[len(w.set)-1]; !last.IsZero() {
				t.Errorf("%s: got a deadline at %v once the body is read, want none", test.name, last)
			}
		})
	}
}
