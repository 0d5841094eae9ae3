package openai

import (
	"bufio"
	"bytes"
	"net/http"

	"github.com/ridethrough/ridethrough/internal/dialect"
	"github.com/ridethrough/ridethrough/provider"
	"github.com/ridethrough/ridethrough/provider/internal/client"
)

// answerReader reads the answer of one API.
type answerReader interface {
	event(data []byte) (more bool, err error) // the next event of a stream
	end(done bool) error                      // the stream ended without an error; done: with its terminator
	unary(body []byte) error                  // the whole answer in one body
}

// read reads a response into an answer: a stream, or one body, requested or from a server that cannot
// stream. The first byte decides, since servers get the content type wrong.
func read(resp *http.Response, d *dialect.Dialect, a answerReader, c *provider.Call) error {
	defer resp.Body.Close()
	body := bufio.NewReader(resp.Body)
	if firstByte(body) == '{' {
		text, err := client.ReadAll(body)
		if err != nil {
			return err
		}
		return a.unary(text)
	}
	for frame, err := range client.Frames(body, dialect.Events) {
		if err != nil {
			return err
		}
		if d.FrameKind(dialect.Events, frame) == dialect.Failure {
			return c.ErrorEvent(frame, nil)
		}
		_, data := client.Event(frame)
		if bytes.HasPrefix(data, []byte("[DONE]")) {
			return a.end(true)
		}
		if len(data) == 0 {
			continue
		}
		if more, err := a.event(data); !more || err != nil {
			return err
		}
	}
	return a.end(false)
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
