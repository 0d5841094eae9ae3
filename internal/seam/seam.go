// Package seam continues an answer that broke off in the middle of its text. A second request has the text
// that was shown as the model's turn, and asks the model to repeat the end of it and to go on. Where the
// second answer begins with that end, what follows it is the rest, byte by byte: the seam. Where it does not,
// nothing of it is shown.
//
// An [Answer] follows the first answer. [Answer.Continue] returns the second request, and [Answer.Add] makes
// the second answer into a part of the first: with its ids, its blocks and its usage. It refuses what cannot
// be joined without a doubt, such as JSON, citations or an answer with a tool call.
//
// It reads and makes bytes and does no I/O. Package gateway sends the second request.
//
// It has several files because each API has its own.
package seam

import (
	"bytes"
	"errors"
	"slices"

	"github.com/ridethrough/ridethrough/internal/dialect"
)

// MaxContinuations is how often one answer may be continued.
const MaxContinuations = 2

// maxText bounds the text of an answer that is continued, in bytes.
const maxText = 1 << 20

// ErrNoSeam is that a second answer does not go on where the first broke off, so far as can be told.
var ErrNoSeam = errors.New("the second answer does not repeat the end of the first")

// A Refusal is why an answer may not be continued.
type Refusal string

// Error returns the reason.
func (r Refusal) Error() string { return "it cannot be continued: " + string(r) }

// Answer follows an answer as its client sees it, and continues it. It is for one goroutine.
type Answer struct {
	api         api
	form        dialect.Form
	options     Options
	blocks      [][]byte        // the text that was shown, in the blocks that the API divides it into
	size        int             // of all blocks
	closed      bool            // the last block is whole
	obstacle    Refusal         // what was shown that forbids to continue; "": nothing
	stated      int             // output tokens so far, if the answer states them
	rest        *rest           // that is or was read; nil: it was not continued
	number      int             // the largest number of an event, where they are numbered
	repeats     dialect.Repeats // frames that were shown
	repeatsText bool            // they have text
	partial     []byte          // the beginning of a frame that was shown, or of one of the rest
	continued   int
	billed      int // the tokens of earlier continuations that were billed twice
}

// Options are how an answer is continued.
type Options struct {
	// Prefill is for servers of one's own that go on with the model's turn that a request ends with. Nothing
	// is asked and repeated then. Only Chat Completions (as vLLM's continue_final_message) and Ollama have
	// it, and the model's template must support it.
	Prefill bool
}

// api is what differs between the APIs. It has the state of one answer.
type api interface {
	// check returns why a request whose answer broke off behind a text may not be continued; "": it may.
	check(request object, shown string) Refusal
	// extend returns the request with what was said and what is asked. It returns a Refusal where the
	// request's limit leaves no room.
	extend(request object, t turns) (object, error)
	// watch notes what a frame of the answer shows.
	watch(a *Answer, data []byte)
	// join passes a frame of the second answer on, as one of the first.
	join(c *rest, f frame) error
}

// NewAnswer returns an Answer for an API and the form of its stream; nil: such an answer is never continued.
func NewAnswer(d *dialect.Dialect, f dialect.Form, o Options) *Answer {
	if f == dialect.JSON {
		return nil
	}
	a := &Answer{form: f, options: o}
	switch d.Name() {
	case "anthropic", "anthropic-vertex", "bedrock-invoke":
		a.api = new(anthropic)
	case "bedrock-converse":
		a.api = new(converse)
	case "openai-chat":
		a.api = new(chat)
	case "openai-responses":
		a.api = new(responses)
	case "gemini":
		a.api = new(gemini)
	case "ollama":
		a.api = new(ollama)
	default:
		return nil
	}
	return a
}

// Shown notes what the client has been sent, in parts that may end inside a frame. It keeps nothing of them but
// the text. What [Answer.Add] has returned is noted already.
func (a *Answer) Shown(part []byte) {
	if a.rest != nil || a.obstacle != "" {
		return
	}
	if len(a.partial) > 0 {
		part = append(a.partial, part...)
	}
	for len(part) > 0 {
		n := a.repeat(part)
		if n == 0 {
			if n = a.form.FrameLen(part, 0); n <= 0 {
				break
			}
			a.noteOne(part[:n])
		}
		part = part[n:]
	}
	if a.partial = append(a.partial[:0], part...); len(a.partial) > maxText {
		a.forbid(unreadable)
	}
}

// repeat notes the frame with which a part begins, and returns its length, if it repeats the one before; 0: it does
// not.
func (a *Answer) repeat(part []byte) int {
	next := a.repeats.Next(part)
	if next.Len == 0 {
		return 0
	}
	if a.repeatsText {
		a.sayInside(next.Text)
	}
	if next.Number != nil {
		a.number = max(a.number, number(next.Number))
	}
	if a.size > maxText {
		a.forbid("its text is too long")
	}
	return next.Len
}

// noteOne notes a frame, and whether what is known of it holds for those that repeat it: it says nothing, or that in
// which they differ.
func (a *Answer) noteOne(frame []byte) {
	size := a.size
	a.note(frame)
	a.repeats.Learn(frame)
	a.repeatsText = a.size != size
	if next := a.repeats.Next(frame); a.repeatsText && (next.Texts != 1 || !a.ends(size, next.Text)) {
		a.repeats.Forget()
	}
}

// ends reports whether what was said since the text had a size is the inside of a string.
func (a *Answer) ends(size int, inside []byte) bool {
	last := a.blocks[len(a.blocks)-1]
	return string(last[max(0, len(last)-(a.size-size)):]) == text(slices.Concat([]byte{'"'}, inside, []byte{'"'}))
}

