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

// askResponses asks by the Responses API.
func (m *Model) askResponses(ctx context.Context, r llm.Request, c *provider.Call) error {
	question, err := m.responsesParams(r)
	if err != nil {
		return err
	}
	var resp *http.Response
	if _, err := m.responses.New(ctx, question, undecoded(r, &resp)...); err != nil {
		return err
	}
	return read(resp, &responsesAnswer{call: c, calls: callCollector{taken: callIDs(r.Messages)}}, c)
}

// responsesParams gives a request in the API's form. Nothing is stored there, so that
// the conversation is ours alone; what a model has thought travels encrypted.
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

// canReason tells whether a model's reasoning can be asked for. Those that do not
// reason refuse the question, and they are the old ones.
func canReason(model string) bool {
	for _, old := range [...]string{"gpt-3", "gpt-4", "chatgpt-", "ft:gpt-3", "ft:gpt-4"} {
		if strings.HasPrefix(model, old) {
			return false
		}
	}
	return !strings.Contains(model, "-chat")
}

// items gives a message as the API's items.
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

// assistantItems gives a model's message as items. own tells that the provider has said
// it, and gets its reasoning back, but only before what came of it: the API
// refuses reasoning that nothing follows.
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

// callID gives a call's id as the API takes it.
func callID(id string) string {
	return provider.FitID(id, func(id string) bool { return len(id) <= 64 })
}

// reasoningItem is an item of reasoning. It goes back without its id: where nothing is
// stored, the API looks for it in vain.
func reasoningItem(encrypted string) responses.ResponseInputItemUnionParam {
	type item struct {
		Type      string   `json:"type"`
		Summary   []string `json:"summary"`
		Encrypted string   `json:"encrypted_content"`
	}
	p := param.Override[responses.ResponseReasoningItemParam](item{"reasoning", []string{}, encrypted})
	return responses.ResponseInputItemUnionParam{OfReasoning: &p}
}
