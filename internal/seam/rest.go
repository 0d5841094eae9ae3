package seam

import (
	"bytes"
	"strings"

	"github.com/ridethrough/ridethrough/internal/dialect"
)

// rest makes a second answer into the rest of the first.
type rest struct {
	Text
	answer *Answer
	turns  turns

	ended bool // the text of the second answer
	out   [][]byte
	usage usage
}

// usage is what a second answer has cost, as far as it says.
type usage struct {
	input  int // tokens of its request, which repeats the first one
	output int // its own tokens, with those that it repeats
}

// billedTwice returns the tokens of the second answer that a whole one would not have cost: all, if it is of no use.
func (c *rest) billedTwice() int {
	if !c.found {
		return c.usage.input + c.usage.output
	}
	return c.usage.input + c.turns.repeats
}

// frame is one frame of a stream.
type frame struct {
	form dialect.Form
	raw  []byte
	name []byte // of the event; nil: it has none
	data []byte
}

// with returns the frame with other data.
func (f frame) with(data []byte) []byte {
	switch f.form {
	case dialect.Array:
		return append([]byte(",\r\n"), data...)
	case dialect.AWSEvents:
		return dialect.AWSEvent(f.name, data)
	}
	i := bytes.Index(f.raw, f.data)
	if i < 0 { // the data of an event in several lines
		return append(append([]byte("data: "), data...), "\n\n"...)
	}
	return append(append(bytes.Clone(f.raw[:i]), data...), f.raw[i+len(f.data):]...)
}

// add takes a frame of the second answer and returns what the client is sent for it.
func (c *rest) add(raw []byte) ([]byte, error) {
	f := frame{form: c.answer.form, raw: raw}
	f.name, f.data = dialect.Payload(f.form, raw)
	c.out = nil
	switch {
	case len(f.data) > 0 && f.data[0] == '{':
		if err := c.answer.api.join(c, f); err != nil {
			return nil, err
		}
	case c.found: // a terminator, or a comment
		c.out = append(c.out, raw)
	case len(f.data) > 0:
		return nil, ErrNoSeam
	}
	for _, shown := range c.out {
		c.answer.note(shown)
	}
	return bytes.Join(c.out, nil), nil
}

// emit passes a frame on with other data.
func (c *rest) emit(f frame, o object) { c.out = append(c.out, f.with(o.bytes())) }

// emitEvent passes an event on that the second answer does not have.
func (c *rest) emitEvent(name string, data []byte) {
	if c.answer.form == dialect.AWSEvents {
		if _, invokes := c.answer.api.(*anthropic); invokes {
			name = "chunk"
		}
		c.out = append(c.out, dialect.AWSEvent([]byte(name), data))
		return
	}
	c.out = append(c.out, event(name, data))
}

// event returns a server-sent event.
func event(name string, data []byte) []byte {
	return append(append([]byte("event: "+name+"\ndata: "), data...), "\n\n"...)
}

// endText ends the text of the second answer as [Text.End] does, which may be done more than once.
func (c *rest) endText(calls bool) (shown string, err error) {
	c.ended = true
	return c.End(calls)
}

// endBlock is endText for a block with an event at its end, which is passed on unless it was shown.
func (c *rest) endBlock(f frame, end object, emitText func(*rest, string)) error {
	shown, err := c.endText(false)
	if err != nil {
		return err
	}
	emitText(c, shown)
	if !c.answer.closed {
		c.emit(f, end)
	}
	return nil
}

// output returns the output tokens of the whole answer from those of the second: what the first had is
// estimated, or as it said itself.
func (c *rest) output(second int) []byte {
	c.usage.output = second
	return numeral(c.turns.used + second)
}

// input returns the input tokens of the first request from those of the second, unless the first answer has
// said them.
func (c *rest) input(second int, stated []byte) []byte {
	c.usage.input = second
	if stated != nil {
		return stated
	}
	return numeral(max(1, second-c.turns.used-tokens(c.turns.ask)))
}

// deduct returns a limit of output tokens for the second request: what the first has used is taken from it.
func deduct(o object, key string, t turns) (object, error) {
	limit := number(o.get(key))
	if limit <= 0 {
		return o, nil
	}
	left := limit - t.used + t.repeats
	if left < t.repeats+leastRest {
		return nil, Refusal("its limit of tokens is used up")
	}
	return o.set(key, numeral(left)), nil
}

// leastRest is how many tokens a second answer must have left.
const leastRest = 16

// stopFits reports whether one of the request's stop sequences may begin where the text broke off.
func stopFits(stops [][]byte, shown string) bool {
	for _, raw := range stops {
		stop := text(raw)
		for n := range len(stop) {
			if strings.HasSuffix(shown, stop[:n+1]) {
				return true
			}
		}
	}
	return false
}

// Refusals that several APIs share.
const (
	endsInAnswer Refusal = "its request ends with a turn of the model's"
	wantsTool    Refusal = "its request asks for a tool call"
	wantsJSON    Refusal = "its request asks for JSON or another form of output"
	wantsProbs   Refusal = "its request asks for probabilities of tokens"
	wantsSeveral Refusal = "its request asks for several answers"
	wantsSources Refusal = "its request asks for citations"
	wantsMedia   Refusal = "its request asks for more than text"
	stopsThere   Refusal = "a stop sequence may begin where it broke off"
	hasTool      Refusal = "a tool call was shown"
	hasSources   Refusal = "citations were shown"
	hasEnded     Refusal = "its end was shown"
	hasOther     Refusal = "more than text was shown"
	unreadable   Refusal = "what was shown cannot be read"
)
