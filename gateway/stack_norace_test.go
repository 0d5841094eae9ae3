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
	const calls = 200
	synctest.Test(t, func(t *testing.T) {
		base := roundTrip(func(req *http.Request) (*http.Response, error) {
			_ = req.Body.Close()
			r, w := io.Pipe()
			context.AfterFunc(req.Context(), func() { _ = r.Close() })
			go io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}`+"\n\n")
			return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: r}, nil
		})
		g := newGateway(t, gateway.Config{Policy: policy.Patient(), Upstreams: everything(address("provider.test")), Base: base, OnEvent: func(gateway.Event) {}})
		ctx, leave := context.WithCancel(t.Context())
		before := stacks()
		for range calls {
			go below(1, func() {
				defer func() { _ = recover() }() // the client leaves
				body := strings.NewReader(`{"model":"gpt-5","stream":true,"messages":[]}`)
				g.ServeHTTP(&serverWriter{recorder{header: http.Header{}}}, httptest.NewRequestWithContext(ctx, "POST", "/v1/chat/completions", body))
			})
		}
		synctest.Wait()
		if got := (stacks() - before) / calls; got >= 12<<10 {
			t.Errorf("got %d bytes of stack for a stream, want less than 12 KB: one of 8 KB", got)
		}
		leave()
		synctest.Wait()
		g.Close()
	})
}

// So does one that waits between two tries, although the wait has been an event.
func TestGateway_SmallStacksOfWaits(t *testing.T) {
	const calls = 200
	synctest.Test(t, func(t *testing.T) {
		base := roundTrip(func(req *http.Request) (*http.Response, error) {
			_ = req.Body.Close()
			return nil, &fault.Error{Kind: fault.Unavailable}
		})
		told := func(gateway.Event) { between() }
		g := newGateway(t, gateway.Config{Policy: policy.Patient(), Upstreams: everything(address("provider.test")), Base: base, OnEvent: told})
		ctx, leave := context.WithCancel(t.Context())
		before := stacks()
		for range calls {
			go below(1, func() {
				defer func() { _ = recover() }() // the client leaves
				body := strings.NewReader(`{"model":"gpt-5","messages":[]}`)
				g.ServeHTTP(&recorder{header: http.Header{}}, httptest.NewRequestWithContext(ctx, "POST", "/v1/chat/completions", body))
			})
		}
		synctest.Wait()
		if got := (stacks() - before) / calls; got >= 12<<10 {
			t.Errorf("got %d bytes of stack for a wait, want less than 12 KB: one of 8 KB", got)
		}
		leave()
		synctest.Wait()
		g.Close()
	})
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
