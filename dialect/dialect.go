// Package dialect knows what each provider's API looks like on the wire: which
// request asks for an answer, where in a stream its content begins, what an
// error and a proper end look like, and which bytes keep a waiting client's
// connection alive without being mistaken for an answer.
//
// It reads and makes bytes and does no I/O. Packages transport and gateway
// bring the connections and the clock. What an error means is package fault's
// to say.
package dialect

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/ridethrough/ridethrough/fault"
)

// Dialect is one API's wire form. It is immutable; [Anthropic], [OpenAIChat]
// and [Of] give it.
type Dialect struct {
	name      string
	path      string // what the path of a request for an answer ends with
	sign      func(frame []byte) Sign
	ping      func(state string) string
	heartbeat func(Client) string
	errors    errorForm
	aborts    bool // after an error in a stream the connection is cut, not ended
}

// all lists the dialects for Of.
var all = []*Dialect{&anthropic, &openAIChat}

// Of gives the dialect in which a request asks for an answer; nil: it asks for
// something else. Only the end of the path counts, because relays put their
// own prefix before it.
func Of(method, path string) *Dialect {
	if method != http.MethodPost {
		return nil
	}
	for _, d := range all {
		if strings.HasSuffix(path, d.path) {
			return d
		}
	}
	return nil
}

// Name gives the dialect's name: "anthropic", "openai-chat".
func (d *Dialect) Name() string { return d.name }

// Sign tells what one frame of a stream means. The frame is as [Cut] cuts it.
func (d *Dialect) Sign(frame []byte) Sign { return d.sign(frame) }

// Client is what the kind of keepalive depends on.
type Client struct {
	Agent string // the User-Agent header
	Model string // the model that the request asks for
}

// Ping gives the frame for every 10 to 15 seconds of a hold. Where the dialect
// allows free text in it, it carries the state for people who look; state must
// be one line, "" gives a fixed word.
func (d *Dialect) Ping(state string) []byte { return []byte(d.ping(state)) }

// Heartbeat gives the frame for every 60 seconds of a hold, for clients whose
// idle timer counts events only; nil: none that this client would bear.
func (d *Dialect) Heartbeat(c Client) []byte {
	if beat := d.heartbeat(c); beat != "" {
		return []byte(beat)
	}
	return nil
}

// ErrorEvent gives the frame that reports a fault inside a stream that has
// begun, in the provider's own form with our words.
func (d *Dialect) ErrorEvent(f *fault.Error, words string) []byte {
	return []byte(d.errors.before + string(d.ErrorBody(f, words)) + "\n\n")
}

// ErrorBody gives the JSON body that reports a fault in place of an answer.
func (d *Dialect) ErrorBody(f *fault.Error, words string) []byte {
	return d.errors.body(d.errors.types[f.Kind], words)
}

// Aborts tells how a stream ends after its ErrorEvent: true, the connection is
// cut, because a clean end would be taken for a whole answer; false, it ends.
func (d *Dialect) Aborts() bool { return d.aborts }

// Whole tells what the body of an answer that is not streamed is: Content for
// an answer, Failure for an error or a page in its place, Opening for JSON
// that is not whole.
func (d *Dialect) Whole(body []byte) Sign {
	body = bytes.TrimLeft(body, " \t\r\n")
	if len(body) == 0 {
		return Opening
	}
	failed, whole := survey(body)
	switch {
	case body[0] != '{' || failed:
		return Failure
	case !whole:
		return Opening
	}
	return Content
}

// errorForm is how a dialect writes an error.
type errorForm struct {
	before string // what stands before the JSON in a stream
	body   func(kind, words string) []byte
	types  map[fault.Kind]string // the provider's word for each kind; the other kinds take Unknown's
}
