package provider

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/api/anthropic"
	"github.com/ridethrough/ridethrough/llm"
)

// Anthropic returns a model of Claude, or of others behind the Messages API. The base URL is as in ANTHROPIC_BASE_URL,
// without /v1. An invalid Config is reported by the first request.
func Anthropic(c Config) *Model {
	return newModel(c, &messagesDialect, "anthropic", "https://api.anthropic.com/")
}

var messagesDialect = dialect{
	api: anthropic.Messages(), form: api.Events, silent: llm.Other, drains: true,
	ask: func(m *Model, r llm.Request) (question, error) {
		const version = "2023-06-01" // of the API
		header := http.Header{"Anthropic-Version": {version}, "X-Api-Key": {m.config.Key}, "Authorization": {bearer(m.config.Token)}}
		return question{m.config.BaseURL, []string{"v1", "messages"}, header, m.claudeRequest(r)}, nil
	},
}

// claudeDefaultMaxTokens limits an answer whose request states no limit. The API requires one; every model
// since Claude 4 allows this.
const claudeDefaultMaxTokens = 32_000

// claudeRequest converts a request.
func (m *Model) claudeRequest(r llm.Request) *claudeRequest {
	q := &claudeRequest{Model: m.config.Model, MaxTokens: claudeDefaultMaxTokens, Messages: claudeMessages(m.Name().Provider, r.Messages), Stream: !r.NoStream}
	if r.MaxTokens > 0 {
		q.MaxTokens = r.MaxTokens
	}
	if strings.TrimSpace(r.System) != "" {
		q.System = []claudeBlock{claudeTextBlock(r.System)}
	}
	for _, t := range r.Tools {
		q.Tools = append(q.Tools, claudeTool{Name: t.Name, Description: t.Description, Schema: schemaOf(t)})
	}
	q.setThinking(r)
	q.markCacheable()
	return q
}

// claudeBudgets are the efforts as a thinking budget in tokens. Every budget is below the default limit on the
// answer.
var claudeBudgets = map[llm.Effort]int{llm.Low: 2048, llm.Medium: 8192, llm.High: 24_000}

// claudeLeastBudget is the smallest budget that the API accepts.
const claudeLeastBudget = 1024

// setThinking sets the effort in the model's own terms: newer models take an effort and decide themselves
// when to think, older ones and those of other vendors take a budget of tokens.
func (q *claudeRequest) setThinking(r llm.Request) {
	switch {
	case r.Effort == "":
	case takesEffort(q.Model):
		q.Thinking = &claudeThinking{Type: "adaptive", Display: "summarized"} // since 4.7 thinking is hidden by default
		q.Output = &claudeOutputConfig{string(r.Effort)}
	case q.MaxTokens > claudeLeastBudget && mayThink(q.Messages):
		budget := min(claudeBudgets[r.Effort], q.MaxTokens/4*3) // the rest is for the answer
		q.Thinking = &claudeThinking{Type: "enabled", Budget: max(budget, claudeLeastBudget)}
	}
}

// takesEffort reports whether a model takes an effort and rejects a budget, as Claude does from 4.6 on.
func takesEffort(model string) bool {
	older := func(mark string) bool { return strings.Contains(model, mark) }
	return strings.Contains(model, "claude") && !slices.ContainsFunc([]string{"claude-3", "-4-0", "-4-1", "-4-20", "-4-5"}, older)
}

// mayThink reports whether a model with a budget may think about a conversation. In the middle of a step
// with tools it may only if that step began with its own thinking, which is not so if another provider's
// model made the calls.
func mayThink(conversation []claudeMessage) bool {
	last := len(conversation) - 1
	if last < 1 || !slices.ContainsFunc(conversation[last].Content, func(b claudeBlock) bool { return b.Type == claudeTypeResult }) {
		return true
	}
	before := conversation[last-1].Content
	return len(before) > 0 && (before[0].Type == claudeTypeThinking || before[0].Type == claudeTypeRedacted)
}

// markCacheable marks how far a request may be cached by the provider: an agent sends the same prefix again
// and again, and cached tokens cost a tenth. The last two user messages are marked, because the cache is
// searched only 20 blocks back from a mark.
func (q *claudeRequest) markCacheable() {
	mark := &claudeCacheControl{"ephemeral"}
	if n := len(q.System); n > 0 {
		q.System[n-1].Cache = mark
	}
	if n := len(q.Tools); n > 0 {
		q.Tools[n-1].Cache = mark
	}
	marks := 2
	for _, m := range slices.Backward(q.Messages) {
		if m.Role != claudeRoleUser {
			continue
		}
		m.Content[len(m.Content)-1].Cache = mark
		if marks--; marks == 0 {
			return
		}
	}
}

// redactedPrefix begins the signature of redacted thinking.
const redactedPrefix = "redacted:"

// claudeMessages converts a conversation. User and tools are one role, whose consecutive messages become one
// message, tool results first. Empty content is dropped, because the API rejects it. own is the provider whose
// reasoning is sent back.
func claudeMessages(own string, conversation []llm.Message) (all []claudeMessage) {
	for _, m := range conversation {
		role, content := claudeRoleUser, claudeContentBlocks(own, m)
		if m.Role == llm.Assistant {
			role = claudeRoleAssistant
		}
		if len(content) == 0 {
			continue
		}
		if n := len(all); n > 0 && all[n-1].Role == role {
			all[n-1].Content = append(all[n-1].Content, content...)
			continue
		}
		all = append(all, claudeMessage{Role: role, Content: content})
	}
	for _, m := range all {
		slices.SortStableFunc(m.Content, func(a, b claudeBlock) int { return a.place() - b.place() })
	}
	return all
}

