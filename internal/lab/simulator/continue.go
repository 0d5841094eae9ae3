package simulator

import (
	"fmt"
	"strings"

	"github.com/ridethrough/ridethrough/internal/api"
)

// Continue is how a model answers when it is asked to continue an answer that broke off. Such a request
// ends with the beginning of the model's own answer, and with a turn of the user's that has the end of that
// beginning between <ending> and </ending>. A request may also end with the beginning alone: a prefill, which
// the model continues. Other requests get the whole answer.
type Continue string

// The ways to continue. Without one the model repeats what it is asked to repeat.
const (
	Exact      Continue = "exact"      // repeats the end of what it has said, and continues
	Paraphrase Continue = "paraphrase" // repeats it in other words
	Decline    Continue = "decline"    // says that it does not continue
	Repeat     Continue = "repeat"     // repeats all that it has said
	NoPrefill  Continue = "no-prefill" // 400 on a prefill, else Exact
)

// String returns the way as Parse reads it, such as "continue:exact".
func (c Continue) String() string { return continueWord + ":" + string(c) }

const continueWord = "continue"

func (c Continue) play(x *exchange) {
	x.say(Say{Text: x.call.whole, Continue: c})
	if c == NoPrefill && x.call.partial != "" && x.call.asks == "" {
		noPrefill.play(x)
		return
	}
	x.answer(x.pace)
}

// parseContinue reads what follows "continue:".
func parseContinue(word, argument string) (Continue, error) {
	switch c := Continue(argument); c {
	case Exact, Paraphrase, Decline, Repeat, NoPrefill:
		return c, nil
	}
	return "", fmt.Errorf("reply %q: want continue:exact, :paraphrase, :decline, :repeat or :no-prefill", word)
}

// say sets the answer: the rest of it, if the request asks for that.
func (x *exchange) say(s Say) {
	x.call.whole = s.Text
	rest, begins := strings.CutPrefix(s.Text, x.call.partial)
	_, after, asked := strings.Cut(x.call.asks, "<ending>")
	ending, _, _ := strings.Cut(after, "</ending>")
	switch {
	case !begins || x.call.partial == "":
	case asked:
		s.Text = s.Continue.goOn(ending, s.Text, rest)
	case x.call.asks == "":
		s.Text = rest
	}
	x.call.said = s
}

// goOn returns what a model answers that is asked for the rest of its whole answer, with the end of what it
// has said.
func (c Continue) goOn(ending, whole, rest string) string {
	switch c {
	case Decline:
		return "I'm sorry, but I can't go on with a response that was interrupted."
	case Paraphrase:
		return "As I was saying, " + strings.ToLower(strings.TrimSpace(ending)) + " – " + strings.TrimSpace(rest)
	case Repeat:
		return whole
	}
	return ending + rest
}

// lastTurns keeps the beginning of the model's answer that a request ends with, and what the user asks behind
// it.
type lastTurns struct{ partial, asks string }

// turn adds the next turn of a conversation, of the model or of others.
func (c *call) turn(model bool, text string) {
	c.repeat = c.repeat || model
	switch {
	case model:
		c.lastTurns = lastTurns{partial: text}
	case c.partial != "" && c.asks == "":
		c.asks = text
	default:
		c.lastTurns = lastTurns{}
	}
}

// plainText returns the text of a message's content, which is a text or has parts.
func plainText(content []byte) string {
	all := api.TextOf(content)
	for part := range api.Elements(content) {
		all += api.TextOf(api.Member(part, "text"))
	}
	return all
}
