package anthropic

import (
	"strings"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
)

// redactedPrefix begins the signature of redacted thinking.
const redactedPrefix = "redacted:"

// messages converts a conversation. User and tools are one role, whose consecutive messages become one
// message, tool results first. Empty content is dropped, because the API rejects it. own is the provider whose
// reasoning is sent back.
func messages(own string, conversation []llm.Message) (all []message) {
	for _, m := range conversation {
		role, content := roleUser, contentBlocks(own, m)
		if m.Role == llm.Assistant {
			role = roleAssistant
		}
		if len(content) == 0 {
			continue
		}
		if n := len(all); n > 0 && all[n-1].Role == role {
			all[n-1].Content = joinBlocks(all[n-1].Content, content)
			continue
		}
		all = append(all, message{Role: role, Content: joinBlocks(nil, content)})
	}
	return all
}

// joinBlocks appends blocks to those of a message, tool results before the rest.
func joinBlocks(blocks, more []block) (joined []block) {
	var rest []block
	for _, some := range [...][]block{blocks, more} {
		for _, b := range some {
			if b.Type == typeResult {
				joined = append(joined, b)
				continue
			}
			rest = append(rest, b)
		}
	}
	return append(joined, rest...)
}

// contentBlocks returns the blocks of a message that the API accepts.
func contentBlocks(own string, m llm.Message) (blocks []block) {
	for _, b := range m.Content {
		switch b := b.(type) {
		case llm.Text:
			if strings.TrimSpace(b.Text) != "" {
				blocks = append(blocks, textBlock(b.Text))
			}
		case llm.Image:
			blocks = append(blocks, block{Type: typeImage, Source: &source{"base64", b.MediaType, b.Data}})
		case llm.Reasoning:
			if m.By.Provider == own && b.Signature != "" {
				blocks = append(blocks, thinkingBlock(b))
			}
		case llm.ToolCall:
			blocks = append(blocks, block{Type: typeToolUse, ID: callID(b.ID), Name: b.Name, Input: provider.ArgumentsObject(b.Arguments)})
		case llm.ToolResult:
			blocks = append(blocks, toolResult(b))
		}
	}
	return blocks
}

// textBlock returns a text.
func textBlock(text string) block { return block{Type: typeText, Text: text} }

// thinkingBlock returns reasoning unchanged: the API checks the signature.
func thinkingBlock(r llm.Reasoning) block {
	if data, ok := strings.CutPrefix(r.Signature, redactedPrefix); ok {
		return block{Type: typeRedacted, Data: data}
	}
	return block{Type: typeThinking, Thinking: &r.Text, Signature: r.Signature}
}

// toolResult returns a tool's result; an empty one has no content.
func toolResult(r llm.ToolResult) block {
	b := block{Type: typeResult, ToolUseID: callID(r.ID), IsError: r.Failed}
	if strings.TrimSpace(r.Output) != "" {
		b.Content = []block{textBlock(r.Output)}
	}
	return b
}

// callID returns a call's id as the API accepts it.
func callID(s string) string { return provider.FitID(s, isValidID) }

// isValidID reports whether the API accepts an id: it allows fewer characters than others.
func isValidID(id string) bool {
	const known = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
	return id != "" && len(id) <= 64 && strings.Trim(id, known) == ""
}
