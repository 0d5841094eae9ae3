package provider

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"

	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/api/openai"
	"github.com/ridethrough/ridethrough/llm"
)

var chatDialect = dialect{
	api: openai.Chat(), form: api.Events, silent: llm.Stop, doneEnds: true,
	ask: func(m *Model, r llm.Request) (question, error) {
		q, err := m.chatRequest(r)
		return question{m.config.BaseURL, []string{"chat/completions"}, http.Header{"Authorization": {bearer(m.config.Key)}}, q}, err
	},
}

// chatRequest converts a request to one of Chat Completions.
func (m *Model) chatRequest(r llm.Request) (*chatRequest, error) {
	q := &chatRequest{Model: m.config.Model, ReasoningEffort: string(r.Effort), Stream: !r.NoStream}
	switch {
	case r.MaxTokens > 0 && m.maxCompletionTokens: // reasoning models reject the old name
		q.MaxCompletionTokens = r.MaxTokens
	case r.MaxTokens > 0: // many servers reject the new one
		q.MaxTokens = r.MaxTokens
	}
	if q.Stream {
		q.StreamOptions = &chatStreamOptions{IncludeUsage: true}
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
	for i, msg := range r.Messages {
		current := !slices.ContainsFunc(r.Messages[i:], func(m llm.Message) bool { return m.Role == llm.User })
		converted, err := m.chatMessages(msg, current)
		if err != nil {
			return nil, err
		}
		q.Messages = append(q.Messages, converted...)
	}
	return q, nil
}

// chatMessages converts a message; the API has one for each tool result. current means that it belongs to
// the unfinished answer.
func (m *Model) chatMessages(msg llm.Message, current bool) ([]chatMessage, error) {
	switch msg.Role {
	case llm.User:
		return []chatMessage{{Role: "user", Content: userContent(msg,
			func(url string) chatPart {
				return chatPart{Type: "image_url", Image: &chatImage{url}}
			},
			func(text string) chatPart { return chatPart{Type: "text", Text: text} },
		)}}, nil
	case llm.ToolRole:
		var results []chatMessage
		for _, r := range msg.Content.Results() {
			results = append(results, chatMessage{Role: "tool", Content: r.Output, ToolCallID: chatID(r.ID)})
		}
		return results, nil
	case llm.Assistant:
		return chatAssistant(msg, current && msg.By.Provider == m.config.Provider), nil
	}
	return nil, invalidRequest("unknown role "+strconv.Quote(string(msg.Role)), nil)
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
			parts = append(parts, image("data:"+b.MediaType+";base64,"+base64.StdEncoding.EncodeToString(b.Data)))
		case llm.Text:
			if b.Text != "" {
				parts = append(parts, text(b.Text))
			}
		}
	}
	return parts
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
			f := chatFunction{b.Name, argumentsText(b.Arguments)}
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
	return FitID(id, func(id string) bool { return len(id) <= 40 })
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
	f := function{Name: t.Name, Description: t.Description, Parameters: schemaOf(t)}
	if !json.Valid(f.Parameters) {
		return f, invalidRequest("the schema of tool "+strconv.Quote(t.Name)+" is not JSON", nil)
	}
	return f, nil
}

// schemaOf returns the schema of a tool unchanged, or one without arguments, as the APIs require one.
func schemaOf(t llm.Tool) json.RawMessage {
	if len(t.Schema) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return t.Schema
}

// What follows is Chat Completions as OpenAI's reference describes it, with the members that other servers
// add: of a request what is sent, and of an answer what is read.

// chatRequest asks for an answer.
type chatRequest struct {
	Model               string             `json:"model"`
	Messages            []chatMessage      `json:"messages"`
	Tools               []chatTool         `json:"tools,omitzero"`
	MaxTokens           int                `json:"max_tokens,omitzero"`
	MaxCompletionTokens int                `json:"max_completion_tokens,omitzero"`
	ReasoningEffort     string             `json:"reasoning_effort,omitzero"`
	Stream              bool               `json:"stream,omitzero"`
	StreamOptions       *chatStreamOptions `json:"stream_options,omitzero"`
}

type chatStreamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// chatMessage is a message of a conversation.
type chatMessage struct {
	Role             string     `json:"role"`
	Content          any        `json:"content,omitzero"` // a text, or []chatPart where there are images
	ReasoningContent string     `json:"reasoning_content,omitzero"`
	ToolCalls        []chatCall `json:"tool_calls,omitzero"`
	ToolCallID       string     `json:"tool_call_id,omitzero"` // of a tool's result
}

// chatPart is an image or a text of a user's message.
type chatPart struct {
	Type  string     `json:"type"`
	Text  string     `json:"text,omitzero"`
	Image *chatImage `json:"image_url,omitzero"`
}

type chatImage struct {
	URL string `json:"url"`
}

type chatTool struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

// chatCall is a call in a conversation.
type chatCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}
