package rest

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ridethrough/ridethrough/internal/clock"
	"github.com/ridethrough/ridethrough/internal/exchange"
)

const readersBound = 256

// Readers are the readers of all streams of a server. Its methods may be called concurrently.
type Readers struct {
	log      *slog.Logger
	count    atomic.Int64
	draining chan struct{} // closed when the server begins to end
	drain    sync.Once
	sockets  sync.WaitGroup // net/http does not wait for them
}

// Server is what an extension of a server has of it.
type Server struct {
	Readers *Readers
	Log     *slog.Logger
}

// NewReaders returns an empty set of readers.
func NewReaders(log *slog.Logger) *Readers {
	return &Readers{log: log, draining: make(chan struct{})}
}

// Drain ends all streams and refuses new readers. It reports whether this call was the first.
func (a *Readers) Drain() (first bool) {
	a.drain.Do(func() {
		close(a.draining)
		first = true
	})
	return first
}

// Draining is closed once Drain was called.
func (a *Readers) Draining() <-chan struct{} { return a.draining }

// IsDraining reports whether Drain was called.
func (a *Readers) IsDraining() bool {
	select {
	case <-a.draining:
		return true
	default:
		return false
	}
}

// Admit takes a place for a reader, or refuses the request and returns false. [Readers.Leave] frees the
// place.
func (a *Readers) Admit(w http.ResponseWriter) bool {
	if a.count.Add(1) <= readersBound && !a.IsDraining() {
		return true
	}
	a.Leave()
	w.Header().Set("Retry-After", "5")
	Refuse(w, http.StatusServiceUnavailable, "there are %d readers already, or the server is shutting down", readersBound)
	return false
}

// KeepSocket makes [Readers.WaitSockets] wait for the WebSocket of a reader until closed is called.
func (a *Readers) KeepSocket() (closed func()) {
	a.sockets.Add(1)
	return a.sockets.Done
}

// WaitSockets returns when all WebSockets are closed, or ctx ends.
func (a *Readers) WaitSockets(ctx context.Context) {
	_ = clock.Await(ctx, &a.sockets) // those that do not close end with the process
}

// Leave frees a reader's place.
func (a *Readers) Leave() { a.count.Add(-1) }

// Open admits a reader and begins server-sent events; nil: the request has its answer.
func (a *Readers) Open(w http.ResponseWriter, r *http.Request) *Stream {
	if !a.Admit(w) {
		return nil
	}
	return a.Begin(w, r, SSE)
}

// Begin begins a stream of a kind for a reader that was admitted; nil: a HEAD request has its answer.
func (a *Readers) Begin(w http.ResponseWriter, r *http.Request, kind string) *Stream {
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("X-Accel-Buffering", "no") // nginx would buffer events
	w.WriteHeader(http.StatusOK)
	s := &Stream{
		readers: a, out: exchange.Writer{ResponseWriter: w}, r: r, lines: kind != SSE, beat: time.NewTimer(BeatTime),
	}
	if r.Method == http.MethodHead {
		s.Close()
		return nil
	}
	if !s.lines {
		s.Buffer.WriteString("retry: 2000\n\n")
	}
	return s
}
