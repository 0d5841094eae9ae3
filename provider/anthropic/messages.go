package anthropic

import (
	"encoding/json"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
)

// redactedPrefix begins the signature of redacted thinking.
const redactedPrefix = "redacted:"

// messages converts a conversation. User and tools are one role, whose consecutive messages become one
// message, tool results first. Empty content is dropped, because the API rejects it. own is the provider whose
// reasoning is sent back.
func messages(own string, conversation []llm.Message) (all []sdk.MessageParam) {
	for _, m := range conversation {
		role, content := sdk.MessageParamRoleUser, contentBlocks(own, m)
		if m.Role == llm.Assistant {
			role = sdk.MessageParamRoleAssistant
		}
		if len(content) == 0 {
			continue
		}
		if n := len(all); n > 0 && all[n-1].Role == role {
			all[n-1].Content = joinBlocks(all[n-1].Content, content)
			continue
		}
		all = append(all, sdk.MessageParam{Role: role, Content: joinBlocks(nil, content)})
	}
	return all
}

// joinBlocks appends blocks to those of a message, tool results before the rest.
func joinBlocks(blocks, more []sdk.ContentBlockParamUnion) (joined []sdk.ContentBlockParamUnion) {
	var rest []sdk.ContentBlockParamUnion
	for _, some := range [...][]sdk.ContentBlockParamUnion{blocks, more} {
		for _, b := range some {
			if b.OfToolResult != nil {
				joined = append(joined, b)
				continue
			}
			rest = append(rest, b)
		}
	}
	return append(joined, rest...)
}

// contentBlocks returns the blocks of a message that the API accepts.
func contentBlocks(own string, m llm.Message) (blocks []sdk.ContentBlockParamUnion) {
	for _, b := range m.Content {
		switch b := b.(type) {
		case llm.Text:
			if strings.TrimSpace(b.Text) != "" {
				blocks = append(blocks, sdk.NewTextBlock(b.Text))
			}
		case llm.Reasoning:
			if m.By.Provider == own && b.Signature != "" {
				blocks = append(blocks, thinkingBlock(b))
			}
		case llm.ToolCall:
			blocks = append(blocks, sdk.NewToolUseBlock(callID(b.ID), json.RawMessage(provider.ArgumentsObject(b.Arguments)), b.Name))
		case llm.ToolResult:
			blocks = append(blocks, sdk.ContentBlockParamUnion{OfToolResult: toolResult(b)})
		}
	}
	return blocks
}

// thinkingBlock returns reasoning unchanged: the API checks the signature.
func thinkingBlock(r llm.Reasoning) sdk.ContentBlockParamUnion {
	if data, ok := strings.CutPrefix(r.Signature, redactedPrefix); ok {
		return sdk.NewRedactedThinkingBlock(data)
	}
	return sdk.NewThinkingBlock(r.Signature, r.Text)
}

// toolResult returns a tool's result; an empty one has no content.
func toolResult(r llm.ToolResult) *sdk.ToolResultBlockParam {
	p := &sdk.ToolResultBlockParam{ToolUseID: callID(r.ID)}
	if r.Failed {
		p.IsError = param.NewOpt(true)
	}
	if strings.TrimSpace(r.Output) != "" {
		p.Content = []sdk.ToolResultBlockParamContentUnion{{OfText: &sdk.TextBlockParam{Text: r.Output}}}
	}
	return p
}

// callID returns a call's id as the API accepts it.
func callID(s string) string { return provider.FitID(s, isValidID) }

// isValidID reports whether the API accepts an id: it allows fewer characters than others.
func isValidID(id string) bool {
	const known = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
	return id != "" && len(id) <= 64 && strings.Trim(id, known) == ""
}
