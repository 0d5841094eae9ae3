package turn

import (
	"slices"
	"strconv"

	"github.com/ridethrough/ridethrough/llm"
)

// Plan is what may be left out of a history that does not fit.
type Plan struct {
	Outputs  []string      // ids of the calls whose outputs go
	Messages []llm.Message // the oldest messages, without those outputs, which a summary is to stand for; none: no summary is needed
}

// Empty tells whether there is nothing that could be left out.
func (p Plan) Empty() bool { return len(p.Outputs) == 0 && len(p.Messages) == 0 }

// small is how long an output may be without it being worth leaving out, in
// bytes.
const small = 256

// Plan says what to leave out so that half of the history remains: the oldest
// outputs of tools first; where they are too little, a summary stands for the
// oldest messages. What the last step has brought stays, unless it is too much
// by itself.
func (s State) Plan() Plan {
	total := size(s.history)
	goal := total / 2
	outputs := oldest(s.history[:max(0, len(s.history)-1)], total-goal)
	rest := without(s.history, outputs)
	gone := 0
	if size(rest) > goal {
		gone = cut(rest, goal/2)
	}
	if over := size(rest[gone:]) - goal; over > 0 {
		outputs = append(outputs, oldest(rest[len(rest)-1:], over)...)
		rest = without(s.history, outputs)
	}
	if gone == 0 || size(rest) <= goal {
		return Plan{Outputs: outputs}
	}
	return Plan{Outputs: outputs, Messages: rest[:gone]}
}

// oldest gives the outputs that make up so many bytes, oldest first.
func oldest(history []llm.Message, bytes int) []string {
	var ids []string
	for _, m := range history {
		for _, b := range m.Content {
			r, ok := b.(llm.ToolResult)
			if ok && bytes > 0 && len(r.Output) > small {
				bytes -= len(r.Output)
				ids = append(ids, r.ID)
			}
		}
	}
	return ids
}

// cut gives how many of the oldest messages go, so that what remains has so
// many bytes at most, but one message at least. It begins with an answer or
// with what the user says: results must not stand without their calls.
func cut(history []llm.Message, bytes int) int {
	first, weight := len(history), 0
	for i := len(history) - 1; i > 0; i-- {
		weight += size(history[i : i+1])
		if first < len(history) && weight > bytes {
			break
		}
		if history[i].Role != llm.ToolRole {
			first = i
		}
	}
	if first == len(history) {
		return 0
	}
	return first
}

// compact leaves out what the event says.
func (s State) compact(e Compacted) State {
	s.compacted = true
	s.history = without(s.history, e.Outputs)
	if e.Messages == 0 {
		return s
	}
	gone := min(e.Messages, len(s.history))
	s.history = slices.Insert(s.history[gone:], 0, llm.UserMessage("Summary of our conversation so far, which had grown too long:\n\n"+e.Summary))
	return s
}

// without gives a history without some of its outputs. The messages that
// change are copies.
func without(history []llm.Message, ids []string) []llm.Message {
	history = slices.Clone(history)
	if len(ids) == 0 {
		return history
	}
	for i, m := range history {
		if m.Role != llm.ToolRole {
			continue
		}
		history[i].Content = slices.Clone(m.Content)
		for j, b := range m.Content {
			if r, ok := b.(llm.ToolResult); ok && slices.Contains(ids, r.ID) {
				r.Output = "[" + strconv.Itoa(len(r.Output)) + " bytes were left out here to make room; run the tool again if you need them]"
				history[i].Content[j] = r
			}
		}
	}
	return history
}

// size gives the rough weight of messages in bytes.
func size(history []llm.Message) int {
	n := 0
	for _, m := range history {
		for _, b := range m.Content {
			switch b := b.(type) {
			case llm.Text:
				n += len(b.Text)
			case llm.Reasoning:
				n += len(b.Text) + len(b.Signature)
			case llm.ToolCall:
				n += len(b.Name) + len(b.Arguments)
			case llm.ToolResult:
				n += len(b.Output)
			}
		}
	}
	return n
}
