package server

import (
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// bodyTime is how long a client may send nothing of a body that it has begun.
// One that is slow and honest sends something.
const bodyTime = 30 * time.Second

// bounded gives a request's body a deadline for each part of it; nil: there is
// none. It holds also for one that nobody reads: net/http waits for its rest
// before it answers.
func bounded(w http.ResponseWriter, r *http.Request) *body {
	if r.ContentLength == 0 || r.Body == nil {
		return nil
	}
	b := &body{ReadCloser: r.Body, conn: *http.NewResponseController(w)}
	b.extend()
	r.Body = b
	return b
}

// body is a request's body that has to keep coming.
type body struct {
	io.ReadCloser
	conn   http.ResponseController
	set    time.Time   // when the deadline was set
	over   atomic.Bool // all of it has been read
	broken atomic.Bool // its end was not found
}

// Read reads what has come. The deadline goes with the body: the server reads
// on behind it to see whether the client is still there.
func (b *body) Read(p []byte) (int, error) {
	b.extend()
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		b.over.Store(true)
		_ = b.conn.SetReadDeadline(time.Time{})
	}
	return n, err
}

// Close looks for the end of what was not read.
func (b *body) Close() error {
	err := b.ReadCloser.Close()
	if err != nil {
		b.broken.Store(true)
	}
	return err
}

// finish cuts the connection of a request whose body has no end, once it has
// its answer. What comes behind it would be read as the next request, and may
// be a part of this one. net/http sees to that itself only where it has not
// been asked to answer before it has read all.
func (b *body) finish(w http.ResponseWriter) {
	if b == nil || b.over.Load() || w.Header().Get("Connection") == "close" {
		return
	}
	_ = b.conn.Flush()
	if _ = b.Close(); b.broken.Load() {
		panic(http.ErrAbortHandler)
	}
}

// extend sets the deadline anew, but not for every few bytes.
func (b *body) extend() {
	if now := time.Now(); now.Sub(b.set) > time.Second {
		b.set = now
		_ = b.conn.SetReadDeadline(now.Add(bodyTime)) // not every connection has deadlines
	}
}
