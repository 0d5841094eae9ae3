package simulator

import (
	"encoding/base64"
	"encoding/json"
	"strings"
)

// Say is an answer of its own in place of the script's: what the model thinks,
// then what it says, then the tools it calls. A part that an API has no place
// for is left out there. Reasoning is shown as the vendor shows it: to who asks
// to see it at Anthropic, Google and in OpenAI's Responses, to everybody
// elsewhere.
type Say struct {
	Reasoning string
	Text      string
	Calls     []Call

	Hidden bool  // the reasoning is not shown, only what stands for it where the vendor has such a thing
	Mixed  bool  // pieces of the calls' arguments come in turn, where they come in pieces
	NoIDs  bool  // the calls have no ids, where the vendor's servers do that
	Stop   Stop  // why it ends
	How    Reply // Cut, Drip or Silence: the way it comes; nil: as a normal answer does
}

// Call is a tool that a model calls. Arguments are what the model writes, a
// JSON object if it does well; "": nothing at all.
type Call struct {
	Name, Arguments string
}

// Stop is why an answer ends.
type Stop string

// The reasons to stop. The zero Stop is that all is said or that the calls wait
// for their results.
const (
	Length  Stop = "length"  // the bound of an answer
	Refusal Stop = "refusal" // a filter; Ollama has none
)

// text returns the answer without reasoning and calls.
func (c call) text() string { return c.said.Text }

// thinking counts the tokens of the reasoning, a word each.
func (c call) thinking() int {
	if c.view == never {
		return 0
	}
	return len(inWords(c.said.Reasoning))
}

// out counts the tokens of the whole answer.
func (c call) out() int {
	n := c.thinking() + len(inWords(c.said.Text))
	for _, call := range c.said.Calls {
		n += len(inBites(call.Arguments))
	}
	return n
}

func (s Say) play(x *exchange) {
	x.call.said = s
	if s.How == nil {
		OK{}.play(x)
		return
	}
	s.How.play(x)
}

// view is how much of a model's reasoning a request sees.
type view uint8

const (
	shown   view = iota
	omitted      // its frame without words
	sealed       // what stands for it
	never        // the model does not think
)

// blockKind is what a block of an answer holds.
type blockKind uint8

const (
	thought blockKind = iota
	spoken
	called
)

// block is one block of an answer.
type block struct {
	kind   blockKind
	index  int // in the answer
	nth    int // among the calls
	call   Call
	pieces []string // an event each
}

// text returns the whole block, which is the arguments of a call.
func (b block) text() string { return strings.Join(b.pieces, "") }

// object returns the arguments of a call as a JSON object; false: they are none.
func (b block) object() (string, bool) {
	text := b.text()
	if text == "" {
		return "{}", true
	}
	return text, text[0] == '{' && json.Valid([]byte(text))
}

// blocks returns the answer in blocks.
func (c call) blocks() []block {
	var all []block
	add := func(b block) {
		b.index = len(all)
		all = append(all, b)
	}
	switch think := inWords(c.said.Reasoning); {
	case len(think) == 0 || c.reasoning() == never:
	case c.reasoning() != shown:
		add(block{kind: thought, pieces: []string{""}})
	default:
		add(block{kind: thought, pieces: think})
	}
	if words := inWords(c.said.Text); len(words) > 0 {
		add(block{kind: spoken, pieces: words})
	}
	for i, call := range c.said.Calls {
		add(block{kind: called, nth: i, call: call, pieces: inBites(call.Arguments)})
	}
	return all
}

// reasoning tells how much of the reasoning is seen.
func (c call) reasoning() view {
	if c.said.Hidden && c.view != never {
		return sealed
	}
	return c.view
}

// inWords cuts a text behind each space.
func inWords(text string) []string {
	words := strings.SplitAfter(text, " ")
	if last := len(words) - 1; words[last] == "" {
		return words[:last]
	}
	return words
}

// bite is how much of a call's arguments comes at once, in runes.
const bite = 8

// inBites cuts the arguments of a call. Nothing is one empty bite.
func inBites(text string) []string {
	runes, bites := []rune(strings.ToValidUTF8(text, "�")), []string{}
	for ; len(runes) > bite; runes = runes[bite:] {
		bites = append(bites, string(runes[:bite]))
	}
	return append(bites, string(runes))
}

// piece is one event's worth of a block.
type piece struct {
	block
	text        string
	first, last bool // of its block
}

// inOrder returns the pieces as they are sent.
func (c call) inOrder() []piece {
	var before []piece
	var calls [][]piece
	for _, b := range c.blocks() {
		var all []piece
		for i, text := range b.pieces {
			all = append(all, piece{block: b, text: text, first: i == 0, last: i == len(b.pieces)-1})
		}
		if b.kind == called && c.said.Mixed {
			calls = append(calls, all)
			continue
		}
		before = append(before, all...)
	}
	return append(before, inTurn(calls)...)
}

// inTurn takes one piece of each block, then the next of each.
func inTurn(blocks [][]piece) []piece {
	var all []piece
	for i, left := 0, true; left; i++ {
		left = false
		for _, pieces := range blocks {
			if i < len(pieces) {
				all, left = append(all, pieces[i]), true
			}
		}
	}
	return all
}

// inWhole returns a piece for each block: for APIs that do not cut a call.
func (c call) inWhole() []piece {
	var all []piece
	for _, b := range c.blocks() {
		if b.kind == called {
			all = append(all, piece{block: b, text: b.text(), first: true, last: true})
			continue
		}
		for i, text := range b.pieces {
			all = append(all, piece{block: b, text: text, first: i == 0, last: i == len(b.pieces)-1})
		}
	}
	return all
}

// weave returns pieces as events. What opens and closes a block is no content:
// it goes with the next piece, at the start before all of them, at the end
// behind.
func weave(pieces []piece, open, delta, end func(piece) string) (before string, content []string, behind string) {
	for i, p := range pieces {
		if p.first {
			behind += open(p)
		}
		if i == 0 {
			before, behind = behind, ""
		}
		content = append(content, behind+delta(p))
		behind = ""
		if p.last {
			behind = end(p)
		}
	}
	return before, content, behind
}

// first returns the call with an answer of no more than n events, as much as a
// model has said that was cut short. A call that is not reached is not made.
func (c call) first(n int) call {
	var short Say
	all := c.inOrder()
	for _, p := range all[:max(0, min(n, len(all)))] {
		switch {
		case p.kind == thought && c.reasoning() != shown:
			short.Reasoning = c.said.Reasoning
		case p.kind == thought:
			short.Reasoning += p.text
		case p.kind == spoken:
			short.Text += p.text
		case p.first:
			short.Calls = append(short.Calls, Call{p.call.Name, p.text})
		default:
			short.Calls[p.nth].Arguments += p.text
		}
	}
	short.Hidden, short.Mixed, short.NoIDs, short.Stop = c.said.Hidden, c.said.Mixed, c.said.NoIDs, c.said.Stop
	c.said = short
	return c
}

// signature returns what a vendor wants back with an answer's reasoning. Google
// has it in base64, so everybody does.
func signature(c call) string {
	return base64.StdEncoding.EncodeToString([]byte("signature of " + c.id))
}
