package turn

import (
	"slices"
	"strconv"

	"github.com/ridethrough/ridethrough/llm"
)

// small is the size in bytes up to which an output is not worth leaving out.
const small = 256

// Compaction returns what to leave out so that half of the history remains. outputs are the ids of calls
// whose outputs go, the oldest first. messages are the oldest messages without those outputs, which a summary
// replaces; none: no summary is needed. The outputs of the last step stay, unless they are too much by
// themselves. Both are empty if nothing can be left out.
func (s State) Compaction() (outputs []string, messages []llm.Message) {
	total, last := size(s.history), max(0, len(s.history)-1)
	goal := total / 2
	outputs = oldest(s.history[:last], total-goal)
	rest := without(s.history, outputs)
	gone := 0
	if size(rest) > goal {
		gone = cut(rest, goal/2)
	}
	outputs = append(outputs, oldest(rest[last:], size(rest[gone:])-goal)...)
	rest = without(s.history, outputs)
	if gone == 0 || size(rest) <= goal {
		return outputs, nil
	}
	return outputs, rest[:gone]
}

// Summarizable returns the oldest messages, which a summary may replace so that at most a quarter of the history
// remains beside it, or the last message. None: nothing can be replaced.
func (s State) Summarizable() []llm.Message { return s.history[:cut(s.history, size(s.history)/4)] }

// Tokens estimates the tokens of the history.
func (s State) Tokens() int { return (size(s.history) + bytesPerToken - 1) / bytesPerToken }

// bytesPerToken is how many bytes a token has, roughly.
const bytesPerToken = 4

// oldest returns the ids of the oldest outputs that make up the given number of bytes.
func oldest(history []llm.Message, bytes int) []string {
	var ids []string
	for _, m := range history {
		for _, r := range m.Content.Results() {
			if bytes > 0 && len(r.Output) > small {
				bytes -= len(r.Output)
				ids = append(ids, r.ID)
			}
		}
	}
	return ids
}

// cut returns how many of the oldest messages to drop, so that the rest fits the given number of bytes, but at least
// one message. The rest begins with an answer or a user message: results must not stand without their calls.
func cut(history []llm.Message, bytes int) int {
	first, total := len(history), 0
	for i := len(history) - 1; i > 0; i-- {
		total += size(history[i : i+1])
		if first < len(history) && total > bytes {
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

// compact leaves out the outputs and messages of the event.
func (s State) compact(e Compacted) State {
	s.compacted = true
	if s.shortens != nil {
		s.shortens, s.answered = nil, true
	}
	s.history = without(s.history, e.Outputs)
	if e.Messages == 0 {
		return s
	}
	gone := min(e.Messages, len(s.history))
	s.history = slices.Insert(s.history[gone:], 0, llm.UserMessage("Summary of our conversation so far, which had grown too long:\n\n"+e.Summary))
	return s
}

// without returns a history without some of its outputs. The messages that change are copies.
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

// size returns the rough size of messages in bytes.
func size(history []llm.Message) int {
	n := 0
	for _, m := range history {
		for _, b := range m.Content {
			switch b := b.(type) {
			case llm.Text:
				n += len(b.Text)
			case llm.Image:
				n += b.Tokens() * bytesPerToken // its file is larger, and no measure of it
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
