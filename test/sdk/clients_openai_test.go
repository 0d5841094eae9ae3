package sdk_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"github.com/openai/openai-go/v3"
	gpt "github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
)

const gptModel = "gpt-5"

var chatPeer = peer{
	name:  "chat",
	model: openaiModel(provider.Chat),
	short: func(ctx context.Context, s endpoint, whole bool) (outcome, error) {
		hi := []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Hi")}
		return askChat(ctx, s, whole, openai.ChatCompletionNewParams{Messages: hi})
	},
	long: func(ctx context.Context, s endpoint, whole bool) (outcome, error) {
		return askChat(ctx, s, whole, chatRequest())
	},
	said: openaiSaid,
	deaf: true,
}

var responsesPeer = peer{
	name:  "responses",
	model: openaiModel(provider.Responses),
	short: func(ctx context.Context, s endpoint, whole bool) (outcome, error) {
		var p responses.ResponseNewParams
		p.Input.OfInputItemList = responses.ResponseInputParam{responses.ResponseInputItemParamOfMessage("Hi", responses.EasyInputMessageRoleUser)}
		return askFinal(ctx, s, whole, p)
	},
	long: func(ctx context.Context, s endpoint, whole bool) (outcome, error) {
		return askFinal(ctx, s, whole, responsesRequest())
	},
	said: openaiSaid,
}

// openaiModel returns a model over one of the APIs.
func openaiModel(api provider.API) func(endpoint) llm.Model {
	return func(s endpoint) llm.Model {
		return provider.OpenAI(provider.Config{Model: gptModel, Key: "test", BaseURL: s.url + "/v1", API: api, Client: s.client})
	}
}

// openaiSaid reads the SDK's own errors.
func openaiSaid(err error) (int, string) {
	if e, ok := errors.AsType[*openai.Error](err); ok {
		return e.StatusCode, e.Message
	}
	e, ok := errors.AsType[*ssestream.StreamError](err)
	if !ok {
		return 0, ""
	}
	var body struct {
		Message string
		Error   struct{ Message string }
	}
	_ = json.Unmarshal(e.Event.Data, &body)
	return 0, cmp.Or(body.Error.Message, body.Message)
}

// chatRequest is rich.
func chatRequest() openai.ChatCompletionNewParams {
	called := func(id, name, arguments string) openai.ChatCompletionMessageToolCallUnionParam {
		return openai.ChatCompletionMessageToolCallUnionParam{OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
			ID: id, Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{Name: name, Arguments: arguments},
		}}
	}
	step := openai.ChatCompletionAssistantMessageParam{ToolCalls: []openai.ChatCompletionMessageToolCallUnionParam{
		called("call_1", "read", `{"path":"a.txt"}`), called("call_2", "now", "{}"),
	}}
	step.Content.OfString = openai.String("I look.")
	p := openai.ChatCompletionNewParams{
		MaxTokens: openai.Int(4000), ReasoningEffort: "low",
		Messages: []openai.ChatCompletionMessageParamUnion{
			openai.SystemMessage("Be brief."), openai.UserMessage("What is in a.txt?"),
			{OfAssistant: &step},
			openai.ToolMessage("no such file", "call_1"), openai.ToolMessage("noon", "call_2"),
		},
	}
	for _, t := range rich(llm.Name{}, "").Tools {
		f := shared.FunctionDefinitionParam{Name: t.Name, Description: openai.String(t.Description)}
		_ = json.Unmarshal(t.Schema, &f.Parameters)
		p.Tools = append(p.Tools, openai.ChatCompletionFunctionTool(f))
	}
	return p
}

// askChat asks with the SDK.
func askChat(ctx context.Context, s endpoint, whole bool, p openai.ChatCompletionNewParams) (o outcome, err error) {
	client := s.openai()
	p.Model = gptModel
	if whole {
		c, err := client.Chat.Completions.New(ctx, p, gpt.WithMaxRetries(0))
		if err != nil {
			return o, err
		}
		return ofChat(c), nil
	}
	p.StreamOptions.IncludeUsage = openai.Bool(true)
	stream := client.Chat.Completions.NewStreaming(ctx, p, gpt.WithMaxRetries(0))
	defer stream.Close()
	var c openai.ChatCompletionAccumulator
	for stream.Next() {
		if !c.AddChunk(stream.Current()) {
			return o, errChunk
		}
	}
	return ofChat(&c.ChatCompletion), stream.Err()
}

