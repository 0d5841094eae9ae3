package api

import (
	"bytes"
	"slices"
	"strings"
)

// Second makes a second answer into the rest of the first.
type Second struct {
	Rest
	Completion *Completion
	turns      Turns
	thoughts   string // that were shown behind the checkpoint at which it begins, and come once more
	read       bool   // some of it has been read

	Ended bool // the text of the second answer
	out   [][]byte
	Usage Usage // as far as it says; its request repeats the first one, and its output what it repeats
}

// billedTwice returns the tokens of the second answer that a whole one would not have cost: all, if it is of no use.
func (c *Second) billedTwice() int {
	if !c.found {
		return c.Usage.Input + c.Usage.Output
	}
	repeats := c.turns.repeats
	if c.finder.repeatsAll() {
		repeats = c.turns.used
	}
	return c.Usage.Input + repeats
}

// Frame is one frame of a stream.
type Frame struct {
	form Form
	Raw  []byte
	name []byte // of the event; nil: it has none
	Data []byte
}

// with returns the frame with other data.
func (f Frame) with(data []byte) []byte {
	switch f.form {
	case Array:
		return append([]byte(",\r\n"), data...)
	case AWSEvents:
		return AWSEvent(f.name, data)
	}
	i := bytes.Index(f.Raw, f.Data)
	if i < 0 { // the data of an event in several lines
		return append(append([]byte("data: "), data...), "\n\n"...)
	}
	return append(append(bytes.Clone(f.Raw[:i]), data...), f.Raw[i+len(f.Data):]...)
}

// add takes a frame of the second answer and returns what the client is sent for it.
func (c *Second) add(raw []byte) ([]byte, error) {
	f := Frame{form: c.Completion.form, Raw: raw}
	f.name, f.Data = Payload(f.form, raw)
	c.out, c.read = nil, true
	switch {
	case len(f.Data) > 0 && f.Data[0] == '{':
		if err := c.Completion.api.Join(c, f); err != nil {
			return nil, err
		}
	case c.found: // a terminator, or a comment
		c.out = append(c.out, raw)
	case len(f.Data) > 0:
		return nil, ErrNoSeam
	}
	for _, shown := range c.out {
		c.Completion.note(shown)
	}
	return bytes.Join(c.out, nil), nil
}

// Pass passes a frame on as it is.
func (c *Second) Pass(f Frame) { c.out = append(c.out, f.Raw) }

// Emit passes a frame on with other data.
func (c *Second) Emit(f Frame, o Object) { c.out = append(c.out, f.with(o.JSON())) }

// EmitEvent passes an event on that the second answer does not have.
func (c *Second) EmitEvent(name string, data []byte) {
	if c.Completion.form == AWSEvents {
		c.out = append(c.out, AWSEvent([]byte(name), data))
		return
	}
	c.out = append(c.out, EventFrame([]byte(name), data))
}

// EndText ends the text of the second answer as [Text.End] does, which may be done more than once.
func (c *Second) EndText(calls bool) (shown string, err error) {
	c.Ended = true
	return c.End(calls)
}

// BlockMap is where the blocks of a second answer belong in the first, by the numbers that their events have.
type BlockMap struct {
	Dropped []int // the second answer's blocks that are not shown, 1 for its first
	Second  int   // the second answer's block with the rest, 1 for its first; 0: it has not come
}

// Shift returns an event with the number that its block has in the first answer.
func (m *BlockMap) Shift(c *Second, o Object, key string) Object {
	return o.Replace(key, Numeral(Number(o.Get(key))-m.Second+c.Completion.Block))
}

// JoinStop ends a block. The end of the block of text is passed on unless it was shown.
func (m *BlockMap) JoinStop(c *Second, f Frame, o Object, key string, emitText func(*Second, string)) error {
	nth := Number(o.Get(key)) + 1
	if slices.Contains(m.Dropped, nth) {
		return nil
	}
	if nth == m.Second {
		shown, err := c.EndText(false)
		if err != nil {
			return err
		}
		if emitText(c, shown); c.Completion.Closed {
			return nil
		}
	}
	c.Emit(f, m.Shift(c, o, key))
	return nil
}

// Output returns the output tokens of the whole answer from those of the second: what the first had is
// estimated, or as it said itself.
func (c *Second) Output(second int) []byte {
	c.Usage.Output = second
	if c.finder.repeatsAll() {
		return Numeral(second)
	}
	return Numeral(c.turns.used + second)
}

