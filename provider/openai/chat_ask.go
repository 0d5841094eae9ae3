package openai

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
)

// askChat asks by Chat Completions.
func (m *Model) askChat(ctx context.Context, r llm.Request, c *provider.Call) error {
	question, err := m.chatParams(r)
	if err != nil {
		return err
	}
	var resp *http.Response
	if _, err := m.chat.New(ctx, question, undecoded(r, &resp)...); err != nil {
		return err
	}
	a := &chatAnswer{call: c, calls: callCollector{taken: callIDs(r.Messages)}}
	return read(resp, a, c)
}

// chatParams gives a request in the API's form.
func (m *Model) chatParams(r llm.Request) (openai.ChatCompletionNewParams, error) {
	q := openai.ChatCompletionNewParams{Model: m.name.Model, ReasoningEffort: shared.ReasoningEffort(r.Effort)}
	switch {
	case r.MaxTokens > 0 && m.maxCompletionTokens: // reasoning models refuse the old name
		q.MaxCompletionTokens = openai.Int(int64(r.MaxTokens))
	case r.MaxTokens > 0: // and many servers the new one
		q.MaxTokens = openai.Int(int64(r.MaxTokens))
	}
	if !r.NoStream {
		q.StreamOptions.IncludeUsage = openai.Bool(true)
	}
	for _, t := range r.Tools {
		f, err := functionOf(t)
		if err != nil {
			return q, err
		}
		q.Tools = append(q.Tools, openai.ChatCompletionFunctionTool(param.Override[shared.FunctionDefinitionParam](f)))
	}
	if r.System != "" {
		q.Messages = append(q.Messages, openai.SystemMessage(r.System))
	}
	turn := lastUser(r.Messages)
	for i, msg := range r.Messages {
		said, err := m.chatMessages(msg, i > turn)
		if err != nil {
			return q, err
		}
		q.Messages = append(q.Messages, said...)
	}
	return q, nil
}

// lastUser gives the place of the last message of a user, or -1.
func lastUser(messages []llm.Message) int {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role == llm.User {
			return i
		}
	}
	return -1
}

// chatMessages gives a message in the API's form, which has one for each result.
// current tells that it belongs to the answer that is still under way.
func (m *Model) chatMessages(msg llm.Message, current bool) ([]openai.ChatCompletionMessageParamUnion, error) {
	switch msg.Role {
	case llm.User:
		return []openai.ChatCompletionMessageParamUnion{openai.UserMessage(msg.Text())}, nil
	case llm.ToolRole:
		var results []openai.ChatCompletionMessageParamUnion
		for _, b := range msg.Content {
			if r, ok := b.(llm.ToolResult); ok {
				results = append(results, openai.ToolMessage(r.Output, chatID(r.ID)))
			}
		}
		return results, nil
	case llm.Assistant:
		return chatAssistant(msg, current && msg.By.Provider == m.name.Provider), nil
	}
	return nil, invalid("unknown role " + strconv.Quote(string(msg.Role)))
}

// chatAssistant gives a model's message. One that says nothing is left out: the
// API refuses it.
//
// thinks tells that reasoning goes back with it, as the servers want it whose
// field of the name this is: DeepSeek and Moonshot refuse to go on without, up
// to the next question.
func chatAssistant(msg llm.Message, thinks bool) []openai.ChatCompletionMessageParamUnion {
	var said openai.ChatCompletionAssistantMessageParam
	thought := ""
	for _, b := range msg.Content {
		switch b := b.(type) {
		case llm.Reasoning:
			if thinks && b.Signature == reasoningContent {
				thought += b.Text
			}
		case llm.ToolCall:
			said.ToolCalls = append(said.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{
				OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
					ID:       chatID(b.ID),
					Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{Name: b.Name, Arguments: argumentsText(b.Arguments)},
				},
			})
		}
	}
	text := msg.Text()
	if text == "" && said.ToolCalls == nil {
		return nil
	}
	if text != "" {
		said.Content.OfString = openai.String(text)
	}
	if thought != "" {
		said.SetExtraFields(map[string]any{reasoningContent: thought})
	}
	return []openai.ChatCompletionMessageParamUnion{{OfAssistant: &said}}
}

// chatID gives a call's id as the API takes it.
func chatID(id string) string {
	return provider.FitID(id, func(id string) bool { return len(id) <= 40 })
}

// argumentsText gives a call's arguments as the model wrote them.
func argumentsText(arguments json.RawMessage) string {
	var text string
	if json.Unmarshal(arguments, &text) == nil && len(arguments) > 0 && arguments[0] == '"' {
		return text
	}
	return string(arguments)
}

// function is a tool as both APIs have it, with its schema as it stands: the
// order in it means something to a model.
type function struct {
	Type        string          `json:"type,omitzero"` // Responses: "function"
	Name        string          `json:"name"`
	Description string          `json:"description,omitzero"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      *bool           `json:"strict,omitzero"` // Responses: false, where nothing means true
}

// functionOf gives a tool in the APIs' form.
func functionOf(t llm.Tool) (function, error) {
	f := function{Name: t.Name, Description: t.Description, Parameters: t.Schema}
	if len(t.Schema) == 0 {
		f.Parameters = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	if !json.Valid(f.Parameters) {
		return f, invalid("the schema of tool " + strconv.Quote(t.Name) + " is no JSON")
	}
	return f, nil
}
