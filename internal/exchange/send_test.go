package exchange_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/internal/exchange"
)

// response is a ResponseWriter over a connection.
type response struct{ conn net.Conn }

func (r response) Header() http.Header                { return http.Header{} }
func (r response) WriteHeader(int)                    {}
func (r response) Write(p []byte) (int, error)        { return r.conn.Write(p) }
func (r response) SetWriteDeadline(t time.Time) error { return r.conn.SetWriteDeadline(t) }
func (r response) FlushError() error                  { return nil }

const limit = 8 * time.Minute

// answer returns a writer and the client's end of its connection.
func answer(t *testing.T) (w *exchange.Writer, client net.Conn) {
	client, server := net.Pipe()
	t.Cleanup(func() { client.Close(); server.Close() })
	w = &exchange.Writer{ResponseWriter: response{server}}
	t.Cleanup(w.Close)
	return w, client
}

func TestWriter_ClientThatReadsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := answer(t)
		began := time.Now()
		err := w.Write([]byte("x"), limit)
		if took := time.Since(began); !errors.Is(err, os.ErrDeadlineExceeded) || took < limit || took > limit+limit/4 {
			t.Errorf("write to a client that reads nothing: got %v after %v, want a deadline error after %v", err, took, limit)
		}
	})
}

func TestWriter_SlowClientStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, client := answer(t)
		go func() {
			for range 50 {
				time.Sleep(limit - time.Second)
				_, _ = client.Read(make([]byte, 1)) // the writer sees an error
			}
		}()
		for i := range 50 {
			if err := w.Write([]byte("x"), limit); err != nil {
				t.Fatalf("write %d to a client that reads a little before each limit: got %v, want no error", i, err)
			}
		}
	})
}

func TestWriter_PauseBetweenWritesIsNoStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, client := answer(t)
		for i := range 5 {
			got := make(chan error)
			go func() { got <- w.Write([]byte("x"), limit) }()
			if _, err := client.Read(make([]byte, 1)); err != nil {
				t.Fatalf("read %d: %v", i, err)
			}
			if err := <-got; err != nil {
				t.Fatalf("write %d after a pause of three limits: got %v, want no error", i, err)
			}
			time.Sleep(3 * limit)
		}
	})
}

// TestWriter_StallCostsOneTick plays the moment at which a stopped process resumes: the timer that fell due
// meanwhile fires once, and the client has read.
func TestWriter_StallCostsOneTick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, client := answer(t)
		got := make(chan error, 1)
		go func() { got <- w.Write([]byte("x"), limit) }()
		synctest.Wait()
		for range exchange.Ticks - 1 {
			w.Tick()
		}
		if _, err := client.Read(make([]byte, 1)); err != nil {
			t.Errorf("read after %d stalls: got %v, want what was written", exchange.Ticks-1, err)
		}
		if err := <-got; err != nil {
			t.Errorf("write over %d stalls: got %v, want no error", exchange.Ticks-1, err)
		}
		go func() { got <- w.Write([]byte("x"), limit) }()
		synctest.Wait()
		for range exchange.Ticks + 1 { // the timer is that of the first write
			w.Tick()
		}
		if err := <-got; !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("write after all ticks: got %v, want a deadline error", err)
		}
	})
}

func TestWriter_ShorterLimitHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, client := answer(t)
		go client.Read(make([]byte, 1))
		if err := w.Write([]byte("x"), limit); err != nil {
			t.Fatalf("first write: %v", err)
		}
		began := time.Now()
		err := w.Write([]byte("y"), 8*time.Second)
		if took := time.Since(began); err == nil || took > 10*time.Second {
			t.Errorf("write with 8 s behind one with %v: got %v after %v, want an error after 8 s", limit, err, took)
		}
	})
}

func TestWithTimeout_Ends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		ctx, cancel := exchange.WithTimeout(t.Context(), limit)
		defer cancel()
		<-ctx.Done()
		if took := time.Since(began); took < limit || took > limit+limit/4 || context.Cause(ctx) != context.DeadlineExceeded {
			t.Errorf("context with a timeout of %v: got %v after %v, want it to end then", limit, context.Cause(ctx), took)
		}
		early, stop := exchange.WithTimeout(t.Context(), limit)
		stop()
		if early.Err() == nil {
			t.Error("context after its cancel: got no error, want one")
		}
	})
}

// discard is a client that takes everything.
type discard struct{ http.ResponseWriter }

func (discard) Write(p []byte) (int, error) { return len(p), nil }

func (discard) Flush() {}

func TestWriter_AllocatesOnlyATimer(t *testing.T) {
	client, part := http.ResponseWriter(discard{}), []byte("an answer")
	if got := testing.AllocsPerRun(100, func() {
		w := exchange.Writer{ResponseWriter: client}
		if err := w.Write(part, time.Minute); err != nil {
			t.Fatalf("write: %v", err)
		}
		w.Close()
	}); got > 3 {
		t.Errorf("an answer of one write: got %v allocations, want those of the writer, its timer and what that calls", got)
	}
}