// ofChat reads a completion.
func ofChat(c *openai.ChatCompletion) (o outcome) {
	u := c.Usage
	o.Usage = llm.Usage{
		Input: int(u.PromptTokens), Output: int(u.CompletionTokens),
		CacheRead: int(u.PromptTokensDetails.CachedTokens), Reasoning: int(u.CompletionTokensDetails.ReasoningTokens),
	}
	for _, choice := range c.Choices {
		o.Text += choice.Message.Content
		for _, call := range choice.Message.ToolCalls {
			o.Calls = append(o.Calls, llm.ToolCall{ID: call.ID, Name: call.Function.Name, Arguments: json.RawMessage(call.Function.Arguments)})
		}
		reasons := map[string]llm.Reason{"stop": llm.Stop, "length": llm.Length, "tool_calls": llm.Calls}
		o.End = llm.End{Reason: reasons[choice.FinishReason], Model: c.Model}
	}
	return o
}

// responsesRequest is rich.
func responsesRequest() (p responses.ResponseNewParams) {
	p.Instructions, p.MaxOutputTokens = openai.String("Be brief."), openai.Int(4000)
	p.Reasoning = shared.ReasoningParam{Effort: "low"}
	thought := param.Override[responses.ResponseReasoningItemParam](json.RawMessage(
		`{"type":"reasoning","summary":[],"encrypted_content":"c2lnbmVk"}`)) // its own form has an empty id, which the API refuses
	result := func(id, output string) responses.ResponseInputItemUnionParam {
		item := responses.ResponseInputItemParamOfFunctionCallOutput(output)
		item.OfFunctionCallOutput.CallID = openai.String(id)
		return item
	}
	p.Input.OfInputItemList = responses.ResponseInputParam{
		responses.ResponseInputItemParamOfMessage("What is in a.txt?", responses.EasyInputMessageRoleUser),
		{OfReasoning: &thought},
		responses.ResponseInputItemParamOfMessage("I look.", responses.EasyInputMessageRoleAssistant),
		responses.ResponseInputItemParamOfFunctionCall(`{"path":"a.txt"}`, "call_1", "read"),
		responses.ResponseInputItemParamOfFunctionCall("{}", "call_2", "now"),
		result("call_1", "no such file"), result("call_2", "noon"),
	}
	for _, t := range rich(llm.Name{}, "").Tools {
		f := &responses.FunctionToolParam{Name: t.Name, Description: openai.String(t.Description), Strict: openai.Bool(false)}
		_ = json.Unmarshal(t.Schema, &f.Parameters)
		p.Tools = append(p.Tools, responses.ToolUnionParam{OfFunction: f})
	}
	return p
}

// askFinal asks with the SDK.
func askFinal(ctx context.Context, s endpoint, whole bool, p responses.ResponseNewParams) (o outcome, err error) {
	client := s.openai()
	p.Model, p.Store = gptModel, openai.Bool(false)
	p.Include = []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent}
	if whole {
		r, err := client.Responses.New(ctx, p, gpt.WithMaxRetries(0))
		if err != nil {
			return o, err
		}
		return ofFinal(r), nil
	}
	stream := client.Responses.NewStreaming(ctx, p, gpt.WithMaxRetries(0))
	defer stream.Close()
	for stream.Next() {
		switch e := stream.Current(); e.Type {
		case "response.completed", "response.incomplete":
			o = ofFinal(&e.Response)
		}
	}
	return o, stream.Err()
}

// ofFinal reads a response.
func ofFinal(r *responses.Response) (o outcome) {
	for _, item := range r.Output {
		switch item.Type {
		case "message":
			for _, part := range item.Content {
				o.Text += part.Text
			}
		case "reasoning":
			for _, part := range item.Summary {
				o.Thought += part.Text
			}
			o.sign(item.EncryptedContent)
		case "function_call":
			o.Calls = append(o.Calls, llm.ToolCall{ID: item.CallID, Name: item.Name, Arguments: json.RawMessage(item.Arguments.OfString)})
		}
	}
	u := r.Usage
	o.Usage = llm.Usage{
		Input: int(u.InputTokens), Output: int(u.OutputTokens),
		CacheRead: int(u.InputTokensDetails.CachedTokens), Reasoning: int(u.OutputTokensDetails.ReasoningTokens),
	}
	o.End = llm.End{Reason: llm.Stop, Model: r.Model}
	if r.Status == "incomplete" {
		o.End.Reason = llm.Length
	}
	return o
}
