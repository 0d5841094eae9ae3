package ollama

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
	"github.com/ridethrough/ridethrough/provider/internal/client"
)

// send sends a request.
func (m *Model) send(ctx context.Context, r llm.Request) (*http.Response, error) {
	base, err := ParseHost(m.config.BaseURL)
	if err != nil {
		return nil, err
	}
	question, err := m.request(r)
	if err != nil {
		return nil, err
	}
	header := http.Header{"Accept": {"application/x-ndjson"}}
	if m.config.Key != "" {
		header.Set("Authorization", "Bearer "+m.config.Key)
	}
	return client.Post(ctx, m.client, base.JoinPath("api", "chat").String(), header, question)
}

// request converts a request. A conversation longer than the context window is to be an error: by default
// the server silently drops the oldest messages.
func (m *Model) request(r llm.Request) (*request, error) {
	q := &request{Model: m.config.Model, Stream: !r.NoStream, Think: m.think(r.Effort), Options: map[string]int{}}
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
		q.Messages = append(q.Messages, message{Role: "system", Content: r.System})
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
func (m *Model) think(e llm.Effort) any {
	switch {
	case e == "":
		return nil
	case strings.Contains(m.config.Model, "gpt-oss"):
		return e
	}
	return true
}

// messages converts a message; the API has one for each tool result. An empty message of a model is left out.
func (m *Model) messages(msg llm.Message) ([]message, error) {
	switch msg.Role {
	case llm.User:
		said := message{Role: "user", Content: msg.Text()}
		for _, image := range msg.Content.Images() {
			said.Images = append(said.Images, image.Data)
		}
		return []message{said}, nil
	case llm.ToolRole:
		var results []message
		for _, r := range msg.Content.Results() {
			results = append(results, message{Role: "tool", Content: r.Output, ToolName: r.Name, ToolCallID: r.ID})
		}
		return results, nil
	case llm.Assistant:
		converted := assistant(msg, msg.By.Provider == m.Name().Provider)
		if converted.Content == "" && converted.ToolCalls == nil {
			return nil, nil
		}
		return []message{converted}, nil
	}
	return nil, invalidRequest("unknown role "+strconv.Quote(string(msg.Role)), nil)
}

// assistant converts a model's message. own means that the same server produced it and gets its reasoning
// back: its template decides how much of it to use.
func assistant(msg llm.Message, own bool) message {
	converted := message{Role: "assistant", Content: msg.Text()}
	for _, b := range msg.Content {
		switch b := b.(type) {
		case llm.Reasoning:
			if own {
				converted.Thinking += b.Text
			}
		case llm.ToolCall:
			f := function{Index: len(converted.ToolCalls), Name: b.Name, Arguments: provider.ArgumentsObject(b.Arguments)}
			converted.ToolCalls = append(converted.ToolCalls, call{b.ID, f})
		}
	}
	return converted
}

// toolOf converts a tool. The server requires a type and properties, and refuses what it cannot read.
func toolOf(t llm.Tool) (tool, error) {
	var parameters schema
	if len(t.Schema) > 0 {
		if err := json.Unmarshal(t.Schema, &parameters); err != nil {
			return tool{}, invalidRequest("the schema of tool "+strconv.Quote(t.Name)+" is not a JSON object", err)
		}
	}
	if parameters == nil { // null
		parameters = schema{}
	}
	for member, value := range map[string]string{"type": `"object"`, "properties": "{}"} {
		if given := string(parameters[member]); given == "" || given == "null" {
			parameters[member] = json.RawMessage(value)
		}
	}
	return tool{"function", definition{t.Name, t.Description, parameters}}, nil
}
