package openai

import (
	"context"
	"strconv"
	"strings"

	"github.com/ridethrough/ridethrough/internal/dialect"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
)

// askResponses sends a request to the Responses API.
func (m *Model) askResponses(ctx context.Context, r llm.Request, c *provider.Call) error {
	request, err := m.responsesRequest(r)
	if err != nil {
		return err
	}
	resp, err := m.post(ctx, request, "responses")
	if err != nil {
		return err
	}
	a := &responsesAnswer{call: c, calls: callCollector{taken: callIDs(r.Messages)}}
	return read(resp, dialect.OpenAIResponses(), a, c)
}

// responsesRequest converts a request. Nothing is stored at the provider; reasoning is transmitted encrypted.
func (m *Model) responsesRequest(r llm.Request) (*responsesRequest, error) {
	q := &responsesRequest{
		Model: m.name.Model, Instructions: r.System, MaxOutputTokens: max(r.MaxTokens, 0), Stream: !r.NoStream,
	}
	if canReason(m.name.Model) {
		q.Include = []string{"reasoning.encrypted_content"}
	}
	reasoning := reasoningConfig{Effort: string(r.Effort)}
	if m.summaries {
		reasoning.Summary = "auto"
	}
	if reasoning != (reasoningConfig{}) {
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
		items, err := m.items(msg)
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
	for _, old := range [...]string{"gpt-3", "gpt-4", "chatgpt-", "ft:gpt-3", "ft:gpt-4"} {
		if strings.HasPrefix(model, old) {
			return false
		}
	}
	return !strings.Contains(model, "-chat")
}

// items converts a message.
func (m *Model) items(msg llm.Message) ([]any, error) {
	switch msg.Role {
	case llm.User:
		return []any{messageItem{"user", inputUser(msg)}}, nil
	case llm.ToolRole:
		var results []any
		for _, r := range msg.Content.Results() {
			results = append(results, resultItem{"function_call_output", callID(r.ID), r.Output})
		}
		return results, nil
	case llm.Assistant:
		return assistantItems(msg, msg.By.Provider == m.name.Provider), nil
	}
	return nil, invalid("unknown role " + strconv.Quote(string(msg.Role)))
}

// inputUser returns what a user says.
func inputUser(msg llm.Message) any {
	return userContent(msg,
		func(url string) inputPart { return inputPart{Type: "input_image", ImageURL: url} },
		func(text string) inputPart { return inputPart{Type: "input_text", Text: text} },
	)
}

// assistantItems converts a model's message. own means that the same provider produced it and gets its
// reasoning back, but only before the item that it led to: the API rejects reasoning that nothing follows.
func assistantItems(msg llm.Message, own bool) []any {
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
			item = callItem{"function_call", callID(b.ID), b.Name, argumentsText(b.Arguments)}
		default:
			continue
		}
		items = append(append(items, thoughts...), item)
		thoughts = nil
	}
	return items
}

// callID returns a call's id as the API accepts it.
func callID(id string) string {
	return provider.FitID(id, func(id string) bool { return len(id) <= 64 })
}
