package openai

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
)

// askResponses sends a request to the Responses API.
func (m *Model) askResponses(ctx context.Context, r llm.Request, c *provider.Call) error {
	params, err := m.responsesParams(r)
	if err != nil {
		return err
	}
	var resp *http.Response
	if _, err := m.responses.New(ctx, params, undecoded(r, &resp)...); err != nil {
		return err
	}
	return read(resp, &responsesAnswer{call: c, calls: callCollector{taken: callIDs(r.Messages)}}, c)
}

// responsesParams converts a request. Nothing is stored at the provider; reasoning is transmitted encrypted.
func (m *Model) responsesParams(r llm.Request) (responses.ResponseNewParams, error) {
	q := responses.ResponseNewParams{
		Model:     m.name.Model,
		Store:     openai.Bool(false),
		Reasoning: shared.ReasoningParam{Effort: shared.ReasoningEffort(r.Effort)},
	}
	if r.System != "" {
		q.Instructions = openai.String(r.System)
	}
	if r.MaxTokens > 0 {
		q.MaxOutputTokens = openai.Int(int64(r.MaxTokens))
	}
	if canReason(m.name.Model) {
		q.Include = []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent}
	}
	if m.summaries {
		q.Reasoning.Summary = shared.ReasoningSummaryAuto
	}
	for _, t := range r.Tools {
		f, err := functionOf(t)
		if err != nil {
			return q, err
		}
		f.Type, f.Strict = "function", new(bool)
		tool := param.Override[responses.FunctionToolParam](f)
		q.Tools = append(q.Tools, responses.ToolUnionParam{OfFunction: &tool})
	}
	for _, msg := range r.Messages {
		items, err := m.items(msg)
		if err != nil {
			return q, err
		}
		q.Input.OfInputItemList = append(q.Input.OfInputItemList, items...)
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
func (m *Model) items(msg llm.Message) ([]responses.ResponseInputItemUnionParam, error) {
	switch msg.Role {
	case llm.User:
		return []responses.ResponseInputItemUnionParam{
			responses.ResponseInputItemParamOfMessage(msg.Text(), responses.EasyInputMessageRoleUser),
		}, nil
	case llm.ToolRole:
		var results []responses.ResponseInputItemUnionParam
		for _, b := range msg.Content {
			if r, ok := b.(llm.ToolResult); ok {
				result := responses.ResponseInputItemParamOfFunctionCallOutput(r.Output)
				result.OfFunctionCallOutput.CallID = openai.String(callID(r.ID))
				results = append(results, result)
			}
		}
		return results, nil
	case llm.Assistant:
		return assistantItems(msg, msg.By.Provider == m.name.Provider), nil
	}
	return nil, invalid("unknown role " + strconv.Quote(string(msg.Role)))
}

// assistantItems converts a model's message. own means that the same provider produced it and gets its
// reasoning back, but only before the item that it led to: the API rejects reasoning that nothing follows.
func assistantItems(msg llm.Message, own bool) []responses.ResponseInputItemUnionParam {
	var items, thoughts []responses.ResponseInputItemUnionParam
	for _, b := range msg.Content {
		var item responses.ResponseInputItemUnionParam
		switch b := b.(type) {
		case llm.Reasoning:
			if own && b.Signature != "" && b.Signature != reasoningContent {
				thoughts = append(thoughts, reasoningItem(b.Signature))
			}
			continue
		case llm.Text:
			if b.Text == "" {
				continue
			}
			item = responses.ResponseInputItemParamOfMessage(b.Text, responses.EasyInputMessageRoleAssistant)
		case llm.ToolCall:
			item = responses.ResponseInputItemParamOfFunctionCall(argumentsText(b.Arguments), callID(b.ID), b.Name)
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

// reasoningItem returns an item of reasoning. It has no id: without server-side storage the API would not
// find it.
func reasoningItem(encrypted string) responses.ResponseInputItemUnionParam {
	type item struct {
		Type      string   `json:"type"`
		Summary   []string `json:"summary"`
		Encrypted string   `json:"encrypted_content"`
	}
	p := param.Override[responses.ResponseReasoningItemParam](item{"reasoning", []string{}, encrypted})
	return responses.ResponseInputItemUnionParam{OfReasoning: &p}
}
