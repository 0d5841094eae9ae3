package gateway

import (
	"bytes"
	"io"
	"net/http"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/dialect"
	"github.com/ridethrough/ridethrough/internal/seam"
	"github.com/ridethrough/ridethrough/internal/spool"
	"github.com/ridethrough/ridethrough/transport"
)

// continuation continues the text of one answer by another request.
type continuation struct {
	*seam.Answer
	request *spool.Body // of the answer; nil: no other request has been made
}

// followText begins to follow an answer whose text may be continued.
func (c *call) followText(f dialect.Form) {
	mode := c.shared.at.CompleteFor(c.shared.at.model)
	if mode != CompleteText && mode != CompletePrefill {
		return
	}
	if a := seam.NewAnswer(c.dialect, f, seam.Options{Prefill: mode == CompletePrefill}); a != nil {
		c.text = &continuation{Answer: a}
		c.prelude.Watch()
	}
}

// continuing reports whether the answer that is sent continues another one's text.
func (c *call) continuing() bool { return c.text != nil && c.text.request != nil }

// continues replaces the call's body by one that asks for the rest of the text that has broken off; false: that
// would not be sound.
func (c *call) continues() bool {
	if c.text == nil || !c.prelude.Follows() {
		return false
	}
	c.meaning() // of the request that the client has sent
	if c.continuing() {
		c.body.Release()
		c.body, c.text.request = c.text.request, nil
	}
	var request bytes.Buffer
	if !c.eachPart(func(part []byte) (more bool) { request.Write(part); return true }) {
		return false
	}
	text, err := c.text.Continue(request.Bytes())
	if err != nil {
		return false
	}
	body, err := c.gateway.spool.Read(io.NopCloser(bytes.NewReader(text)), int64(len(text)), int64(len(text)))
	if err != nil {
		return false // no room
	}
	c.text.request, c.body = c.body, body
	return true
}

// errUnjoined is the end of an answer whose text another one did not continue.
var errUnjoined = &fault.Error{
	Kind: fault.Truncated, Status: http.StatusOK, Rule: "gateway/unjoined", Err: errLocal,
	Message: "the answer broke off, and what the model wrote then does not continue it for certain",
}

// restOf returns what the client is sent of the next part of an answer that continues another one's text, or at its
// end.
func (c *call) restOf(part []byte, end error, body any) (send []byte, err error) {
	if f := body.(transport.Watched).Failure(); f != nil {
		return nil, f
	}
	if len(part) > 0 {
		send, err = c.text.Add(part)
	} else if end == io.EOF {
		send, err = c.text.End()
	}
	if err != nil {
		c.again = maxAgain // another one would not be better
		c.emit(Event{Completed: Completed{Again: maxAgain, Discarded: c.billedTwice(), Text: true, Unjoined: true}})
		return nil, errUnjoined
	}
	return send, nil
}

// releaseText frees the request of an answer that was continued.
func (c *call) releaseText() {
	if c.continuing() {
		c.text.request.Release()
	}
}
