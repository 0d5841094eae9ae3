package sdk_test

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/ollama/ollama/api"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
)

const ollamaModel = "qwen3"

var ollamaPeer = peer{
	name: "ollama",
	model: func(s endpoint) llm.Model {
		return provider.Ollama(provider.Config{Model: ollamaModel, BaseURL: s.url, Client: s.client})
	},
	short: func(ctx context.Context, s endpoint, whole bool) (outcome, error) {
		return askOllama(ctx, s, whole, &api.ChatRequest{Messages: []api.Message{{Role: "user", Content: "Hi"}}, Options: map[string]any{}})
	},
	long: func(ctx context.Context, s endpoint, whole bool) (outcome, error) {
		r, err := ollamaRequest()
		if err != nil {
			return outcome{}, err
		}
		return askOllama(ctx, s, whole, r)
	},
	said: func(err error) (int, string) {
		if e, ok := errors.AsType[api.StatusError](err); ok {
			return e.StatusCode, e.ErrorMessage
		}
		if e, ok := errors.AsType[api.AuthorizationError](err); ok {
			return e.StatusCode, "unauthorized" // its type has no place for the text
		}
		return 0, err.Error() // it has no type for an error inside a stream
	},
}

// ollamaRequest is rich.
func ollamaRequest() (*api.ChatRequest, error) {
	r := &api.ChatRequest{
		Options: map[string]any{"num_predict": 4000},
		Think:   &api.ThinkValue{Value: true},
		Messages: []api.Message{
			{Role: "system", Content: "Be brief."},
			{Role: "user", Content: "What is in a.txt?"},
			{Role: "assistant", Content: "I look.", Thinking: "Let me see."},
			{Role: "tool", Content: "no such file", ToolName: "read", ToolCallID: "call_1"},
			{Role: "tool", Content: "noon", ToolName: "now", ToolCallID: "call_2"},
		},
	}
	const calls = `[{"id":"call_1","function":{"index":0,"name":"read","arguments":{"path":"a.txt"}}},{"id":"call_2","function":{"index":1,"name":"now","arguments":{}}}]`
	if err := json.Unmarshal([]byte(calls), &r.Messages[2].ToolCalls); err != nil {
		return nil, err
	}
	for _, t := range rich(llm.Name{}, "").Tools {
		tool := api.Tool{Type: "function", Function: api.ToolFunction{Name: t.Name, Description: t.Description}}
		if err := json.Unmarshal(t.Schema, &tool.Function.Parameters); err != nil {
			return nil, err
		}
		r.Tools = append(r.Tools, tool)
	}
	return r, nil
}

// askOllama asks with the SDK.
func askOllama(ctx context.Context, s endpoint, whole bool, r *api.ChatRequest) (o outcome, err error) {
	client, err := s.ollama()
	if err != nil {
		return o, err
	}
	stream, never := !whole, false
	r.Model, r.Stream, r.Truncate, r.Shift = ollamaModel, &stream, &never, &never
	err = client.Chat(ctx, r, func(line api.ChatResponse) error {
		o.Text += line.Message.Content
		o.Thought += line.Message.Thinking
		for _, c := range line.Message.ToolCalls {
			o.Calls = append(o.Calls, llm.ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: json.RawMessage(c.Function.Arguments.String())})
		}
		if line.Done {
			reasons := map[string]llm.Reason{"stop": llm.Stop, "length": llm.Length}
			o.Usage = llm.Usage{Input: line.PromptEvalCount, Output: line.EvalCount}
			o.End = llm.End{Reason: reasons[line.DoneReason], Model: line.Model}
		}
		return nil
	})
	return o, err
}
