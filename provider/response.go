package provider

import (
	"net/http"
	"strconv"
)

// ResponseError is an error as the provider sent it: a response without success, or an error inside a stream.
// It is the cause of the *fault.Error that a model returns, and errors.AsType finds it there. Error names
// only the status, since a body may repeat a key.
type ResponseError struct {
	StatusCode int         // of the response; 200: the error came inside a stream
	Header     http.Header // of the response
	Body       []byte      // of the response, or the event; at most its first 64 KiB
}

// Error returns the status.
func (e *ResponseError) Error() string { return "HTTP " + strconv.Itoa(e.StatusCode) }
