package ollama

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/ollama/ollama/api"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
)

// send sends a request.
func (m *Model) send(ctx context.Context, question *api.ChatRequest) (*http.Response, error) {
	base, err := ParseHost(m.config.BaseURL)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(question)
	if err != nil {
		return nil, invalidRequest("encode the request", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base.JoinPath("api", "chat").String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/x-ndjson")
	if m.config.Key != "" {
		req.Header.Set("Authorization", "Bearer "+m.config.Key)
	}
	return m.client.Do(req)
}

// chatRequest converts a request. A conversation longer than the context window is to be an error: by
// default the server silently drops the oldest messages.
func (m *Model) chatRequest(r llm.Request) (*api.ChatRequest, error) {
	stream, never := !r.NoStream, false
	q := &api.ChatRequest{
		Model: m.config.Model, Stream: &stream, Truncate: &never, Shift: &never,
		Think: m.think(r.Effort), Options: map[string]any{},
	}
	if r.MaxTokens > 0 {
		q.Options["num_predict"] = r.MaxTokens
	}
	if m.config.Context > 0 {
		q.Options["num_ctx"] = m.config.Context
	}
	for _, t := range r.Tools {
		tool, err := toolOf(t)
		if err != nil {
			return nil, err
		}
		q.Tools = append(q.Tools, tool)
	}
	if r.System != "" {
		q.Messages = append(q.Messages, api.Message{Role: "system", Content: r.System})
	}
	for _, msg := range r.Messages {
		converted, err := m.messages(msg)
		if err != nil {
			return nil, err
		}
		q.Messages = append(q.Messages, converted...)
	}
	return q, nil
}

// think converts an effort: gpt-oss has three levels, others think or do not.
func (m *Model) think(e llm.Effort) *api.ThinkValue {
	switch {
	case e == "":
		return nil
	case strings.Contains(m.config.Model, "gpt-oss"):
		return &api.ThinkValue{Value: string(e)}
	}
	return &api.ThinkValue{Value: true}
}

// messages converts a message; the API has one for each tool result. An empty message of a model is left out.
func (m *Model) messages(msg llm.Message) ([]api.Message, error) {
	switch msg.Role {
	case llm.User:
		return []api.Message{{Role: "user", Content: msg.Text()}}, nil
	case llm.ToolRole:
		var results []api.Message
		for _, b := range msg.Content {
			if r, ok := b.(llm.ToolResult); ok {
				results = append(results, api.Message{Role: "tool", Content: r.Output, ToolName: r.Name, ToolCallID: r.ID})
			}
		}
		return results, nil
	case llm.Assistant:
		message := assistant(msg, msg.By.Provider == m.Name().Provider)
		if message.Content == "" && message.ToolCalls == nil {
			return nil, nil
		}
		return []api.Message{message}, nil
	}
	return nil, invalidRequest("unknown role "+strconv.Quote(string(msg.Role)), nil)
}

// assistant converts a model's message. own means that the same server produced it and gets its reasoning
// back: its template decides how much of it to use.
func assistant(msg llm.Message, own bool) api.Message {
	message := api.Message{Role: "assistant", Content: msg.Text()}
	for _, b := range msg.Content {
		switch b := b.(type) {
		case llm.Reasoning:
			if own {
				message.Thinking += b.Text
			}
		case llm.ToolCall:
			call := api.ToolCall{ID: b.ID, Function: api.ToolCallFunction{Index: len(message.ToolCalls), Name: b.Name}}
			_ = json.Unmarshal(provider.ArgumentsObject(b.Arguments), &call.Function.Arguments) // an object always decodes
			message.ToolCalls = append(message.ToolCalls, call)
		}
	}
	return message
}

// toolOf converts a tool. The API supports only part of JSON Schema.
func toolOf(t llm.Tool) (api.Tool, error) {
	tool := api.Tool{Type: "function", Function: api.ToolFunction{Name: t.Name, Description: t.Description}}
	p := &tool.Function.Parameters
	if len(t.Schema) > 0 {
		if err := json.Unmarshal(t.Schema, p); err != nil {
			return tool, invalidRequest("the schema of tool "+strconv.Quote(t.Name)+" is not supported by Ollama", err)
		}
	}
	if p.Type == "" {
		p.Type = "object"
	}
	if p.Properties == nil {
		p.Properties = api.NewToolPropertiesMap()
	}
	return tool, nil
}
