package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
)

// answerReader reads the answer of one API.
type answerReader[Event, Whole any] interface {
	event(Event) (more bool, err error) // the next event of a stream
	end(done bool) error                // the stream ended without an error; done: with its terminator
	unary(Whole) error                  // the whole answer in one body
}

// undecoded returns the request options for an undecoded response, which read decodes.
func undecoded(r llm.Request, resp **http.Response) []option.RequestOption {
	options := []option.RequestOption{option.WithResponseBodyInto(resp)}
	if !r.NoStream {
		options = append(options, option.WithJSONSet("stream", true))
	}
	return options
}

// read reads a response into an answer: a stream, or one body, requested or from a server that cannot
// stream. The first byte decides, since servers get the content type wrong.
func read[Event, Whole any](resp *http.Response, a answerReader[Event, Whole], c *provider.Call) error {
	defer resp.Body.Close()
	body := bufio.NewReader(resp.Body)
	if firstByte(body) == '{' {
		return readWhole(body, a)
	}
	w := &strictDecoder{Decoder: ssestream.NewDecoder(withFinalBlankLine(resp, body))}
	events := ssestream.NewStream[Event](w, nil)
	defer events.Close()
	for events.Next() {
		if more, err := a.event(events.Current()); err != nil {
			return eventFault(c, err)
		} else if !more {
			return nil
		}
	}
	if err := events.Err(); err != nil {
		return eventFault(c, err)
	}
	return a.end(w.done)
}

// eventFault returns the fault of an error event, and any other error as it is.
func eventFault(c *provider.Call, err error) error {
	if e, ok := errors.AsType[*ssestream.StreamError](err); ok {
		return c.ErrorEvent(e.Event.Data, err)
	}
	return err
}

// readWhole reads an unstreamed answer.
func readWhole[Event, Whole any](body io.Reader, a answerReader[Event, Whole]) error {
	text, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	var w Whole
	if err := json.Unmarshal(text, &w); err != nil {
		return err
	}
	return a.unary(w)
}

// firstByte returns the first byte that is not white space, which servers send as keepalive, without
// consuming it; 0: there is none.
func firstByte(body *bufio.Reader) byte {
	for {
		b, err := body.ReadByte()
		switch {
		case err != nil:
			return 0
		case b != ' ' && b != '\t' && b != '\r' && b != '\n':
			_ = body.UnreadByte() // it cannot fail after a read
			return b
		}
	}
}

// withFinalBlankLine appends a blank line to a response: without one, which some servers omit, the SDK
// drops the last event.
func withFinalBlankLine(resp *http.Response, body io.Reader) *http.Response {
	r := *resp
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(body, strings.NewReader("\n\n")), resp.Body}
	return &r
}

// strictDecoder is the SDK's decoder, and reports what the SDK hides: the terminator, and errors that are
// marked only by their event's name.
type strictDecoder struct {
	ssestream.Decoder
	event ssestream.Event
	done  bool
	err   error
}

// Next reads the next event.
func (w *strictDecoder) Next() bool {
	if !w.Decoder.Next() {
		return false
	}
	w.event = w.Decoder.Event()
	if w.event.Type == "error" {
		w.err = streamError(w.event)
		return false
	}
	w.done = bytes.HasPrefix(w.event.Data, []byte("[DONE]"))
	if at := bytes.Index(w.event.Data, []byte(`"error":null`)); at >= 0 && w.event.Type == "" {
		w.event.Data[at+1] = '-' // null is not an error, but the SDK takes it for one
	}
	return true
}

// Event returns the event.
func (w *strictDecoder) Event() ssestream.Event { return w.event }

// Err returns the error that ended the stream.
func (w *strictDecoder) Err() error {
	if w.err != nil {
		return w.err
	}
	return w.Decoder.Err()
}

// streamError returns an error event as the SDK's error.
func streamError(e ssestream.Event) *ssestream.StreamError {
	return &ssestream.StreamError{Message: "received error while streaming: " + strings.TrimSpace(string(e.Data)), Event: e}
}
