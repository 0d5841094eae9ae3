package server

import (
	"bytes"
	"net/http"
	"time"
)

const (
	eventStream = "text/event-stream"
	ndjson      = "application/x-ndjson"
	streamBound = 256              // readers of streams at a time
	beatTime    = 15 * time.Second // between two bytes
	stallTime   = 30 * time.Second // how long a reader may take nothing
)

// stream is a reader of events: server-sent ones, or lines of JSON.
type stream struct {
	server *Server
	w      http.ResponseWriter
	r      *http.Request
	conn   *http.ResponseController
	lines  bool         // of JSON
	buf    bytes.Buffer // what is not sent yet
	beat   *time.Timer
}

// open begins a stream of server-sent events; nil: it was refused, or a HEAD
// has had its answer.
func (s *Server) open(w http.ResponseWriter, r *http.Request) *stream {
	if !s.seat(w) {
		return nil
	}
	return s.begin(w, r, eventStream)
}

// seat keeps a place for a reader of a stream; false: it was refused.
func (s *Server) seat(w http.ResponseWriter) bool {
	if s.streams.Add(1) <= streamBound && !s.ending() {
		return true
	}
	s.rise()
	w.Header().Set("Retry-After", "5")
	refuse(w, http.StatusServiceUnavailable, "there are %d readers already, or the server is ending", streamBound)
	return false
}

// rise gives a reader's place back.
func (s *Server) rise() { s.streams.Add(-1) }

// begin begins a stream for a reader who has a place; nil: a HEAD has had its
// answer.
func (s *Server) begin(w http.ResponseWriter, r *http.Request, kind string) *stream {
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("X-Accel-Buffering", "no") // nginx would keep events back
	w.WriteHeader(http.StatusOK)
	out := &stream{server: s, w: w, r: r, conn: http.NewResponseController(w), lines: kind != eventStream, beat: time.NewTimer(beatTime)}
	if r.Method == http.MethodHead {
		out.close()
		return nil
	}
	if !out.lines {
		out.buf.WriteString("retry: 2000\n\n")
	}
	return out
}

// close gives the reader's place back.
func (o *stream) close() {
	o.beat.Stop()
	_ = o.conn.SetWriteDeadline(time.Time{}) // the connection may serve another request
	o.server.rise()
}

// event adds an event to what is sent with the next flush.
func (o *stream) event(id, name string, data []byte) { frame(&o.buf, id, name, data) }

// frame writes one event. The data is one line.
func frame(b *bytes.Buffer, id, name string, data []byte) {
	if id != "" {
		b.WriteString("id: " + id + "\n")
	}
	b.WriteString("event: " + name + "\ndata: ")
	b.Write(data)
	b.WriteString("\n\n")
}

// comment adds a line that readers skip and people see. In lines of JSON it is
// an empty one.
func (o *stream) comment(text string) {
	if o.lines {
		o.buf.WriteByte('\n')
		return
	}
	o.buf.WriteString(": " + text + "\n\n")
}

// flush sends what there is. Its error means that nobody reads any more.
func (o *stream) flush() error {
	if o.buf.Len() == 0 {
		return nil
	}
	return o.push()
}

// packet is how much is sent at a time where there is more, in bytes: what a
// reader has not taken must not pile up.
const packet = 64 << 10

// bears sends what there is, unless more is about to come. false: nobody reads
// any more.
func (o *stream) bears(more bool) bool {
	return more && o.buf.Len() < packet || o.flush() == nil
}

// push is flush where there may be nothing yet but a header.
func (o *stream) push() error {
	_ = o.conn.SetWriteDeadline(time.Now().Add(stallTime)) // not every connection has deadlines
	o.beat.Reset(beatTime)
	if _, err := o.buf.WriteTo(o.w); err != nil {
		return err
	}
	return o.conn.Flush()
}

// await waits for the next tick or news; false: the stream is over.
func await[T any](o *stream, news <-chan T) bool {
	_, ok := receive(o, news)
	return ok
}

// receive waits for what comes next; false: the stream is over.
func receive[T any](o *stream, news <-chan T) (v T, ok bool) {
	v, _, ok = either(o, nil, news)
	return v, ok
}

// either waits for what comes next, which is news if something came; false: the
// stream is over. A stream that has been silent for too long gets a comment
// meanwhile.
func either[T any](o *stream, tick <-chan time.Time, news <-chan T) (v T, came, ok bool) {
	for {
		select {
		case <-tick:
			return v, false, true
		case v = <-news:
			return v, true, true
		case <-o.beat.C:
			if o.comment("beat"); o.flush() != nil {
				return v, false, false
			}
		case <-o.server.draining:
			o.comment("the server is shutting down")
			_ = o.flush()
			return v, false, false
		case <-o.r.Context().Done():
			return v, false, false
		}
	}
}