// place orders the blocks of a message: tool results are before the rest.
func (b claudeBlock) place() int {
	if b.Type == claudeTypeResult {
		return 0
	}
	return 1
}

// claudeContentBlocks returns the blocks of a message that the API accepts.
func claudeContentBlocks(own string, m llm.Message) (blocks []claudeBlock) {
	for _, b := range m.Content {
		switch b := b.(type) {
		case llm.Text:
			if strings.TrimSpace(b.Text) != "" {
				blocks = append(blocks, claudeTextBlock(b.Text))
			}
		case llm.Image:
			blocks = append(blocks, claudeBlock{Type: claudeTypeImage, Source: &claudeSource{"base64", b.MediaType, b.Data}})
		case llm.Reasoning:
			if m.By.Provider == own && b.Signature != "" {
				blocks = append(blocks, claudeThinkingBlock(b))
			}
		case llm.ToolCall:
			blocks = append(blocks, claudeBlock{Type: claudeTypeToolUse, ID: claudeCallID(b.ID), Name: b.Name, Input: ArgumentsObject(b.Arguments)})
		case llm.ToolResult:
			blocks = append(blocks, claudeToolResult(b))
		}
	}
	return blocks
}

// claudeTextBlock returns a text.
func claudeTextBlock(text string) claudeBlock { return claudeBlock{Type: claudeTypeText, Text: text} }

// claudeThinkingBlock returns reasoning unchanged: the API checks the signature.
func claudeThinkingBlock(r llm.Reasoning) claudeBlock {
	if data, ok := strings.CutPrefix(r.Signature, redactedPrefix); ok {
		return claudeBlock{Type: claudeTypeRedacted, Data: data}
	}
	return claudeBlock{Type: claudeTypeThinking, Thinking: &r.Text, Signature: r.Signature}
}

// claudeToolResult returns a tool's result; an empty one has no content.
func claudeToolResult(r llm.ToolResult) claudeBlock {
	b := claudeBlock{Type: claudeTypeResult, ToolUseID: claudeCallID(r.ID), IsError: r.Failed}
	if strings.TrimSpace(r.Output) != "" {
		b.Content = []claudeBlock{claudeTextBlock(r.Output)}
	}
	return b
}

// claudeCallID returns a call's id as the API accepts it.
func claudeCallID(s string) string { return FitID(s, isClaudeID) }

// isClaudeID reports whether the API accepts an id: it allows fewer characters than others.
func isClaudeID(id string) bool {
	const known = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
	return id != "" && len(id) <= 64 && strings.Trim(id, known) == ""
}

// What follows is the API's own form, as platform.claude.com/docs/en/api/messages describes it: of a request
// what is sent, and of an answer what is read.

// claudeRequest asks for an answer.
type claudeRequest struct {
	Model     string              `json:"model"`
	MaxTokens int                 `json:"max_tokens"`
	System    []claudeBlock       `json:"system,omitzero"`
	Messages  []claudeMessage     `json:"messages"`
	Tools     []claudeTool        `json:"tools,omitzero"`
	Thinking  *claudeThinking     `json:"thinking,omitzero"`
	Output    *claudeOutputConfig `json:"output_config,omitzero"`
	Stream    bool                `json:"stream,omitzero"`
}

// claudeMessage is one of a conversation.
type claudeMessage struct {
	Role    string        `json:"role"`
	Content []claudeBlock `json:"content"`
}

// The roles.
const (
	claudeRoleUser      = "user"
	claudeRoleAssistant = "assistant"
)

// The types of blocks.
const (
	claudeTypeText     = "text"
	claudeTypeImage    = "image"
	claudeTypeThinking = "thinking"
	claudeTypeRedacted = "redacted_thinking"
	claudeTypeToolUse  = "tool_use"
	claudeTypeResult   = "tool_result"
)

// claudeBlock is a block of content, of a message or an answer.
type claudeBlock struct {
	Type string `json:"type"`
	Text string `json:"text,omitzero"`

	Source *claudeSource `json:"source,omitzero"` // of an image

	// Of thinking; a signature may stand alone.
	Thinking  *string `json:"thinking,omitzero"`
	Signature string  `json:"signature,omitzero"`
	Data      string  `json:"data,omitzero"` // of redacted thinking

	// Of a call.
	ID    string          `json:"id,omitzero"`
	Name  string          `json:"name,omitzero"`
	Input json.RawMessage `json:"input,omitzero"`

	// Of a tool's result.
	ToolUseID string        `json:"tool_use_id,omitzero"`
	IsError   bool          `json:"is_error,omitzero"`
	Content   []claudeBlock `json:"content,omitzero"`

	Cache *claudeCacheControl `json:"cache_control,omitzero"` // the request may be cached up to here
}

// claudeSource has an image; encoding/json writes its bytes in base64.
type claudeSource struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      []byte `json:"data"`
}

type claudeCacheControl struct {
	Type string `json:"type"`
}

type claudeTool struct {
	Name        string              `json:"name"`
	Description string              `json:"description,omitzero"`
	Schema      json.RawMessage     `json:"input_schema"`
	Cache       *claudeCacheControl `json:"cache_control,omitzero"`
}

// claudeThinking has a budget, or lets the model decide.
type claudeThinking struct {
	Type    string `json:"type"`
	Budget  int    `json:"budget_tokens,omitzero"`
	Display string `json:"display,omitzero"`
}

type claudeOutputConfig struct {
	Effort string `json:"effort"`
}
