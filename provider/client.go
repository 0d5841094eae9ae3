package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/api"
)

// post sends a question as JSON and returns the response, whose body the caller closes. A response without success is a
// *ResponseError. Headers without a value are not sent. The http.Client comes from [Observe].
func post(ctx context.Context, c *http.Client, q question) (*http.Response, error) {
	if err := CheckURL(q.base); err != nil {
		return nil, err
	}
	to, err := url.JoinPath(q.base, q.path...)
	if err != nil {
		return nil, err
	}
	var body bytes.Buffer
	e := json.NewEncoder(&body)
	e.SetEscapeHTML(false)
	if err := e.Encode(q.body); err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, &body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "ridethrough")
	for name, values := range q.header {
		if values[0] != "" {
			req.Header[name] = values
		}
	}
	resp, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= http.StatusOK && resp.StatusCode < http.StatusMultipleChoices {
		return resp, nil
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, bodyBound)) // what came of it is better than nothing
	return nil, &ResponseError{StatusCode: resp.StatusCode, Header: resp.Header, Body: text}
}

// bearer returns the value of the header Authorization with a key; "": none.
func bearer(key string) string {
	if key == "" {
		return ""
	}
	return "Bearer " + key
}

// bound is the limit on a frame, or on a whole body, in bytes.
const bound = 64 << 20

// errTooLarge means that a response is larger than any answer.
var errTooLarge = errors.New("the answer is too large")

// frames returns the frames of a stream. A frame is valid until the next one is asked for. The last one may
// lack its end, which some servers omit: it is whole if its JSON is.
func frames(body io.Reader, form api.Form) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var stream []byte
		var err error
		for from := 0; err == nil; from = len(stream) {
			stream, err = readMore(body, stream)
			for n := form.FrameLen(stream, from); n > 0; n = form.FrameLen(stream, 0) {
				if !yield(stream[:n], nil) {
					return
				}
				stream = stream[n:]
			}
		}
		switch {
		case err != io.EOF:
			yield(nil, err)
		case len(bytes.TrimSpace(stream)) > 0:
			yield(stream, nil)
		}
	}
}

// readMore appends what comes next.
func readMore(body io.Reader, stream []byte) ([]byte, error) {
	const least = 4 << 10
	if len(stream) > bound {
		return stream, errTooLarge
	}
	stream = slices.Grow(stream, least)
	n, err := body.Read(stream[len(stream):cap(stream)])
	return stream[:len(stream)+n], err
}

// readAll reads a whole body.
func readAll(body io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(body, bound+1))
	if err == nil && len(text) > bound {
		err = errTooLarge
	}
	return text, err
}

// CheckURL returns an error if an API cannot be reached at a base URL, for ask to return before it passes
// the URL to a client. "" means the vendor's own and is valid.
func CheckURL(base string) error {
	if base == "" {
		return nil
	}
	u, err := url.Parse(base)
	if err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" {
		return nil
	}
	return &fault.Error{
		Kind: fault.Invalid, Rule: "provider/address", Err: err,
		Message: "the base URL must begin with http:// or https:// and contain a host",
	}
}

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
