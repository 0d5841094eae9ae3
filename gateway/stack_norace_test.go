//go:build !race

package gateway_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/policy"
)

// A stack doubles when it is full, and stays so while its request waits. A request that waits for the next part of its
// answer has one of 8 KB.
func TestGateway_SmallStacksOfStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := roundTrip(func(req *http.Request) (*http.Response, error) {
			_ = req.Body.Close()
			r, w := io.Pipe()
			context.AfterFunc(req.Context(), func() { _ = r.Close() })
			go io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}`+"\n\n")
			return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: r}, nil
		})
		streamed := func() http.ResponseWriter { return &serverWriter{recorder{header: http.Header{}}} }
		if got := stackOf(t, gateway.Config{Base: base, OnEvent: func(gateway.Event) {}}, streamed, `{"model":"gpt-5","stream":true,"messages":[]}`); got >= 12<<10 {
			t.Errorf("got %d bytes of stack for a stream, want less than 12 KB: one of 8 KB", got)
		}
	})
}

// So does one that waits between two tries, although the wait has been an event.
func TestGateway_SmallStacksOfWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := roundTrip(func(req *http.Request) (*http.Response, error) {
			_ = req.Body.Close()
			return nil, &fault.Error{Kind: fault.Unavailable}
		})
		whole := func() http.ResponseWriter { return &recorder{header: http.Header{}} }
		if got := stackOf(t, gateway.Config{Base: base, OnEvent: func(gateway.Event) { between() }}, whole, `{"model":"gpt-5","messages":[]}`); got >= 12<<10 {
			t.Errorf("got %d bytes of stack for a wait, want less than 12 KB: one of 8 KB", got)
		}
	})
}

// stackOf returns how many bytes of stack a request takes at a gateway, of many that wait there.
func stackOf(t *testing.T, c gateway.Config, writer func() http.ResponseWriter, body string) int64 {
	t.Helper()
	const calls = 200
	c.Policy, c.Upstreams = policy.Patient(), everything(address("provider.test"))
	g := newGateway(t, c)
	ctx, leave := context.WithCancel(t.Context())
	before := stacks()
	for range calls {
		go below(1, func() {
			defer func() { _ = recover() }() // the client leaves
			g.ServeHTTP(writer(), httptest.NewRequestWithContext(ctx, "POST", "/v1/chat/completions", strings.NewReader(body)))
		})
	}
	synctest.Wait()
	taken := (stacks() - before) / calls
	leave()
	synctest.Wait()
	g.Close()
	return taken
}

// stacks returns the memory of all stacks of goroutines that have not ended.
func stacks() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.StackInuse)
}

// serverWriter is a recorder that takes as much stack for the headers as that of http.Server, in the first Flush.
type serverWriter struct{ recorder }

// Flush implements http.Flusher.
func (w *serverWriter) Flush() { below(3, w.recorder.Flush) }

// below calls f with so many frames of 1.2 KB below it on the stack. http.Server has one and a half below its handler.
func below(frames int, f func()) {
	var frame [1200]byte
	frame[frames] = 1
	if frames > 1 {
		below(frames-1, f)
	} else {
		f()
	}
	if frame[frames] == 0 {
		panic("the frame has changed")
	}
}

// between takes 0.6 KB of stack, more than what queues the events of a gateway.
//
//go:noinline
func between() {
	var frame [560]byte
	for i := range frame {
		frame[i]++
	}
	if frame[0] == 0 {
		panic("the frame has changed")
	}
}
