package provider

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/api/openai"
	"github.com/ridethrough/ridethrough/llm"
)

var responsesDialect = dialect{
	api: openai.Responses(), form: api.Events, silent: llm.Stop,
	ask: func(m *Model, r llm.Request) (question, error) {
		q, err := m.responsesRequest(r)
		return question{m.config.BaseURL, []string{"responses"}, http.Header{"Authorization": {bearer(m.config.Key)}}, q}, err
	},
}

// responsesRequest converts a request to one of the Responses API. Nothing is stored at the provider; reasoning is transmitted encrypted.
func (m *Model) responsesRequest(r llm.Request) (*responsesRequest, error) {
	q := &responsesRequest{
		Model: m.config.Model, Instructions: r.System, MaxOutputTokens: max(r.MaxTokens, 0), Stream: !r.NoStream,
	}
	if canReason(m.config.Model) {
		q.Include = []string{"reasoning.encrypted_content"}
	}
	reasoning := responsesReasoning{Effort: string(r.Effort)}
	if m.config.Summaries {
		reasoning.Summary = "auto"
	}
	if reasoning != (responsesReasoning{}) {
		q.Reasoning = &reasoning
	}
	for _, t := range r.Tools {
		f, err := functionOf(t)
		if err != nil {
			return nil, err
		}
		f.Type, f.Strict = "function", new(bool)
		q.Tools = append(q.Tools, f)
	}
	for _, msg := range r.Messages {
		items, err := m.responsesItems(msg)
		if err != nil {
			return nil, err
		}
		q.Input = append(q.Input, items...)
	}
	return q, nil
}

// canReason reports whether reasoning can be requested from a model. Older models cannot reason and reject
// the request.
func canReason(model string) bool {
	begins := func(old string) bool { return strings.HasPrefix(model, old) }
	return !slices.ContainsFunc([]string{"gpt-3", "gpt-4", "chatgpt-", "ft:gpt-3", "ft:gpt-4"}, begins) && !strings.Contains(model, "-chat")
}

// responsesItems converts a message.
func (m *Model) responsesItems(msg llm.Message) ([]any, error) {
	switch msg.Role {
	case llm.User:
		return []any{messageItem{"user", userContent(msg,
			func(url string) inputPart { return inputPart{Type: "input_image", ImageURL: url} },
			func(text string) inputPart { return inputPart{Type: "input_text", Text: text} },
		)}}, nil
	case llm.ToolRole:
		var results []any
		for _, r := range msg.Content.Results() {
			results = append(results, resultItem{"function_call_output", responsesID(r.ID), r.Output})
		}
		return results, nil
	case llm.Assistant:
		return responsesAssistant(msg, msg.By.Provider == m.config.Provider), nil
	}
	return nil, invalidRequest("unknown role "+strconv.Quote(string(msg.Role)), nil)
}

// responsesAssistant converts a model's message. own means that the same provider produced it and gets its
// reasoning back, but only before the item that it led to: the API rejects reasoning that nothing follows.
func responsesAssistant(msg llm.Message, own bool) []any {
	var items, thoughts []any
	for _, b := range msg.Content {
		var item any
		switch b := b.(type) {
		case llm.Reasoning:
			if own && b.Signature != "" && b.Signature != reasoningContent {
				thoughts = append(thoughts, reasoningItem{"reasoning", []string{}, b.Signature})
			}
			continue
		case llm.Text:
			if b.Text == "" {
				continue
			}
			item = messageItem{"assistant", b.Text}
		case llm.ToolCall:
			item = callItem{"function_call", responsesID(b.ID), b.Name, argumentsText(b.Arguments)}
		default:
			continue
		}
		items = append(append(items, thoughts...), item)
		thoughts = nil
	}
	return items
}

// responsesID returns a call's id as the API accepts it.
func responsesID(id string) string {
	return FitID(id, func(id string) bool { return len(id) <= 64 })
}

// What follows is the Responses API as OpenAI's reference describes it: of a request what is sent, and of an
// answer what is read.

// responsesRequest asks for an answer.
type responsesRequest struct {
	Model           string              `json:"model"`
	Instructions    string              `json:"instructions,omitzero"`
	Input           []any               `json:"input,omitzero"` // of the types of items below
	Tools           []function          `json:"tools,omitzero"`
	MaxOutputTokens int                 `json:"max_output_tokens,omitzero"`
	Reasoning       *responsesReasoning `json:"reasoning,omitzero"`
	Include         []string            `json:"include,omitzero"`
	Store           bool                `json:"store"`
	Stream          bool                `json:"stream,omitzero"`
}

type responsesReasoning struct {
	Effort  string `json:"effort,omitzero"`
	Summary string `json:"summary,omitzero"`
}

// messageItem is a message of a user or a model.
type messageItem struct {
	Role    string `json:"role"`
	Content any    `json:"content"` // a text, or []inputPart where there are images
}

// inputPart is an image or a text of a user's message.
type inputPart struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitzero"`
	ImageURL string `json:"image_url,omitzero"`
}

// reasoningItem is reasoning as the API gave it. It has no id: without server-side storage the API would not
// find it.
type reasoningItem struct {
	Type      string   `json:"type"`
	Summary   []string `json:"summary"`
	Encrypted string   `json:"encrypted_content"`
}

type callItem struct {
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type resultItem struct {
	Type   string `json:"type"`
	CallID string `json:"call_id"`
	Output string `json:"output"`
}
