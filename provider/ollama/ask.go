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

// send asks a question.
func (m *Model) send(ctx context.Context, question *api.ChatRequest) (*http.Response, error) {
	base, err := ParseHost(m.config.BaseURL)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(question)
	if err != nil {
		return nil, invalidRequest("the request is no JSON", err)
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

// chatRequest gives a request in the API's form. What does not fit the window is to
// be an error: without being told so, the server leaves out the oldest messages
// and says nothing.
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
		said, err := m.messages(msg)
		if err != nil {
			return nil, err
		}
		q.Messages = append(q.Messages, said...)
	}
	return q, nil
}

// think gives an effort as the model has it: gpt-oss in three grades, others
// think or do not.
func (m *Model) think(e llm.Effort) *api.ThinkValue {
	switch {
	case e == "":
		return nil
	case strings.Contains(m.config.Model, "gpt-oss"):
		return &api.ThinkValue{Value: string(e)}
	}
	return &api.ThinkValue{Value: true}
}

// messages gives a message in the API's form, which has one for each result. A
// model's message that says nothing is left out.
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
		said := assistant(msg, msg.By.Provider == m.Name().Provider)
		if said.Content == "" && said.ToolCalls == nil {
			return nil, nil
		}
		return []api.Message{said}, nil
	}
	return nil, invalidRequest("unknown role "+strconv.Quote(string(msg.Role)), nil)
}

// assistant gives a model's message. own tells that a model of the server's has
// said it, and is shown what it thought: its template knows how much of that it
// wants.
func assistant(msg llm.Message, own bool) api.Message {
	said := api.Message{Role: "assistant", Content: msg.Text()}
	for _, b := range msg.Content {
		switch b := b.(type) {
		case llm.Reasoning:
			if own {
				said.Thinking += b.Text
			}
		case llm.ToolCall:
			call := api.ToolCall{ID: b.ID, Function: api.ToolCallFunction{Index: len(said.ToolCalls), Name: b.Name}}
			_ = json.Unmarshal(provider.ArgumentsObject(b.Arguments), &call.Function.Arguments) // an object always can
			said.ToolCalls = append(said.ToolCalls, call)
		}
	}
	return said
}

// toolOf gives a tool in the API's form, which knows less than JSON Schema does:
// the server reads no more of it.
func toolOf(t llm.Tool) (api.Tool, error) {
	tool := api.Tool{Type: "function", Function: api.ToolFunction{Name: t.Name, Description: t.Description}}
	p := &tool.Function.Parameters
	if len(t.Schema) > 0 {
		if err := json.Unmarshal(t.Schema, p); err != nil {
			return tool, invalidRequest("the schema of tool "+strconv.Quote(t.Name)+" is none that Ollama knows", err)
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
