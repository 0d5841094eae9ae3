package server

import (
	"io"
	"net/http"
	"time"
)

// bodyTime is how long a client may send nothing of a body that it has begun.
// One that is slow and honest sends something.
const bodyTime = 30 * time.Second

// bounded gives a request's body a deadline for each part of it.
func bounded(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength == 0 || r.Body == nil {
		return
	}
	r.Body = &body{ReadCloser: r.Body, conn: *http.NewResponseController(w)}
}

// body is a request's body that has to keep coming.
type body struct {
	io.ReadCloser
	conn http.ResponseController
	set  time.Time // when the deadline was set
}

// Read reads what has come. The deadline goes with the body: the server reads
// on behind it to see whether the client is still there.
func (b *body) Read(p []byte) (int, error) {
	if now := time.Now(); now.Sub(b.set) > time.Second {
		b.set = now
		_ = b.conn.SetReadDeadline(now.Add(bodyTime)) // not every connection has deadlines
	}
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		_ = b.conn.SetReadDeadline(time.Time{})
	}
	return n, err
}