// Input returns the input tokens of the first request from those of the second, unless the first answer has
// said them.
func (c *Second) Input(second int, stated []byte) []byte {
	c.Usage.Input = second
	if len(stated) > 0 {
		return stated
	}
	return Numeral(max(1, second-c.turns.used-Tokens(c.turns.Ask)))
}

// Total returns the usage of the whole answer from that of the second, in which the counts have these names; nil: it has
// none. stated is the input that the first answer has said.
func (c *Second) Total(second Object, in, out, total string, stated []byte) []byte {
	if second == nil {
		return nil
	}
	input, output := c.Input(Number(second.Get(in)), stated), c.Output(Number(second.Get(out)))
	thoughts := Number(second.Get("thoughtsTokenCount")) + c.turns.reasoned // which Gemini counts apart
	sum := Number(input) + Number(output) + thoughts
	return second.Replace(in, input).Replace(out, output).Replace("thoughtsTokenCount", Numeral(thoughts)).Replace(total, Numeral(sum)).JSON()
}

// AddTurns adds turns to the messages of a request, of which each has its content in blocks.
func AddTurns(request Object, messages, model, content string, t Turns, block func(string) []byte) Object {
	var said [][]byte
	for _, b := range t.Blocks {
		if b != "" {
			said = append(said, block(b))
		}
	}
	return request.Append(messages,
		Object{}.With("role", Quote(model)).With(content, List(said...)),
		Object{}.With("role", Quote("user")).With(content, List(block(t.Ask))))
}

// PlainBlock returns a text in the form of the APIs whose blocks have no type.
func PlainBlock(s string) []byte { return Object{}.With("text", Quote(s)).JSON() }

// Deduct returns a limit of output tokens for the second request: what the first has used is taken from it.
func Deduct(o Object, key string, t Turns) (Object, error) {
	limit := Number(o.Get(key))
	if limit <= 0 {
		return o, nil
	}
	left := limit - t.used + t.repeats
	if left < t.repeats+LeastRest {
		return nil, Obstacle("its limit of tokens is used up")
	}
	return o.Set(key, Numeral(left)), nil
}

// LeastRest is how many tokens a second answer must have left.
const LeastRest = 16

// StopFits reports whether one of the request's stop sequences may begin where the text broke off.
func StopFits(stops [][]byte, shown string) bool {
	for _, raw := range stops {
		stop := TextOf(raw)
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
	EndsInAnswer Obstacle = "its request ends with a turn of the model's"
	WantsTool    Obstacle = "its request asks for a tool call"
	WantsJSON    Obstacle = "its request asks for JSON or another form of output"
	WantsProbs   Obstacle = "its request asks for probabilities of tokens"
	WantsSeveral Obstacle = "its request asks for several answers"
	WantsSources Obstacle = "its request asks for citations"
	WantsMedia   Obstacle = "its request asks for more than text"
	WantsRest    Obstacle = "its request resumes an answer"
	StopsThere   Obstacle = "a stop sequence may begin where it broke off"
	ShowsTool    Obstacle = "a tool call was shown"
	ShowsSources Obstacle = "citations were shown"
	ShowsEnd     Obstacle = "its end was shown"
	ShowsOther   Obstacle = "more than text was shown"
	Unreadable   Obstacle = "what was shown cannot be read"
)

// StopsOf returns stop sequences from one text or several.
func StopsOf(stop []byte) [][]byte {
	if TextOf(stop) != "" {
		return [][]byte{stop}
	}
	return ElementsOf(stop)
}

// ExtendMessages adds turns with plain texts: the model's, and the user's if anything is asked.
func ExtendMessages(request Object, t Turns, limits []string) (Object, error) {
	var err error
	for _, key := range limits {
		if request, err = Deduct(request, key, t); err != nil {
			return nil, err
		}
	}
	request = request.Append("messages", Object{}.With("role", Quote("assistant")).With("content", Quote(strings.Join(t.Blocks, ""))))
	if t.Ask != "" {
		request = request.Append("messages", Object{}.With("role", Quote("user")).With("content", Quote(t.Ask)))
	}
	return request, nil
}

// CitesDocuments reports whether a document in a request is to be cited, as a path in its block says, or the result of
// a search.
func CitesDocuments(messages []byte, path ...string) bool {
	for _, message := range ElementsOf(messages) {
		for _, block := range ElementsOf(At(message, "content")) {
			if string(At(block, path...)) == "true" || At(block, "searchResult") != nil {
				return true
			}
		}
	}
	return false
}
