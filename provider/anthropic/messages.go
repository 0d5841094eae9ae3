package anthropic

import (
	"encoding/json"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
)

// redactedPrefix begins the signature of thoughts that the provider keeps to itself.
const redactedPrefix = "redacted:"

// messages gives a conversation as the API takes it: the user and the tools are
// one party, whose messages in a row are one message, tool results first. What
// is empty is left out, because the API refuses it.
func messages(conversation []llm.Message) (all []sdk.MessageParam) {
	for _, m := range conversation {
		role, content := sdk.MessageParamRoleUser, contentBlocks(m)
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

// joinBlocks adds blocks to those of a message, tool results before the rest.
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

// contentBlocks gives the blocks of a message that the API takes.
func contentBlocks(m llm.Message) (blocks []sdk.ContentBlockParamUnion) {
	for _, b := range m.Content {
		switch b := b.(type) {
		case llm.Text:
			if strings.TrimSpace(b.Text) != "" {
				blocks = append(blocks, sdk.NewTextBlock(b.Text))
			}
		case llm.Reasoning:
			if m.By.Provider == name && b.Signature != "" {
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

// thinkingBlock gives reasoning back as it came: the API checks the signature.
func thinkingBlock(r llm.Reasoning) sdk.ContentBlockParamUnion {
	if data, ok := strings.CutPrefix(r.Signature, redactedPrefix); ok {
		return sdk.NewRedactedThinkingBlock(data)
	}
	return sdk.NewThinkingBlock(r.Signature, r.Text)
}

// toolResult gives a tool's result; one that says nothing has no content.
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

// callID gives a call's id as the API takes it.
func callID(s string) string { return provider.FitID(s, isValidID) }

// isValidID tells whether the API takes an id: it knows fewer characters than others.
func isValidID(id string) bool {
	const known = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
	return id != "" && len(id) <= 64 && strings.Trim(id, known) == ""
}
