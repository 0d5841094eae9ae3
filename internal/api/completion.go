package api

import (
	"bytes"
	"errors"
	"slices"
)

// MaxContinuations is how often one answer may be continued.
const MaxContinuations = 2

// maxShown bounds the text of an answer that is continued, in bytes.
const maxShown = 1 << 20

// ErrNoSeam is that a second answer does not continue where the first broke off, so far as can be told.
var ErrNoSeam = errors.New("the second answer does not repeat the end of the first")

// Obstacle is why an answer may not be continued.
type Obstacle string

// Error returns the reason.
func (o Obstacle) Error() string { return "it cannot be continued: " + string(o) }

// Completion follows an answer as its client sees it, and continues it after it broke off in the middle of its text.
// A second request has the text that was shown as the model's turn, and asks the model to repeat the end of it and to
// continue. Where the second answer begins with that end, the rest follows, byte by byte: the seam. Where it
// does not, nothing of it is shown. What cannot be joined without a doubt, such as JSON, citations or an answer with a
// tool call, is refused with an [Obstacle]. It is for one goroutine.
type Completion struct {
	// Prefill, set before Continue, says that the server continues the model's turn with which a request ends, so
	// that nothing is asked and repeated. APIs without such servers ask all the same.
	Prefill bool

	// Lossless, set before Shown, says that the answer is resumed at its checkpoints only: nothing is asked.
	Lossless bool

	api         Continuation
	prefills    bool // the API has such servers
	decode      func(name, data []byte) Parts
	form        Form
	Blocks      [][]byte // the text that was shown, in the blocks that the API divides it into
	size        int      // of all blocks
	Block       int      // the number of the last, 1 for the answer's first; 0: it has none
	Closed      bool     // the last block is whole
	obstacle    Obstacle // what was shown that forbids to continue; "": nothing
	Stated      int      // output tokens so far, if the answer states them
	reasoned    int      // the same of reasoning, where it is counted apart
	rest        *Second  // that is or was read; nil: it was not continued
	Number      int      // the largest number of an event, where they are numbered
	repeats     Repeats  // frames that were shown
	repeatsText bool     // they have text
	partial     []byte   // the beginning of a frame that was shown, or of one of the rest
	resumption  resumption
	continued   int
	billed      int // the tokens of earlier continuations that were billed twice
}

// Continuation is what differs between the APIs. It has the state of one answer.
type Continuation interface {
	// Check returns why a request whose answer broke off behind a text may not be continued; "": it may.
	Check(request Object, shown string) Obstacle
	// Extend returns the request with what was said and what is asked. It returns an Obstacle where the
	// request's limit leaves no room.
	Extend(request Object, t Turns) (Object, error)
	// Note keeps what a frame of the answer has for the second one, such as ids, before its parts are noted.
	Note(a *Completion, data []byte)
	// Join passes a frame of the second answer on, as one of the first.
	Join(c *Second, f Frame) error
}

// NewCompletion returns a Completion for an API and the form of its stream; nil: such an answer is never continued.
func NewCompletion(a *API, f Form) *Completion {
	if f == JSON || a.is.Continuation == nil {
		return nil
	}
	c := &Completion{form: f, api: a.is.Continuation(), prefills: a.is.Prefills, decode: a.is.Decode}
	c.resumption.api, _ = c.api.(Resuming)
	return c
}

