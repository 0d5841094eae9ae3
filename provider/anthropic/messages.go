package anthropic

import (
	"encoding/json"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
)

// redacted begins the signature of thoughts that the provider keeps to itself.
const redacted = "redacted:"

// messages gives a conversation as the API takes it: the user and the tools are
// one party, whose messages in a row are one message, tool results first. What
// is empty is left out, because the API refuses it.
func messages(conversation []llm.Message) (all []sdk.MessageParam) {
	for _, m := range conversation {
		role, content := sdk.MessageParamRoleUser, said(m)
		if m.Role == llm.Assistant {
			role = sdk.MessageParamRoleAssistant
		}
		if len(content) == 0 {
			continue
		}
		if n := len(all); n > 0 && all[n-1].Role == role {
			all[n-1].Content = join(all[n-1].Content, content)
			continue
		}
		all = append(all, sdk.MessageParam{Role: role, Content: join(nil, content)})
	}
	return all
}

// join adds blocks to those of a message, tool results before the rest.
func join(blocks, more []sdk.ContentBlockParamUnion) (joined []sdk.ContentBlockParamUnion) {
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

// said gives the blocks of a message that the API takes.
func said(m llm.Message) (blocks []sdk.ContentBlockParamUnion) {
	for _, b := range m.Content {
		switch b := b.(type) {
		case llm.Text:
			if strings.TrimSpace(b.Text) != "" {
				blocks = append(blocks, sdk.NewTextBlock(b.Text))
			}
		case llm.Reasoning:
			if m.By.Provider == name && b.Signature != "" {
				blocks = append(blocks, thought(b))
			}
		case llm.ToolCall:
			blocks = append(blocks, sdk.NewToolUseBlock(id(b.ID), json.RawMessage(provider.ArgumentsObject(b.Arguments)), b.Name))
		case llm.ToolResult:
			blocks = append(blocks, sdk.ContentBlockParamUnion{OfToolResult: result(b)})
		}
	}
	return blocks
}

// thought gives reasoning back as it came: the API checks the signature.
func thought(r llm.Reasoning) sdk.ContentBlockParamUnion {
	if data, ok := strings.CutPrefix(r.Signature, redacted); ok {
		return sdk.NewRedactedThinkingBlock(data)
	}
	return sdk.NewThinkingBlock(r.Signature, r.Text)
}

// result gives a tool's result; one that says nothing has no content.
func result(r llm.ToolResult) *sdk.ToolResultBlockParam {
	p := &sdk.ToolResultBlockParam{ToolUseID: id(r.ID)}
	if r.Failed {
		p.IsError = param.NewOpt(true)
	}
	if strings.TrimSpace(r.Output) != "" {
		p.Content = []sdk.ToolResultBlockParamContentUnion{{OfText: &sdk.TextBlockParam{Text: r.Output}}}
	}
	return p
}

// id gives a call's id as the API takes it.
func id(s string) string { return provider.FitID(s, fits) }

// fits tells whether the API takes an id: it knows fewer characters than others.
func fits(id string) bool {
	const known = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
	return id != "" && len(id) <= 64 && strings.Trim(id, known) == ""
}
