package responses

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/ridethrough/ridethrough/internal/dialect"
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
		n := dialect.Events.FrameLen(w.pending, seen)
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
	if isNoted(string(name)) {
		data = w.note(data)
	}
	w.send(data)
}

// isNoted reports whether note reads events of a name, or those without. Deltas, which are most, it does not.
func isNoted(name string) bool {
	switch name {
	case "", "response.created", "response.output_item.done", "response.completed", "response.failed", "response.incomplete", "error":
		return true
	}
	return false
}

// note remembers what the next request needs, and returns the frame to send.
func (w *frameWriter) note(data []byte) []byte {
	var event struct {
		Type     string              `json:"type"`
		Status   int                 `json:"status"`
		Response struct{ ID string } `json:"response"`
		Item     json.RawMessage     `json:"item"`
		Error    json.RawMessage     `json:"error"`
	}
	if json.Unmarshal(data, &event) != nil {
		return data
	}
	w.responseID = cmp.Or(event.Response.ID, w.responseID)
	switch event.Type {
	case "response.output_item.done":
		w.chain.add(event.Item)
	case "response.completed":
		w.ended = true
		w.socket.chains.keep(w.responseID, w.chain)
	case "response.failed", "response.incomplete":
		w.ended = true
	case "error":
		w.ended = true
		if len(event.Error) == 0 {
			event.Error = data
		}
		return errorFrame(cmp.Or(event.Status, statusOfCode(event.Error)), nil, event.Error)
	}
	return data
}

// statusOfCode returns the status of an error inside a stream, by which the client decides whether to send
// the request again.
func statusOfCode(cause json.RawMessage) int {
	var e struct{ Code string }
	_ = json.Unmarshal(cause, &e) // of another form: unknown
	switch e.Code {
	case "invalid_prompt", "invalid_request_error", "context_length_exceeded":
		return http.StatusBadRequest
	case "insufficient_quota":
		return http.StatusTooManyRequests
	}
	return http.StatusServiceUnavailable
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
	w.send(errorFrame(w.statusOfError(), w.header, errorOf(w.pending)))
	return w.err == nil
}

// statusOfError returns the status for an answer that is no stream.
func (w *frameWriter) statusOfError() int {
	if w.status < http.StatusBadRequest {
		return http.StatusBadGateway
	}
	return w.status
}

// errorOf returns the error in the body of a response.
func errorOf(body []byte) json.RawMessage {
	var wrapped struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &wrapped) == nil && len(wrapped.Error) > 0 && wrapped.Error[0] == '{' {
		return wrapped.Error
	}
	return marshal(map[string]any{"type": "server_error", "code": nil, "message": strings.ToValidUTF8(string(body), "?"), "param": nil})
}

// errorHeaders are the headers of an error that clients read in its frame.
var errorHeaders = []string{"Retry-After", "Retry-After-Ms", "X-Request-Id", "X-Should-Retry"}

// errorFrame returns the frame of an error, in the form that Codex reads: with the status, and the headers
// about limits.
func errorFrame(status int, h http.Header, cause []byte) []byte {
	headers := map[string]string{}
	for name, values := range h {
		if len(values) > 0 && (strings.HasPrefix(name, "X-Codex-") || strings.HasPrefix(name, "X-Ratelimit-")) {
			headers[strings.ToLower(name)] = values[0]
		}
	}
	for _, name := range errorHeaders {
		if v := h.Get(name); v != "" {
			headers[strings.ToLower(name)] = v
		}
	}
	return marshal(struct {
		Type    string            `json:"type"`
		Status  int               `json:"status"`
		Error   json.RawMessage   `json:"error"`
		Headers map[string]string `json:"headers,omitzero"`
	}{"error", status, cause, headers})
}

// responseEvent is an event about a whole response.
type responseEvent struct {
	Type     string `json:"type"`
	Number   int    `json:"sequence_number"`
	Response any    `json:"response"`
}

// warmUpFrame returns an event of a response that generates nothing.
func warmUpFrame(event, id, status string) []byte {
	return marshal(responseEvent{event, 0, map[string]any{
		"id": id, "object": "response", "status": status, "output": []any{},
		"usage": map[string]int{"input_tokens": 0, "output_tokens": 0, "total_tokens": 0},
	}})
}

// canceledFrame returns the last event of a response that the client has canceled.
func canceledFrame(id string) []byte {
	return marshal(responseEvent{"response.incomplete", 0, map[string]any{
		"id": id, "object": "response", "status": "cancelled", "output": []any{},
		"incomplete_details": map[string]string{"reason": "cancelled"},
	}})
}