// sayInside adds the inside of a string to the block of text.
func (a *Answer) sayInside(inside []byte) {
	if bytes.IndexByte(inside, '\\') >= 0 {
		a.say(text(slices.Concat([]byte{'"'}, inside, []byte{'"'})))
		return
	}
	last := &a.blocks[len(a.blocks)-1]
	*last = append(*last, inside...)
	a.size += len(inside)
}

// note notes a frame.
func (a *Answer) note(frame []byte) {
	if a.obstacle != "" && a.rest == nil {
		return
	}
	switch _, data := dialect.Payload(a.form, frame); {
	case len(data) == 0, string(data) == "[DONE]", string(data) == "]":
	case data[0] == '{' && data[len(data)-1] == '}':
		a.api.watch(a, data)
	default:
		a.forbid(unreadable)
	}
	if a.size > maxText {
		a.forbid("its text is too long")
	}
}

// forbid notes that the answer cannot be continued, for the first reason that there is.
func (a *Answer) forbid(why Refusal) {
	if a.obstacle == "" {
		a.obstacle = why
	}
}

// begin begins a block of text.
func (a *Answer) begin() {
	a.blocks = append(a.blocks, nil)
	a.closed = false
}

// say adds to the block of text.
func (a *Answer) say(s string) {
	if len(a.blocks) == 0 {
		a.begin()
	}
	last := &a.blocks[len(a.blocks)-1]
	*last = append(*last, s...)
	a.size += len(s)
}

// turns are what a second request adds to the first.
type turns struct {
	blocks  []string // what the model has said
	ask     string   // what the user asks; "": nothing, the server continues what was said
	used    int      // tokens of the first answer, estimated
	repeats int      // tokens that the second repeats of it
}

// Continue returns the body of the second request, from that of the first. The error is a [Refusal] if the
// answer cannot be continued. It may be called again when the rest has broken off too.
func (a *Answer) Continue(request []byte) ([]byte, error) {
	body, ok := parse(request)
	switch {
	case !ok:
		return nil, Refusal("its request cannot be read")
	case a.obstacle != "":
		return nil, a.obstacle
	case len(a.partial) > 0 && a.rest == nil:
		return nil, unreadable
	case a.size == 0:
		return nil, Refusal("no text was shown")
	case a.continued >= MaxContinuations:
		return nil, Refusal("it has been continued twice")
	}
	shown := string(a.blocks[len(a.blocks)-1])
	if why := a.api.check(body, shown); why != "" {
		return nil, why
	}
	f, err := newFinder(shown, a.closed, a.options.Prefill && a.prefills())
	if err != nil {
		return nil, err
	}
	t := a.turns(&f)
	if body, err = a.api.extend(body, t); err != nil {
		return nil, err
	}
	a.billed = a.BilledTwice()
	a.continued++
	a.rest, a.partial = &rest{Text: Text{finder: f}, answer: a, turns: t}, nil
	return body.bytes(), nil
}

// Add takes the next bytes of the second answer and returns what the client is sent in their place, which may
// be nothing. It returns [ErrNoSeam] if the second answer does not continue the first: then nothing of it has
// been returned.
func (a *Answer) Add(part []byte) (send []byte, err error) {
	a.partial = append(a.partial, part...)
	for {
		n := a.form.FrameLen(a.partial, 0)
		if n <= 0 {
			return send, nil
		}
		frame := bytes.Clone(a.partial[:n])
		a.partial = a.partial[n:]
		shown, err := a.rest.add(frame)
		if err != nil {
			return nil, err
		}
		send = append(send, shown...)
	}
}

// End returns what the client is still sent when the stream of the second answer has ended properly.
func (a *Answer) End() (send []byte, err error) {
	if len(a.partial) > 0 { // a last frame without its end
		if send, err = a.rest.add(a.partial); err != nil {
			return nil, err
		}
	}
	if !a.rest.found {
		return nil, ErrNoSeam
	}
	return send, nil
}

// BilledTwice returns how many tokens the continuations have cost besides those that one whole answer would have, as
// far as they have said: their requests repeat the first, and what they repeat of the answer is estimated.
func (a *Answer) BilledTwice() int {
	if a.rest == nil {
		return a.billed
	}
	return a.billed + a.rest.billedTwice()
}

// prefills reports whether the API has servers that go on with a turn of the model's.
func (a *Answer) prefills() bool {
	switch a.api.(type) {
	case *chat, *ollama:
		return true
	}
	return false
}

// turns returns what the second request adds.
func (a *Answer) turns(f *finder) (t turns) {
	for _, b := range a.blocks {
		t.blocks = append(t.blocks, string(b))
		t.used += tokens(string(b))
	}
	t.used = max(t.used, a.stated)
	if !f.direct {
		t.ask, t.repeats = request(f.anchor), tokens(f.anchor)
	}
	return t
}

// request returns what the user asks for, with the end of what was shown between marks, so that its white
// space can be seen.
func request(anchor string) string {
	return "Your previous response was interrupted before it was finished. It ended with the text between these marks:\n\n" +
		"<ending>" + anchor + "</ending>\n\n" +
		"Please begin your reply by repeating the text between the marks exactly, character by character, without the marks and " +
		"without anything before it. Then go straight on from there and finish the response as you would have done, in the same " +
		"language and format. Leave out any remark about the interruption, and what came before that ending."
}
