package simulator

import (
	"strings"

	"github.com/ridethrough/ridethrough/internal/api"
)

// Say is an answer in place of the script's: reasoning, then text, then tool calls.
// A part that an API does not support is left out. Reasoning is shown on request by
// Anthropic, Google and OpenAI's Responses, and always by the others.
type Say struct {
	Reasoning string
	Text      string
	Calls     []Call

	Hidden   bool     // the reasoning is encrypted or redacted, where the vendor has that
	Mixed    bool     // pieces of several calls' arguments alternate
	NoIDs    bool     // the calls have no ids, where that occurs
	Stop     Stop     // why it ends
	Continue Continue // how a request for the rest of it is answered; "": Exact
	How      Reply    // Cut, Drip, Silence or Stall; nil: a normal answer
}

// Call is a tool call of a model. Arguments are normally a JSON object; "": none.
type Call struct {
	Name, Arguments string
}

// Stop is why an answer ends.
type Stop string

// The reasons to stop. The zero Stop is a complete answer, or calls that wait for their results.
const (
	Length  Stop = "length"  // the maximum length
	Refusal Stop = "refusal" // a filter; Ollama has none
)

// thinking returns the number of reasoning tokens, one per word.
func (c *call) thinking() int {
	if c.view == never {
		return 0
	}
	return len(inWords(c.said.Reasoning))
}

// out returns the number of tokens of the whole answer.
func (c *call) out() int {
	n := c.thinking() + len(inWords(c.said.Text))
	for _, call := range c.said.Calls {
		n += len(inArgumentPieces(call.Arguments))
	}
	return n
}

func (s Say) play(x *exchange) {
	x.say(s)
	if s.How == nil {
		OK.play(x)
		return
	}
	s.How.play(x)
}

// view is how much of the reasoning a client sees.
type view uint8

const (
	shown   view = iota
	omitted      // a block without text
	sealed       // encrypted or redacted
	never        // there is no block: the model does not think
)

// block is one block of an answer.
type block struct {
	kind   api.PartKind // TextPart, ReasoningPart, SignaturePart if that is encrypted, or ToolCallPart
	index  int          // in the answer
	nth    int          // among the calls
	call   Call
	pieces []string // one per event
}

// cut returns the block's pieces.
func (b block) cut() []piece {
	all := make([]piece, len(b.pieces))
	for i, text := range b.pieces {
		all[i] = piece{block: b, text: text, first: i == 0, last: i == len(b.pieces)-1}
	}
	return all
}

// blocks returns the answer in blocks.
func (c *call) blocks() []block {
	var all []block
	add := func(b block) {
		b.index = len(all)
		all = append(all, b)
	}
	switch think := inWords(c.said.Reasoning); {
	case len(think) == 0 || c.view == never:
	case c.view == sealed || c.said.Hidden:
		add(block{kind: api.SignaturePart, pieces: []string{""}})
	case c.view == omitted:
		add(block{kind: api.ReasoningPart, pieces: []string{""}})
	default:
		add(block{kind: api.ReasoningPart, pieces: think})
	}
	if words := inWords(c.said.Text); len(words) > 0 {
		add(block{kind: api.TextPart, pieces: words})
	}
	for i, call := range c.said.Calls {
		add(block{kind: api.ToolCallPart, nth: i, call: call, pieces: inArgumentPieces(call.Arguments)})
	}
	return all
}

// inWords splits a text after each space.
func inWords(text string) []string {
	words := strings.SplitAfter(text, " ")
	if last := len(words) - 1; words[last] == "" {
		return words[:last]
	}
	return words
}

// argumentPiece is the length of a piece of a call's arguments, in runes.
const argumentPiece = 8

// inArgumentPieces splits the arguments of a call. Empty ones are one empty piece.
func inArgumentPieces(text string) []string {
	runes, parts := []rune(strings.ToValidUTF8(text, "�")), []string{}
	for ; len(runes) > argumentPiece; runes = runes[argumentPiece:] {
		parts = append(parts, string(runes[:argumentPiece]))
	}
	return append(parts, string(runes))
}

// piece is the part of a block in one event.
type piece struct {
	block
	text        string
	first, last bool // of its block
}

// inOrder returns the pieces as they are sent: those of a call one by one, or at once.
func (c *call) inOrder(atOnce bool) []piece {
	var before []piece
	var calls [][]piece
	for _, b := range c.blocks() {
		if b.kind == api.ToolCallPart && atOnce {
			b.pieces = []string{strings.Join(b.pieces, "")}
		}
		if b.kind == api.ToolCallPart && c.said.Mixed {
			calls = append(calls, b.cut())
		} else {
			before = append(before, b.cut()...)
		}
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

// shorten cuts the answer to at most n events.
func (c *call) shorten(n int) {
	var short Say
	all := c.inOrder(false)
	for _, p := range all[:max(0, min(n, len(all)))] {
		switch {
		case p.kind == api.SignaturePart || p.kind == api.ReasoningPart && p.text == "":
			short.Reasoning = c.said.Reasoning
		case p.kind == api.ReasoningPart:
			short.Reasoning += p.text
		case p.kind == api.TextPart:
			short.Text += p.text
		case p.first:
			short.Calls = append(short.Calls, Call{p.call.Name, p.text})
		default:
			short.Calls[p.nth].Arguments += p.text
		}
	}
	short.Hidden, short.Mixed, short.NoIDs, short.Stop = c.said.Hidden, c.said.Mixed, c.said.NoIDs, c.said.Stop
	c.said = short
}
