package anthropic

import (
	"encoding/json"
	"slices"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/ridethrough/ridethrough/llm"
)

// defaultMaxTokens is the limit on an answer where the request has none. The API requires one; every model
// since Claude 4 allows this.
const defaultMaxTokens = 32_000

// params converts a request.
func (m *Model) params(r llm.Request) sdk.MessageNewParams {
	p := sdk.MessageNewParams{Model: m.config.Model, MaxTokens: defaultMaxTokens, Messages: messages(m.Name().Provider, r.Messages)}
	if r.MaxTokens > 0 {
		p.MaxTokens = int64(r.MaxTokens)
	}
	if strings.TrimSpace(r.System) != "" {
		p.System = []sdk.TextBlockParam{{Text: r.System}}
	}
	for _, t := range r.Tools {
		p.Tools = append(p.Tools, sdk.ToolUnionParam{OfTool: tool(t)})
	}
	setThinking(&p, r)
	markCacheable(&p)
	return p
}

// tool converts a tool, with its schema unchanged.
func tool(t llm.Tool) *sdk.ToolParam {
	p := &sdk.ToolParam{Name: t.Name}
	if t.Description != "" {
		p.Description = param.NewOpt(t.Description)
	}
	p.InputSchema.Properties = struct{}{}
	if len(t.Schema) > 0 {
		p.InputSchema = param.Override[sdk.ToolInputSchemaParam](json.RawMessage(t.Schema))
	}
	return p
}

// budgets are the efforts as a thinking budget in tokens. Every budget is below the default limit on the
// answer.
var budgets = map[llm.Effort]int64{llm.Low: 2048, llm.Medium: 8192, llm.High: 24_000}

// leastBudget is the smallest budget that the API accepts.
const leastBudget = 1024

// setThinking sets the effort in the model's own terms: newer models take an effort and decide themselves
// when to think, older ones and those of other vendors take a budget of tokens.
func setThinking(p *sdk.MessageNewParams, r llm.Request) {
	switch {
	case r.Effort == "":
	case takesEffort(p.Model):
		// Since 4.7 thinking is hidden by default.
		p.Thinking.OfAdaptive = &sdk.ThinkingConfigAdaptiveParam{Display: sdk.ThinkingConfigAdaptiveDisplaySummarized}
		p.OutputConfig.Effort = sdk.OutputConfigEffort(r.Effort)
	case p.MaxTokens > leastBudget && mayThink(p.Messages):
		budget := min(budgets[r.Effort], p.MaxTokens/4*3) // the rest is for the answer
		p.Thinking = sdk.ThinkingConfigParamOfEnabled(max(budget, leastBudget))
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
func mayThink(conversation []sdk.MessageParam) bool {
	last := len(conversation) - 1
	if last < 1 || !slices.ContainsFunc(conversation[last].Content, func(b sdk.ContentBlockParamUnion) bool { return b.OfToolResult != nil }) {
		return true
	}
	before := conversation[last-1].Content
	return len(before) > 0 && (before[0].OfThinking != nil || before[0].OfRedactedThinking != nil)
}

// markCacheable marks how far a request may be cached by the provider: an agent sends the same prefix again
// and again, and cached tokens cost a tenth. The last two user messages are marked, because the cache is
// searched only 20 blocks back from a mark.
func markCacheable(p *sdk.MessageNewParams) {
	mark := sdk.NewCacheControlEphemeralParam()
	if n := len(p.System); n > 0 {
		p.System[n-1].CacheControl = mark
	}
	if n := len(p.Tools); n > 0 {
		p.Tools[n-1].OfTool.CacheControl = mark
	}
	marks := 2
	for _, m := range slices.Backward(p.Messages) {
		if m.Role != sdk.MessageParamRoleUser {
			continue
		}
		if c := m.Content[len(m.Content)-1].GetCacheControl(); c != nil {
			*c = mark
		}
		if marks--; marks == 0 {
			return
		}
	}
}
