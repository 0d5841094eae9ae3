package server

import (
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// bodyTime is how long a client may pause while it sends a body.
const bodyTime = 30 * time.Second

// limitBody sets a deadline for each part of a request's body; nil: there is no body. The deadline applies to
// a body that is not read as well: net/http waits for its rest before it answers.
func limitBody(w http.ResponseWriter, r *http.Request) *body {
	if r.ContentLength == 0 || r.Body == nil {
		return nil
	}
	b := &body{ReadCloser: r.Body, conn: *http.NewResponseController(w)}
	b.extend()
	r.Body = b
	return b
}

// body is a request's body with a deadline for each part.
type body struct {
	io.ReadCloser
	conn   http.ResponseController
	set    time.Time   // when the deadline was set
	ended  atomic.Bool // all of it has been read
	broken atomic.Bool // it has no end
}

// Read reads the body. At its end it removes the deadline: the server reads on to notice when the client
// leaves.
func (b *body) Read(p []byte) (int, error) {
	b.extend()
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		b.ended.Store(true)
		_ = b.conn.SetReadDeadline(time.Time{})
	}
	return n, err
}

// Close reads to the end of the body and notes a broken one.
func (b *body) Close() error {
	err := b.ReadCloser.Close()
	if err != nil {
		b.broken.Store(true)
	}
	return err
}

// finish closes the connection of a request whose body has no end, once it has its answer: what follows would
// be read as the next request, and may be a part of this one. net/http does so itself only for answers that
// follow the whole body.
func (b *body) finish(w http.ResponseWriter) {
	if b == nil || b.ended.Load() || w.Header().Get("Connection") == "close" {
		return
	}
	_ = b.conn.Flush()
	if _ = b.Close(); b.broken.Load() {
		panic(http.ErrAbortHandler)
	}
}

// extend moves the deadline, at most once a second.
func (b *body) extend() {
	if now := time.Now(); now.Sub(b.set) > time.Second {
		b.set = now
		_ = b.conn.SetReadDeadline(now.Add(bodyTime)) // not every connection has deadlines
	}
}
