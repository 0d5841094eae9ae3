package responses

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"

	"github.com/coder/websocket"

	"github.com/ridethrough/ridethrough/internal/api/openai"
)

// request is a response.create, or a response.cancel.
type request struct {
	fields   map[string]json.RawMessage // of the body
	items    []json.RawMessage          // of its input
	previous string                     // the response that it continues; "": none
	warmsUp  bool                       // it only prepares the next request
	cancels  bool                       // it ends the request in progress
	held     int64                      // of the budget
	problem  *problem                   // with which it is answered in its turn; nil: none so far
}

// problem is an error that the gateway answers with.
type problem struct {
	status        int
	code, message string
	stream        json.RawMessage // the lane that it is for; nil: the one on which requests are answered
	refusal       []byte          // the frame of an event that is no request; nil: it is an error
}

func problemf(status int, code, format string, args ...any) *problem {
	return &problem{status: status, code: code, message: "ridethrough: " + fmt.Sprintf(format, args...)}
}

// frame returns the problem as a frame. Without a status Codex would wait for more.
func (p *problem) frame() []byte {
	if p.refusal != nil {
		return p.refusal
	}
	return openai.SocketError(p.status, nil, openai.Marshal(map[string]any{
		"type": "invalid_request_error", "code": p.code, "message": p.message, "param": nil,
	}), p.stream)
}

// endsAnswer reports whether clients take the frame for the end of the answer in progress.
func (p *problem) endsAnswer() bool { return p.refusal == nil && p.stream == nil }

// parse reads a frame.
func parse(kind websocket.MessageType, frame []byte) (request, *problem) {
	var req request
	if kind != websocket.MessageText || json.Unmarshal(frame, &req.fields) != nil {
		return req, problemf(http.StatusBadRequest, "invalid_request", "a frame must be a JSON object")
	}
	switch name := text(req.fields["type"]); name {
	case "response.create":
	case "response.cancel":
		req.cancels = true
		return req, nil
	default:
		p := problemf(http.StatusBadRequest, "unknown_event", "the event %.64q is not supported here", name)
		p.refusal, p.stream = openai.RefusalFrame(req.fields, p.message), req.lane()
		return req, p
	}
	if stream := req.lane(); stream != nil {
		p := problemf(http.StatusBadRequest, "unsupported_parameter", "one response at a time runs on this socket, without a stream_id")
		p.stream = stream
		return req, p
	}
	req.previous = text(req.fields["previous_response_id"])
	req.warmsUp = string(req.fields["generate"]) == "false"
	req.items = inputItems(req.fields["input"])
	return req, nil
}

// lane returns the lane that a frame names; nil: none.
func (req *request) lane() json.RawMessage {
	if stream := req.fields["stream_id"]; string(stream) != "null" {
		return stream
	}
	return nil
}

// text returns a JSON string's value; "": it is not one.
func text(raw json.RawMessage) (s string) {
	_ = json.Unmarshal(raw, &s) // of another type: none
	return s
}

// inputItems returns the items of an input. A string is short for one message.
func inputItems(input json.RawMessage) (items []json.RawMessage) {
	if json.Unmarshal(input, &items) == nil {
		return items
	}
	if prompt := text(input); prompt != "" {
		return []json.RawMessage{openai.Marshal(map[string]string{"role": "user", "content": prompt})}
	}
	return nil
}

// traceHeaders are the headers of a request that Codex has in its client_metadata, since a frame has no headers.
var traceHeaders = map[string]string{"ws_request_header_traceparent": "Traceparent", "ws_request_header_tracestate": "Tracestate"}

// traceBound bounds such a header; the W3C's limit of a tracestate is 512 letters.
const traceBound = 512

// setTrace sets the headers about the client's span. A request without its own has those of the handshake.
func (req *request) setTrace(h http.Header) {
	var metadata map[string]json.RawMessage
	if json.Unmarshal(req.fields["client_metadata"], &metadata) != nil || text(metadata["ws_request_header_traceparent"]) == "" {
		return
	}
	for name, header := range traceHeaders {
		delete(h, header)
		if v := text(metadata[name]); v != "" && len(v) <= traceBound && !strings.ContainsFunc(v, notPrintable) {
			h.Set(header, v)
		}
	}
}

// notPrintable reports whether a letter may not be in a header.
func notPrintable(r rune) bool { return r < ' ' || r > '~' }

// body returns the body of the POST: all items, since the provider keeps none for us.
func (req *request) body(c *chain) []byte {
	fields := maps.Clone(req.fields)
	for _, name := range []string{"type", "generate", "background", "stream_id"} {
		delete(fields, name)
	}
	if c.own {
		delete(fields, "previous_response_id")
		fields["input"] = openai.Marshal(c.items)
	}
	fields["stream"] = json.RawMessage("true")
	return openai.Marshal(fields)
}

// setBody sets a request's body.
func setBody(r *http.Request, body []byte) {
	r.ContentLength = int64(len(body))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	r.Body, _ = r.GetBody()
}

// newID returns the id of a response that no provider has made.
func newID() string { return "resp_" + rand.Text() }