// Shown notes what the client has been sent, in parts that may end inside a frame. It keeps nothing of them but
// the text. What [Completion.Add] has returned is noted already.
func (a *Completion) Shown(part []byte) {
	if a.rest != nil || (a.obstacle != "" || a.Lossless) && !a.HasCheckpoints() {
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
	if a.partial = append(a.partial[:0], part...); len(a.partial) > maxShown {
		a.Forbid(Unreadable)
	}
}

// repeat notes the frame with which a part begins, and returns its length, if it repeats the one before; 0: it does
// not.
func (a *Completion) repeat(part []byte) int {
	next := a.repeats.Next(part)
	if next.Len == 0 {
		return 0
	}
	if a.repeatsText {
		a.sayInside(next.Text)
	}
	if next.Number != nil {
		a.Number = max(a.Number, Number(next.Number))
	}
	if a.size > maxShown {
		a.Forbid("its text is too long")
	}
	return next.Len
}

// noteOne notes a frame, and whether what is known of it holds for those that repeat it: it says nothing, or that in
// which they differ.
func (a *Completion) noteOne(frame []byte) {
	if a.awaitsCheckpoint(frame) {
		return
	}
	size, thoughts := a.size, len(a.resumption.thoughts)
	if a.note(frame) || len(a.resumption.thoughts) != thoughts {
		a.repeats.Clear()
		return
	}
	a.repeats.Learn(frame)
	a.repeatsText = a.size != size
	if next := a.repeats.Next(frame); a.repeatsText && (next.Texts != 1 || !a.ends(size, next.Text)) {
		a.repeats.Forget()
	}
}

// ends reports whether what was said since the text had a size is the inside of a string.
func (a *Completion) ends(size int, inside []byte) bool {
	last := a.Blocks[len(a.Blocks)-1]
	return string(last[max(0, len(last)-(a.size-size)):]) == TextOf(slices.Concat([]byte{'"'}, inside, []byte{'"'}))
}

// sayInside adds the inside of a string to the block of text.
func (a *Completion) sayInside(inside []byte) {
	if bytes.IndexByte(inside, '\\') >= 0 {
		a.Say(TextOf(slices.Concat([]byte{'"'}, inside, []byte{'"'})))
		return
	}
	last := &a.Blocks[len(a.Blocks)-1]
	*last = append(*last, inside...)
	a.size += len(inside)
}

// note notes a frame, and reports whether there is a checkpoint after it.
func (a *Completion) note(frame []byte) (checkpoint bool) {
	if a.obstacle != "" && a.rest == nil && !a.HasCheckpoints() {
		return false
	}
	switch name, data := Payload(a.form, frame); {
	case len(data) == 0, string(data) == "[DONE]", string(data) == "]":
	case data[0] == '{' && data[len(data)-1] == '}':
		a.api.Note(a, data)
		parts := a.decode(name, data)
		a.noteParts(&parts)
		checkpoint = a.noteCheckpoint(data)
	default:
		a.Forbid(Unreadable)
	}
	if a.size > maxShown {
		a.Forbid("its text is too long")
	}
	return checkpoint
}

// noteParts notes what a frame shows.
func (a *Completion) noteParts(parts *Parts) {
	if parts.Unfollowed {
		a.Forbid(ShowsOther)
	}
	if parts.Usage.Stated {
		a.Stated, a.reasoned = max(a.Stated, parts.Usage.Output), max(a.reasoned, parts.Usage.Reasoning)
	}
	for i := range parts.n {
		a.notePart(parts.At(i))
	}
}

// notePart notes what a part shows. Reasoning may come before the text, but no block of it behind.
func (a *Completion) notePart(p *Part) {
	of := p.Kind
	if of == OpenPart {
		of = p.Of
	}
	switch of {
	case TextPart:
		if p.Kind == OpenPart || p.Block != a.Block {
			a.Begin()
			a.Block = p.Block
		}
		a.Say(p.String())
	case ReasoningPart:
		a.resumption.noteThought(p)
		if p.Block > 0 && len(a.Blocks) > 0 {
			a.Forbid(ShowsOther)
		}
	case ClosePart:
		a.Closed = a.Closed || len(a.Blocks) > 0 && p.Block == a.Block
	case ToolCallPart, ToolInputPart:
		a.Forbid(ShowsTool)
	case CitationPart:
		a.Forbid(ShowsSources)
	case LogprobsPart:
		a.Forbid(WantsProbs)
	case OtherPart, RefusalPart:
		a.Forbid(ShowsOther)
	case StopPart:
		a.Forbid(ShowsEnd)
	}
}

// Forbid notes that the answer cannot be continued, for the first reason that there is.
func (a *Completion) Forbid(why Obstacle) {
	a.resumption.unsure = true
	if a.obstacle == "" {
		a.obstacle = why
	}
}

// Begin begins a block of text.
func (a *Completion) Begin() {
	a.Blocks = append(a.Blocks, nil)
	a.Closed = false
}

// Say adds to the block of text, unless that is of no use any more.
func (a *Completion) Say(s string) {
	if a.obstacle != "" && a.resumption.unsure && a.HasCheckpoints() {
		return
	}
	if len(a.Blocks) == 0 {
		a.Begin()
	}
	last := &a.Blocks[len(a.Blocks)-1]
	*last = append(*last, s...)
	a.size += len(s)
}

// Turns are what a second request adds to the first.
type Turns struct {
	Blocks  []string // what the model has said
	Ask     string   // what the user asks; "": nothing, the server continues what was said
	used    int      // tokens of the first answer, estimated
	repeats int      // tokens that the second repeats of it

	reasoned int // of the first answer, where used has no reasoning
}

// Continue returns the body of the second request, from that of the first: it resumes the answer at its latest
// checkpoint, or asks for the rest. The error is an [Obstacle] if the answer cannot be continued. It may be called again
// when the rest has broken off too.
func (a *Completion) Continue(request []byte) ([]byte, error) {
	body, ok := ParseObject(request)
	if ok && a.Resumable() {
		if text, err := a.resume(body); err == nil {
			return text, nil
		}
	}
	a.forgetCheckpoints() // those of an answer to another request would be its own
	switch {
	case !ok:
		return nil, Obstacle("its request cannot be read")
	case a.Lossless:
		return nil, Obstacle("it has no checkpoint")
	case a.obstacle != "":
		return nil, a.obstacle
	case len(a.partial) > 0 && a.rest == nil:
		return nil, Unreadable
	case a.size == 0:
		return nil, Obstacle("no text was shown")
	case a.continued >= MaxContinuations:
		return nil, Obstacle("it has been continued twice")
	}
	shown := string(a.Blocks[len(a.Blocks)-1])
	if why := a.api.Check(body, shown); why != "" {
		return nil, why
	}
	f, err := newFinder(shown, a.Closed, a.Prefill && a.prefills)
	if err != nil {
		return nil, err
	}
	t := a.turns(&f)
	if body, err = a.api.Extend(body, t); err != nil {
		return nil, err
	}
	a.billed = a.BilledTwice()
	a.continued++
	a.rest, a.partial = &Second{Rest: Rest{finder: f}, Completion: a, turns: t}, nil
	return body.JSON(), nil
}

// Prefilled reports whether the request of the latest Continue ends with the model's turn.
func (a *Completion) Prefilled() bool { return a.rest != nil && a.rest.finder.direct }

// Add takes the next bytes of the second answer and returns what the client is sent in their place, which may
// be nothing. It returns [ErrNoSeam] if the second answer does not continue the first: then nothing of it has
// been returned.
func (a *Completion) Add(part []byte) (send []byte, err error) {
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
func (a *Completion) End() (send []byte, err error) {
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
func (a *Completion) BilledTwice() int {
	if a.rest == nil {
		return a.billed
	}
	return a.billed + a.rest.billedTwice()
}

// turns returns what the second request adds.
func (a *Completion) turns(f *finder) (t Turns) {
	for _, b := range a.Blocks {
		t.Blocks = append(t.Blocks, string(b))
		t.used += Tokens(string(b))
	}
	t.used = max(t.used, a.Stated)
	if f.direct {
		t.Blocks[len(t.Blocks)-1] = f.whole
		return t
	}
	t.Ask, t.repeats = askFor(f.anchor), Tokens(f.anchor)
	return t
}

// askFor returns what the user asks for, with the end of what was shown between marks, so that its white
// space can be seen.
func askFor(anchor string) string {
	return "Your previous response was interrupted before it was finished. It ended with the text between these marks:\n\n" +
		"<ending>" + anchor + "</ending>\n\n" +
		"Please begin your reply by repeating the text between the marks exactly, character by character, without the marks and " +
		"without anything before it. Then go straight on from there and finish the response as you would have done, in the same " +
		"language and format. Leave out any remark about the interruption, and what came before that ending."
}
