package responses

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/api/openai"
	"github.com/ridethrough/ridethrough/internal/sse"
)

// errorBound is how much of an error's body is kept.
const errorBound = 64 << 10

// frameWriter is the ResponseWriter of one request: it sends each server-sent event as a frame.
type frameWriter struct {
	socket     *socket
	header     http.Header
	status     int    // 0: none so far
	pending    []byte // an event so far, or the body of an error
	chain      *chain
	responseID string
	ended      bool // the response has its last event
	err        error
}

// Header implements http.ResponseWriter.
func (w *frameWriter) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *frameWriter) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
	}
}

// Write implements http.ResponseWriter.
func (w *frameWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if !w.streams() {
		w.pending = append(w.pending, p[:min(len(p), errorBound-min(errorBound, len(w.pending)))]...)
		return len(p), nil
	}
	seen := len(w.pending)
	w.pending = append(w.pending, p...)
	for w.err == nil {
		n := api.Events.FrameLen(w.pending, seen)
		if n == 0 {
			break
		}
		w.sendEvent(w.pending[:n])
		w.pending, seen = w.pending[n:], 0
	}
	return len(p), w.err
}

// streams reports whether the answer is a stream of events.
func (w *frameWriter) streams() bool {
	return w.status == http.StatusOK && strings.HasPrefix(w.header.Get("Content-Type"), "text/event-stream")
}

// Flush does nothing: each event is sent when it is whole.
func (w *frameWriter) Flush() {}

// SetWriteDeadline ends the connection if the deadline has passed. Others are not kept: package send sets none.
func (w *frameWriter) SetWriteDeadline(t time.Time) error {
	if !t.IsZero() && !t.After(time.Now()) {
		w.socket.leave()
	}
	return nil
}

// sendEvent sends the data of an event. A comment becomes a ping.
func (w *frameWriter) sendEvent(event []byte) {
	name, data := sse.Parse(event)
	if len(data) == 0 {
		w.socket.ping()
		return
	}
	if data[0] != '{' || w.ended {
		return // [DONE], or what follows the last event
	}
	w.send(w.note(openai.ReadSocketEvent(string(name), data)))
}

// note remembers what the next request needs, and returns the frame to send.
func (w *frameWriter) note(e openai.SocketEvent) []byte {
	w.responseID = cmp.Or(e.ResponseID, w.responseID)
	if e.Item != nil {
		w.chain.add(e.Item)
	}
	w.ended = w.ended || e.Ends
	if e.Completed {
		w.socket.chains.keep(w.responseID, w.chain)
	}
	return e.Frame
}

// send sends a frame.
func (w *frameWriter) send(frame []byte) {
	w.err = w.socket.conn.Write(w.socket.alive, websocket.MessageText, frame)
}

// finish ends the answer. It reports whether the client knows that it has ended.
func (w *frameWriter) finish() bool {
	switch {
	case w.ended:
		return w.err == nil
	case w.streams() || w.status == 0:
		return false
	}
	w.send(openai.SocketError(w.statusOfError(), w.header, openai.ErrorIn(w.pending), nil))
	return w.err == nil
}

// statusOfError returns the status for an answer that is no stream.
func (w *frameWriter) statusOfError() int {
	if w.status < http.StatusBadRequest {
		return http.StatusBadGateway
	}
	return w.status
}
