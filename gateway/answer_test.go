package gateway_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/cork"
)

// counting is a client's connection that counts writes.
type counting struct {
	net.Conn
	writes atomic.Int32
}

func (c *counting) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return len(p), nil
}

// single is a listener for one connection.
type single struct {
	net.Listener
	conn net.Conn
}

func (l single) Accept() (net.Conn, error) { return l.conn, nil }

// A write that is kept costs a goroutine, unless another one follows. Behind a body of known length none does.
func TestAnswer_OfKnownLengthHasNoWriteKept(t *testing.T) {
	const small = `{"id":"1","choices":[{"message":{"content":"Hello"}}]}`
	for name, answer := range map[string]string{"small": small, "of 3 KB": small + strings.Repeat(" ", 3<<10)} {
		synctest.Test(t, func(t *testing.T) {
			g, err := gateway.New(gateway.Config{Upstreams: everything(address("provider.test")), Base: roundTrip(func(r *http.Request) (*http.Response, error) {
				_ = r.Body.Close()
				return &http.Response{
					StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}},
					ContentLength: int64(len(answer)), Body: io.NopCloser(strings.NewReader(answer)),
				}, nil
			})})
			if err != nil {
				t.Fatalf("new gateway: %v", err)
			}
			below := &counting{}
			conn, _ := cork.Listener{Listener: single{conn: below}}.Accept()
			r := httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(`{"model":"m"}`))
			g.ServeHTTP(&recorder{header: http.Header{}}, r.WithContext(cork.Context(r.Context(), conn)))
			_, _ = conn.Write([]byte("the next answer"))
			if got := below.writes.Load(); got != 1 {
				t.Errorf("answer %s: a write behind it was kept: got %d writes, want it at once", name, got)
			}
			synctest.Wait()
		})
	}
}
