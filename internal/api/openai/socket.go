package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"strings"
)

// The frames of the Responses API's WebSocket. A frame is the data of an event, but for errors.

// SocketEvent is what a connection has to know of an event.
type SocketEvent struct {
	Frame      []byte          // to send
	ResponseID string          // "": it names none
	Item       json.RawMessage // that is whole; nil: none
	Ends       bool            // it is the last one of its response
	Completed  bool            // and the response is whole
}

// ReadSocketEvent reads an event's name and data. Deltas, which are most, are not read.
func ReadSocketEvent(name string, data []byte) SocketEvent {
	e := SocketEvent{Frame: data}
	switch name {
	case "", "response.created", itemDone, "response.completed", "response.failed", "response.incomplete", "error":
	default:
		return e
	}
	var event struct {
		Type     string              `json:"type"`
		Status   int                 `json:"status"`
		Response struct{ ID string } `json:"response"`
		Item     json.RawMessage     `json:"item"`
		Error    json.RawMessage     `json:"error"`
	}
	if json.Unmarshal(data, &event) != nil {
		return e
	}
	e.ResponseID = event.Response.ID
	switch event.Type {
	case itemDone:
		e.Item = event.Item
	case "response.completed":
		e.Ends, e.Completed = true, true
	case "response.failed", "response.incomplete":
		e.Ends = true
	case "error":
		e.Ends = true
		if len(event.Error) == 0 {
			event.Error = data
		}
		e.Frame = SocketError(cmp.Or(event.Status, statusOfCode(event.Error)), nil, event.Error, nil)
	}
	return e
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

// ErrorIn returns the error in the body of a response.
func ErrorIn(body []byte) json.RawMessage {
	var wrapped struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &wrapped) == nil && len(wrapped.Error) > 0 && wrapped.Error[0] == '{' {
		return wrapped.Error
	}
	return Marshal(map[string]any{"type": "server_error", "code": nil, "message": strings.ToValidUTF8(string(body), "?"), "param": nil})
}

// errorHeaders are the headers of an error that clients read in its frame.
var errorHeaders = []string{"Retry-After", "Retry-After-Ms", "X-Request-Id", "X-Should-Retry"}

// SocketError returns the frame of an error, in the form that Codex reads: with the status, and the headers
// about limits. stream is the lane that it is for, as the client has written it; nil: the one without a name, whose
// response ends with it.
func SocketError(status int, h http.Header, cause, stream []byte) []byte {
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
	return Marshal(struct {
		Type    string            `json:"type"`
		Status  int               `json:"status"`
		Error   json.RawMessage   `json:"error"`
		Headers map[string]string `json:"headers,omitzero"`
		Stream  json.RawMessage   `json:"stream_id,omitempty"`
	}{"error", status, cause, headers, stream})
}

// RefusalFrame returns the event that refuses a client's event about a response in progress and returns its input,
// which the client may send in a request; nil for any other event. An error would end the response.
func RefusalFrame(event map[string]json.RawMessage, message string) []byte {
	refusal, cause := map[string]any{"sequence_number": 0}, map[string]string{"message": message}
	switch string(event["type"]) {
	case `"response.steer"`:
		cause["type"], cause["code"] = "invalid_request_error", "steering_not_supported"
		refusal["type"] = "response.steer.failed"
		refusal["steer"] = map[string]any{"input": event["input"], "previous_response_id": event["previous_response_id"]}
	case `"response.inject"`:
		cause["code"] = "response_not_found"
		refusal["type"], refusal["input"], refusal["response_id"] = "response.inject.failed", event["input"], event["response_id"]
	default:
		return nil
	}
	refusal["error"] = cause
	if stream := event["stream_id"]; len(stream) > 0 {
		refusal["stream_id"] = stream
	}
	return Marshal(refusal)
}

// responseEvent is an event about a whole response.
type responseEvent struct {
	Type     string `json:"type"`
	Number   int    `json:"sequence_number"`
	Response any    `json:"response"`
}

// WarmUpFrame returns an event of a response that generates nothing.
func WarmUpFrame(event, id, status string) []byte {
	return Marshal(responseEvent{event, 0, map[string]any{
		"id": id, "object": "response", "status": status, "output": []any{},
		"usage": map[string]int{"input_tokens": 0, "output_tokens": 0, "total_tokens": 0},
	}})
}

// CanceledFrame returns the last event of a response that the client has canceled.
func CanceledFrame(id string) []byte {
	return Marshal(responseEvent{"response.incomplete", 0, map[string]any{
		"id": id, "object": "response", "status": "cancelled", "output": []any{},
		"incomplete_details": map[string]string{"reason": "cancelled"},
	}})
}

// Marshal encodes a value that can be encoded.
func Marshal(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
