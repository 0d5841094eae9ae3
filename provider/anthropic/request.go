package anthropic

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/ridethrough/ridethrough/llm"
)

// defaultMaxTokens is the limit on an answer where the request has none. The API requires one; every model
// since Claude 4 allows this.
const defaultMaxTokens = 32_000

// request converts a request.
func (m *Model) request(r llm.Request) *request {
	q := &request{Model: m.config.Model, MaxTokens: defaultMaxTokens, Messages: messages(m.Name().Provider, r.Messages), Stream: !r.NoStream}
	if r.MaxTokens > 0 {
		q.MaxTokens = r.MaxTokens
	}
	if strings.TrimSpace(r.System) != "" {
		q.System = []block{textBlock(r.System)}
	}
	for _, t := range r.Tools {
		q.Tools = append(q.Tools, toolOf(t))
	}
	q.setThinking(r)
	q.markCacheable()
	return q
}

// toolOf converts a tool, with its schema unchanged.
func toolOf(t llm.Tool) tool {
	if len(t.Schema) == 0 {
		t.Schema = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return tool{Name: t.Name, Description: t.Description, Schema: t.Schema}
}

// budgets are the efforts as a thinking budget in tokens. Every budget is below the default limit on the
// answer.
var budgets = map[llm.Effort]int{llm.Low: 2048, llm.Medium: 8192, llm.High: 24_000}

// leastBudget is the smallest budget that the API accepts.
const leastBudget = 1024

// setThinking sets the effort in the model's own terms: newer models take an effort and decide themselves
// when to think, older ones and those of other vendors take a budget of tokens.
func (q *request) setThinking(r llm.Request) {
	switch {
	case r.Effort == "":
	case takesEffort(q.Model):
		q.Thinking = &thinking{Type: "adaptive", Display: "summarized"} // since 4.7 thinking is hidden by default
		q.Output = &outputConfig{string(r.Effort)}
	case q.MaxTokens > leastBudget && mayThink(q.Messages):
		budget := min(budgets[r.Effort], q.MaxTokens/4*3) // the rest is for the answer
		q.Thinking = &thinking{Type: "enabled", Budget: max(budget, leastBudget)}
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
func mayThink(conversation []message) bool {
	last := len(conversation) - 1
	if last < 1 || !slices.ContainsFunc(conversation[last].Content, func(b block) bool { return b.Type == typeResult }) {
		return true
	}
	before := conversation[last-1].Content
	return len(before) > 0 && isThinking(before[0])
}

// isThinking reports whether a block is thinking, shown or not.
func isThinking(b block) bool { return b.Type == typeThinking || b.Type == typeRedacted }

// markCacheable marks how far a request may be cached by the provider: an agent sends the same prefix again
// and again, and cached tokens cost a tenth. The last two user messages are marked, because the cache is
// searched only 20 blocks back from a mark.
func (q *request) markCacheable() {
	mark := &cacheControl{"ephemeral"}
	if n := len(q.System); n > 0 {
		q.System[n-1].Cache = mark
	}
	if n := len(q.Tools); n > 0 {
		q.Tools[n-1].Cache = mark
	}
	marks := 2
	for _, m := range slices.Backward(q.Messages) {
		if m.Role != roleUser {
			continue
		}
		m.Content[len(m.Content)-1].Cache = mark
		if marks--; marks == 0 {
			return
		}
	}
}
