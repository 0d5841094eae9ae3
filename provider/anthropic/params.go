package anthropic

import (
	"encoding/json"
	"slices"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/ridethrough/ridethrough/llm"
)

// defaultMaxTokens is the bound on an answer where the request has none. The API wants
// one, and every model since Claude 4 can answer at this length.
const defaultMaxTokens = 32_000

// params gives a request as the API takes it.
func (m *Model) params(r llm.Request) sdk.MessageNewParams {
	p := sdk.MessageNewParams{Model: m.config.Model, MaxTokens: defaultMaxTokens, Messages: messages(r.Messages)}
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

// tool gives a tool with its schema as it stands.
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

// budgets are what an effort means to a model that is told how many tokens it
// may think. Every budget is below the default bound on the answer.
var budgets = map[llm.Effort]int64{llm.Low: 2048, llm.Medium: 8192, llm.High: 24_000}

// leastBudget is the smallest that the API takes.
const leastBudget = 1024

// setThinking asks for the effort in the model's own terms: the newer ones are told how
// hard to think and decide themselves when to, the older ones and those of other
// vendors how many tokens they may think.
func setThinking(p *sdk.MessageNewParams, r llm.Request) {
	switch {
	case r.Effort == "":
	case takesEffort(p.Model):
		p.Thinking.OfAdaptive = &sdk.ThinkingConfigAdaptiveParam{Display: sdk.ThinkingConfigAdaptiveDisplaySummarized} // since 4.7 nothing shows by itself
		p.OutputConfig.Effort = sdk.OutputConfigEffort(r.Effort)
	case p.MaxTokens > leastBudget && mayThink(p.Messages):
		budget := min(budgets[r.Effort], p.MaxTokens/4*3) // the rest is for the answer
		p.Thinking = sdk.ThinkingConfigParamOfEnabled(max(budget, leastBudget))
	}
}

// takesEffort tells whether a model takes an effort and refuses a budget, as Claude
// does from 4.6 on.
func takesEffort(model string) bool {
	older := func(mark string) bool { return strings.Contains(model, mark) }
	return strings.Contains(model, "claude") && !slices.ContainsFunc([]string{"claude-3", "-4-0", "-4-1", "-4-20", "-4-5"}, older)
}

// mayThink tells whether a model with a budget may think about a conversation. In
// the middle of a step with tools it may only if that step began with thoughts
// of its own: it did not if another provider's model has made the calls.
func mayThink(conversation []sdk.MessageParam) bool {
	last := len(conversation) - 1
	if last < 1 || !slices.ContainsFunc(conversation[last].Content, func(b sdk.ContentBlockParamUnion) bool { return b.OfToolResult != nil }) {
		return true
	}
	before := conversation[last-1].Content
	return len(before) > 0 && (before[0].OfThinking != nil || before[0].OfRedactedThinking != nil)
}

// markCacheable marks how far a request may be kept in the provider's cache: an agent
// sends the same again and again with a little more at the end, and pays a tenth
// for what is found there. The message before the last is marked too, because
// the cache is searched only 20 blocks back from a mark.
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
