package sdk_test

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/anthropics/anthropic-sdk-go/v2"
	claude "github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
)

const claudeModel = "claude-haiku-4-5"

var anthropicPeer = peer{
	name: "anthropic",
	model: func(s endpoint) llm.Model {
		return provider.Anthropic(provider.Config{Model: claudeModel, Key: "test", BaseURL: s.url, Client: s.client})
	},
	short: func(ctx context.Context, s endpoint, whole bool) (outcome, error) {
		hi := anthropic.NewTextBlock("Hi")
		hi.OfText.CacheControl = anthropic.NewCacheControlEphemeralParam()
		return askAnthropic(ctx, s, whole, anthropic.MessageNewParams{MaxTokens: 32_000, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(hi)}})
	},
	long: func(ctx context.Context, s endpoint, whole bool) (outcome, error) {
		return askAnthropic(ctx, s, whole, anthropicRequest())
	},
	said: func(err error) (int, string) {
		e, ok := errors.AsType[*anthropic.Error](err)
		if !ok {
			return 0, ""
		}
		var body struct{ Error struct{ Message string } }
		_ = json.Unmarshal([]byte(e.RawJSON()), &body)
		return e.StatusCode, body.Error.Message
	},
}

// anthropicRequest is rich.
func anthropicRequest() anthropic.MessageNewParams {
	mark := anthropic.NewCacheControlEphemeralParam()
	question := anthropic.NewTextBlock("What is in a.txt?")
	question.OfText.CacheControl = mark
	noon := anthropic.NewToolResultBlock("call_2", "noon", false)
	noon.OfToolResult.IsError = param.Opt[bool]{}
	noon.OfToolResult.CacheControl = mark
	p := anthropic.MessageNewParams{
		MaxTokens: 4000,
		System:    []anthropic.TextBlockParam{{Text: "Be brief.", CacheControl: mark}},
		Thinking:  anthropic.ThinkingConfigParamOfEnabled(2048),
		Messages: []anthropic.MessageParam{
			anthropic.NewUserMessage(question),
			anthropic.NewAssistantMessage(
				anthropic.NewThinkingBlock("c2lnbmVk", "Let me see."), anthropic.NewTextBlock("I look."),
				anthropic.NewToolUseBlock("call_1", json.RawMessage(`{"path":"a.txt"}`), "read"),
				anthropic.NewToolUseBlock("call_2", json.RawMessage(`{}`), "now"),
			),
			anthropic.NewUserMessage(anthropic.NewToolResultBlock("call_1", "no such file", true), noon),
		},
	}
	for _, t := range rich(llm.Name{}, "").Tools {
		p.Tools = append(p.Tools, anthropic.ToolUnionParam{OfTool: &anthropic.ToolParam{
			Name: t.Name, Description: anthropic.String(t.Description), InputSchema: param.Override[anthropic.ToolInputSchemaParam](t.Schema),
		}})
	}
	p.Tools[1].OfTool.CacheControl = mark
	return p
}

// askAnthropic asks with the SDK.
func askAnthropic(ctx context.Context, s endpoint, whole bool, p anthropic.MessageNewParams) (o outcome, err error) {
	client := s.anthropic()
	p.Model = claudeModel
	if whole {
		m, err := client.Messages.New(ctx, p, claude.WithMaxRetries(0), claude.WithRequestTimeout(1<<40))
		if err != nil {
			return o, err
		}
		return ofAnthropic(m), nil
	}
	stream := client.Messages.NewStreaming(ctx, p, claude.WithMaxRetries(0))
	defer stream.Close()
	var m anthropic.Message
	for stream.Next() {
		if err := m.Accumulate(stream.Current()); err != nil {
			return o, err
		}
	}
	return ofAnthropic(&m), stream.Err()
}

// ofAnthropic reads a message.
func ofAnthropic(m *anthropic.Message) (o outcome) {
	for _, b := range m.Content {
		switch b.Type {
		case "text":
			o.Text += b.Text
		case "thinking":
			o.Thought += b.Thinking
			o.sign(b.Signature)
		case "tool_use":
			o.Calls = append(o.Calls, llm.ToolCall{ID: b.ID, Name: b.Name, Arguments: b.Input})
		}
	}
	u := m.Usage
	o.Usage = llm.Usage{
		Input: int(u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens), Output: int(u.OutputTokens),
		CacheRead: int(u.CacheReadInputTokens), CacheWrite: int(u.CacheCreationInputTokens), Reasoning: int(u.OutputTokensDetails.ThinkingTokens),
	}
	reasons := map[anthropic.StopReason]llm.Reason{"end_turn": llm.Stop, "max_tokens": llm.Length}
	o.End = llm.End{Reason: reasons[m.StopReason], Model: m.Model}
	return o
}
