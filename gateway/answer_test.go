package gateway_test

import (
	"cmp"
	"encoding/json"
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
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/policy"
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

// A proxy such as nginx buffers an answer unless a header forbids it, so answers that were not held have it too.
func TestAnswer_StreamIsNotToBeCollected(t *testing.T) {
	const (
		chat  = `data: {"choices":[{"delta":{"content":"Hi"}}]}` + "\n\ndata: [DONE]\n\n"
		lines = `{"message":{"content":"Hi"},"done":true,"done_reason":"stop"}` + "\n"
	)
	tests := []struct {
		name, path, body string
		status           int
		kind, text, want string
	}{
		{"stream", "/v1/chat/completions", gpt, 200, "text/event-stream", chat, "no"},
		{"stream of lines", "/api/chat", `{"model":"m","messages":[]}`, 200, "application/x-ndjson", lines, "no"},
		{"whole answer", "/v1/chat/completions", whole(gpt), 200, "application/json", `{"choices":[{"message":{"content":"Hi"}}]}`, ""},
		{"refused", "/v1/chat/completions", gpt, 400, "text/event-stream", `{"error":{"message":"no"}}`, ""},
		{"passed through", "/v1/responses/r_1/events", "", 200, "text/event-stream", chat, "no"},
		{"lines passed through", "/api/pull", "", 200, "application/x-ndjson", `{"status":"pulling"}` + "\n", "no"},
		{"list passed through", "/v1/models", "", 200, "application/json", `{"data":[]}`, ""},
		{"refusal passed through", "/v1/responses/r_1/events", "", 404, "text/event-stream", chat, ""},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			w := newHarnessOf(t, policy.Policy{}, says(tt.status, tt.text, "Content-Type", tt.kind, "X-Accel-Buffering", "yes"))
			resp, err := w.ask(t.Context(), tt.path, tt.body)
			if err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			if got := resp.Header.Get("X-Accel-Buffering"); resp.StatusCode != tt.status || got == "no" != (tt.want == "no") {
				t.Errorf("%s: got %d, X-Accel-Buffering %q, want %d and %q", tt.name, resp.StatusCode, got, tt.status, tt.want)
			}
		})
	}
}

// A whole answer whose tries all break off has the API's own error, and nothing of the halves.
func TestGateway_BrokenWholeAnswersEndInTheAPIsError(t *testing.T) {
	for _, api := range apis {
		for _, cut := range []string{"cut:1", "cut:1:clean"} {
			synctest.Test(t, func(t *testing.T) {
				w := newHarness(t, policy.Simple(), simulator.Script{Then: replies(t, cut)[0]})
				resp, text, err := w.get(cmp.Or(api.wholePath, api.path), api.wholeBody)
				if err != nil || resp.StatusCode != 503 || !json.Valid([]byte(text)) || !strings.Contains(text, "gave up after 3 retries in 7s: the answer broke off") {
					t.Errorf("%s, %s: got %d %q, error %v; want 503 and the API's error, with the tries", api.path, cut, resp.StatusCode, text, err)
				}
			})
		}
	}
}
