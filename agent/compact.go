package agent

import (
	"strings"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/turn"
)

// summaryPrompt is the system prompt for a summary.
const summaryPrompt = "You sum up conversations between a user and an assistant with tools. Write down what the assistant needs " +
	"to go on with its work as if it remembered everything: what the user wants, in their words where these matter; what has been " +
	"found out and decided, with names, paths and figures; what has been done and what is left to do. Write nothing else."

// How much of a conversation is summarized, in bytes.
const (
	maxPiece      = 4 << 10   // of one piece
	maxTranscript = 128 << 10 // of all
)

// compact shortens the history after it was too long for the model. If that is not
// possible, the turn fails with the model's fault.
func (a *attempt) compact() error {
	outputs, messages := a.state.Compaction()
	switch {
	case len(outputs)+len(messages) == 0:
		return a.failed()
	case len(messages) == 0:
		return a.keep(a.compacted(turn.Compacted{Outputs: outputs}))
	}
	return a.replace(turn.Compacted{Outputs: outputs}, messages, "")
}

// shorten shortens the history because the user has asked for it. Where there is nothing to leave out, it stays.
func (r *run) shorten(instruction string) error {
	r.reportActivity(Step)
	a := r.attempt(r.current())
	a.fault, a.stop = &fault.Error{Kind: fault.Refused, Message: "the model gave no summary", Rule: "agent/summary"}, policy.Final
	messages := a.state.Summarizable()
	if len(messages) == 0 {
		return a.keep(a.compacted(turn.Compacted{Asked: true}))
	}
	return a.replace(turn.Compacted{Asked: true}, messages, instruction)
}

// replace replaces messages by a summary, with which the event is completed. A model that gives none leaves the turn with
// the attempt's fault.
func (a *attempt) replace(e turn.Compacted, messages []llm.Message, instruction string) error {
	e.Messages = len(messages)
	sum := a.attempt(a.model)
	sum.summarize(messages, instruction)
	switch {
	case sum.err != nil:
		sum.answer = llm.Collector{} // half a summary is of no use
		return sum.stopOrFail()
	case sum.fault != nil:
		return sum.failed()
	}
	if e.Summary = sum.answer.Content().Text(); e.Summary == "" || sum.answer.End.Reason == llm.Refusal {
		return a.failed() // no answer is better than one without the history
	}
	return a.keep(append(sum.usageEvents(), a.compacted(e))...)
}

// compacted returns the event with the size of the history before and after it.
func (a *attempt) compacted(e turn.Compacted) turn.Compacted {
	e.TokensBefore, e.TokensAfter = a.state.Tokens(), a.state.Clone().Apply(e).Tokens()
	return e
}

// summarize asks the model for a summary of messages.
func (a *attempt) summarize(messages []llm.Message, instruction string) {
	system := summaryPrompt
	if instruction != "" {
		system += " The user asks of this summary: " + instruction
	}
	q := llm.Request{System: system, Messages: []llm.Message{llm.UserMessage(transcript(messages))}, NoStream: a.NoStream}
	retrier, leave := a.retrier()
	defer leave()
	c, err := collect(a.ctx, retrier, a.model, q)
	if err != nil {
		a.noteEnd(err)
		return
	}
	a.answer = c
}

// transcript returns messages as one text.
func transcript(messages []llm.Message) string {
	var b strings.Builder
	for _, m := range messages {
		for _, block := range m.Content {
			switch block := block.(type) {
			case llm.Text:
				b.WriteString(string(m.Role) + ": " + truncateMiddle(block.Text, maxPiece) + "\n\n")
			case llm.Image:
				b.WriteString(string(m.Role) + " shows an image" + strings.TrimRight(" "+block.Name, " ") + ", which is not part of this transcript\n\n")
			case llm.ToolCall:
				b.WriteString("assistant runs " + block.Name + " " + truncateMiddle(string(block.Arguments), maxPiece) + "\n\n")
			case llm.ToolResult:
				b.WriteString(block.Name + " returns: " + truncateMiddle(block.Output, maxPiece) + "\n\n")
			}
		}
	}
	return truncateMiddle(b.String(), maxTranscript)
}

// truncateMiddle leaves out the middle of a text that is too long.
func truncateMiddle(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most/2], "") + " […] " + strings.ToValidUTF8(s[len(s)-most/2:], "")
}
