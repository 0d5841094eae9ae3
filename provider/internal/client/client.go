// Package client sends a model's request to its provider and reads the response: one POST, and frames or one
// body of JSON. The packages below provider use it in place of the vendors' SDKs. It never sends again.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"

	"github.com/ridethrough/ridethrough/internal/dialect"
	"github.com/ridethrough/ridethrough/internal/sse"
	"github.com/ridethrough/ridethrough/provider"
)

// Post sends a request as JSON and returns the response, whose body the caller closes. A response without
// success is a *provider.ResponseError. The http.Client comes from [provider.Observe].
func Post(ctx context.Context, c *http.Client, url string, header http.Header, request any) (*http.Response, error) {
	var body bytes.Buffer
	e := json.NewEncoder(&body)
	e.SetEscapeHTML(false)
	if err := e.Encode(request); err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, &body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "ridethrough")
	maps.Copy(req.Header, header)
	resp, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= http.StatusOK && resp.StatusCode < http.StatusMultipleChoices {
		return resp, nil
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, errorBound)) // what came of it is better than nothing
	return nil, &provider.ResponseError{StatusCode: resp.StatusCode, Header: resp.Header, Body: text}
}

// The limits on a response, in bytes.
const (
	errorBound = 64 << 10 // of one without success: what package classify reads
	bound      = 64 << 20 // of a frame, or of a whole body
)

// errTooLarge means that a response is larger than any answer.
var errTooLarge = errors.New("the answer is too large")

// Frames returns the frames of a stream. A frame is valid until the next one is asked for. The last one may
// lack its end, which some servers omit: it is whole if its JSON is.
func Frames(body io.Reader, form dialect.Form) iter.Seq2[[]byte, error] {
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
	if cap(stream)-len(stream) < least {
		stream = append(make([]byte, 0, max(2*len(stream), 2*least)), stream...)
	}
	n, err := body.Read(stream[len(stream):cap(stream)])
	return stream[:len(stream)+n], err
}

// Event returns the name and the data of an event, without the space around it.
func Event(frame []byte) (name string, data []byte) {
	n, data := sse.Parse(frame)
	return string(n), bytes.TrimSpace(data)
}

// Unmarshal decodes JSON. A member of another type than the API documents is left out, and the rest is
// decoded: of the many servers of one API each has its own idea of some.
func Unmarshal(text []byte, into any) error {
	err := json.Unmarshal(text, into)
	if _, other := errors.AsType[*json.UnmarshalTypeError](err); other {
		return nil
	}
	return err
}

// Decode reads a whole body as JSON, as Unmarshal does.
func Decode(body io.Reader, into any) error {
	text, err := ReadAll(body)
	if err != nil {
		return err
	}
	return Unmarshal(text, into)
}

// ReadAll reads a whole body.
func ReadAll(body io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(body, bound+1))
	if err == nil && len(text) > bound {
		err = errTooLarge
	}
	return text, err
}
