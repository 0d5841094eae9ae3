package transport

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/api/ollama"
	"github.com/ridethrough/ridethrough/internal/api/openai"
	"github.com/ridethrough/ridethrough/internal/api/registry"
)

// rejection is the cause of a fault that came as a response. It keeps the response for the caller, in case
// there is no other try. Package retry closes it before a wait.
type rejection struct {
	status string
	resp   *http.Response // nil: closed
	cause  error          // the fault's cause without it; nil: none
}

// reject adds a response to the fault. What is left of its body is read as body.
func reject(f *fault.Error, resp *http.Response, body io.ReadCloser) error {
	resp.Body = body
	f.Err = &rejection{resp.Status, resp, f.Err}
	return f
}

// Error returns the text of the cause, or the status.
func (r *rejection) Error() string {
	if r.cause != nil {
		return r.cause.Error()
	}
	return r.status
}

// Unwrap returns the cause.
func (r *rejection) Unwrap() error { return r.cause }

// Close closes the response.
func (r *rejection) Close() error {
	if r.resp == nil {
		return nil
	}
	body := r.resp.Body
	r.resp = nil
	return body.Close()
}

// setErrorStatus replaces the status 200 of an error with the status of its fault. SDKs look only at the
// status: they would return it as an answer without text.
func setErrorStatus(resp *http.Response, k fault.Kind) {
	resp.StatusCode = http.StatusBadGateway
	switch k {
	case fault.RateLimited, fault.Quota:
		resp.StatusCode = http.StatusTooManyRequests
	case fault.Overloaded:
		resp.StatusCode = http.StatusServiceUnavailable
	case fault.UpstreamTimeout, fault.Timeout:
		resp.StatusCode = http.StatusGatewayTimeout
	case fault.Auth:
		resp.StatusCode = http.StatusUnauthorized
	case fault.Refused:
		resp.StatusCode = http.StatusForbidden
	case fault.TooLong:
		resp.StatusCode = http.StatusRequestEntityTooLarge
	case fault.Invalid:
		resp.StatusCode = http.StatusBadRequest
	}
	resp.Status = strconv.Itoa(resp.StatusCode) + " " + http.StatusText(resp.StatusCode)
}

// rejected returns the response of a rejection for the caller. One of Ollama without a body gets one, since
// its client takes an empty body for an answer, whatever the status; an empty body of another API stays so.
func (c *call) rejected(r *rejection, f *fault.Error) *http.Response {
	if h := r.resp.Header; !c.Relays && h.Get(shouldRetry) == "" && c.endsRetries(r.resp.StatusCode, f) {
		h.Set(shouldRetry, "false")
	}
	if f.Why != "" && c.dialect != nil && !c.Relays {
		_ = r.resp.Body.Close()
		if r.resp.StatusCode == http.StatusOK {
			setErrorStatus(r.resp, f.Kind)
		}
		r.resp.Header.Del("Content-Encoding")
		setBody(r.resp, c.dialect.ErrorBody(f, f.Error()))
	}
	if a, ok := r.resp.Body.(*ahead); ok && c.dialect == ollama.API() && len(a.buf) == 0 && a.err == io.EOF {
		_ = a.Close()
		setBody(r.resp, c.dialect.ErrorBody(f, f.Error()))
	}
	return r.resp
}

// endsRetries reports whether the last response is one on which the caller would start over what has been decided here.
// Any other is the caller's to decide: it may renew its key where that is refused, and send the request with that.
func (t *Transport) endsRetries(status int, f *fault.Error) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return t.OwnKey || f.Kind != fault.Auth && f.Kind != fault.Refused
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests, http.StatusOK: // 200: with an error in its stream
		return true
	}
	return status >= http.StatusInternalServerError || f.Kind == fault.Quota
}

// unanswered returns a response where none has come: a 503 with an error in the form of the path's API.
func (c *call) unanswered(f *fault.Error) *http.Response {
	d := cmp.Or(c.dialect, registry.ErrorsOf(c.req.URL.Path, c.req.Header), openai.Chat())
	text := fmt.Sprintf("no answer from %s: %v", c.req.URL.Host, f)
	if c.sent > 1 {
		text = fmt.Sprintf("no answer from %s in %d tries: %v", c.req.URL.Host, c.sent, f)
	}
	resp := &http.Response{
		Status:     "503 " + http.StatusText(http.StatusServiceUnavailable),
		StatusCode: http.StatusServiceUnavailable,
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:  http.Header{shouldRetry: {"false"}},
		Request: c.req,
	}
	body := d.ErrorBody(f, text)
	d.SetErrorHeader(resp.Header, body)
	setBody(resp, body)
	return resp
}

// setBody replaces the body of a response with JSON.
func setBody(resp *http.Response, body []byte) {
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	resp.Header.Set("Content-Type", "application/json")
	resp.Header.Set("Content-Length", strconv.Itoa(len(body)))
}
