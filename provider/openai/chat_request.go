package openai

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strconv"

	"github.com/ridethrough/ridethrough/internal/dialect"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
)

// askChat sends a request to Chat Completions.
func (m *Model) askChat(ctx context.Context, r llm.Request, c *provider.Call) error {
	request, err := m.chatRequest(r)
	if err != nil {
		return err
	}
	resp, err := m.post(ctx, request, "chat", "completions")
	if err != nil {
		return err
	}
	a := &chatAnswer{call: c, calls: callCollector{taken: callIDs(r.Messages)}}
	return read(resp, dialect.OpenAIChat(), a, c)
}

// chatRequest converts a request.
func (m *Model) chatRequest(r llm.Request) (*chatRequest, error) {
	q := &chatRequest{Model: m.name.Model, ReasoningEffort: string(r.Effort), Stream: !r.NoStream}
	switch {
	case r.MaxTokens > 0 && m.maxCompletionTokens: // reasoning models reject the old name
		q.MaxCompletionTokens = r.MaxTokens
	case r.MaxTokens > 0: // many servers reject the new one
		q.MaxTokens = r.MaxTokens
	}
	if q.Stream {
		q.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	for _, t := range r.Tools {
		f, err := functionOf(t)
		if err != nil {
			return nil, err
		}
		q.Tools = append(q.Tools, chatTool{"function", f})
	}
	if r.System != "" {
		q.Messages = append(q.Messages, chatMessage{Role: "system", Content: r.System})
	}
	turn := lastUser(r.Messages)
	for i, msg := range r.Messages {
		converted, err := m.chatMessages(msg, i > turn)
		if err != nil {
			return nil, err
		}
		q.Messages = append(q.Messages, converted...)
	}
	return q, nil
}

// lastUser returns the index of the last message of a user, or -1.
func lastUser(messages []llm.Message) int {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role == llm.User {
			return i
		}
	}
	return -1
}

// chatMessages converts a message; the API has one for each tool result. current means that it belongs to
// the unfinished answer.
func (m *Model) chatMessages(msg llm.Message, current bool) ([]chatMessage, error) {
	switch msg.Role {
	case llm.User:
		return []chatMessage{{Role: "user", Content: chatUser(msg)}}, nil
	case llm.ToolRole:
		var results []chatMessage
		for _, r := range msg.Content.Results() {
			results = append(results, chatMessage{Role: "tool", Content: r.Output, ToolCallID: chatID(r.ID)})
		}
		return results, nil
	case llm.Assistant:
		return chatAssistant(msg, current && msg.By.Provider == m.name.Provider), nil
	}
	return nil, invalid("unknown role " + strconv.Quote(string(msg.Role)))
}

// chatUser returns what a user says.
func chatUser(msg llm.Message) any {
	return userContent(msg,
		func(url string) chatPart { return chatPart{Type: "image_url", Image: &chatImage{url}} },
		func(text string) chatPart { return chatPart{Type: "text", Text: text} },
	)
}

// userContent returns what a user says: a text, which every server takes, and parts only where there are images.
func userContent[T any](msg llm.Message, image, text func(string) T) any {
	if len(msg.Content.Images()) == 0 {
		return msg.Text()
	}
	var parts []T
	for _, b := range msg.Content {
		switch b := b.(type) {
		case llm.Image:
			parts = append(parts, image(dataURL(b)))
		case llm.Text:
			if b.Text != "" {
				parts = append(parts, text(b.Text))
			}
		}
	}
	return parts
}

// dataURL returns an image as a URL that contains it.
func dataURL(i llm.Image) string {
	return "data:" + i.MediaType + ";base64," + base64.StdEncoding.EncodeToString(i.Data)
}

// chatAssistant converts a model's message. An empty one is left out: the API rejects it.
//
// thinks means that reasoning is sent back with it, as the servers with this field require: DeepSeek and
// Moonshot reject a request without it, until the next user message.
func chatAssistant(msg llm.Message, thinks bool) []chatMessage {
	said := chatMessage{Role: "assistant"}
	for _, b := range msg.Content {
		switch b := b.(type) {
		case llm.Reasoning:
			if thinks && b.Signature == reasoningContent {
				said.ReasoningContent += b.Text
			}
		case llm.ToolCall:
			f := chatFunction{b.Name, arguments(argumentsText(b.Arguments))}
			said.ToolCalls = append(said.ToolCalls, chatCall{ID: chatID(b.ID), Type: "function", Function: f})
		}
	}
	if text := msg.Text(); text != "" {
		said.Content = text
	}
	if said.Content == nil && said.ToolCalls == nil {
		return nil
	}
	return []chatMessage{said}
}

// chatID returns a call's id as the API accepts it.
func chatID(id string) string {
	return provider.FitID(id, func(id string) bool { return len(id) <= 40 })
}

// argumentsText returns a call's arguments as the model wrote them.
func argumentsText(arguments json.RawMessage) string {
	var text string
	if json.Unmarshal(arguments, &text) == nil && len(arguments) > 0 && arguments[0] == '"' {
		return text
	}
	return string(arguments)
}

// function is a tool in both APIs, with its schema unchanged: its order is significant to a model.
type function struct {
	Type        string          `json:"type,omitzero"` // Responses: "function"
	Name        string          `json:"name"`
	Description string          `json:"description,omitzero"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      *bool           `json:"strict,omitzero"` // Responses: false, since omitted means true
}

// functionOf converts a tool.
func functionOf(t llm.Tool) (function, error) {
	f := function{Name: t.Name, Description: t.Description, Parameters: t.Schema}
	if len(t.Schema) == 0 {
		f.Parameters = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	if !json.Valid(f.Parameters) {
		return f, invalid("the schema of tool " + strconv.Quote(t.Name) + " is not JSON")
	}
	return f, nil
}
