package gemini

import (
	"math"
	"strings"

	"github.com/ridethrough/ridethrough/llm"
)

// request converts a request.
func (m *Model) request(r llm.Request) request {
	q := request{
		Contents: contents(m.Name(), r.Messages),
		Config:   generationConfig{MaxOutputTokens: min(max(r.MaxTokens, 0), math.MaxInt32), Thinking: thinking(m.config.Model, r.Effort)},
	}
	if r.System != "" {
		q.System = &content{Role: roleUser, Parts: []part{{Text: r.System}}}
	}
	var functions []function
	for _, t := range r.Tools {
		functions = append(functions, function{t.Name, t.Description, t.Schema})
	}
	if functions != nil {
		q.Tools = []tools{{functions}}
	}
	return q
}

// budgets are the efforts as a thinking budget in tokens. Every model with a budget accepts them.
var budgets = map[llm.Effort]int{llm.Low: 1024, llm.Medium: 8192, llm.High: 24_576}

// thinking returns the effort in the model's own terms, with visible thoughts; nil: the model's default.
// Models before 2.5 cannot think, 2.5 takes a budget of tokens, and later ones take a level.
func thinking(model string, e llm.Effort) *thinkingConfig {
	switch {
	case e == "" || isBeforeGemini3(model) && !strings.Contains(model, "gemini-2.5"):
		return nil
	case isBeforeGemini3(model):
		budget, ok := budgets[e]
		if !ok {
			return nil
		}
		return &thinkingConfig{IncludeThoughts: true, Budget: budget}
	}
	return &thinkingConfig{IncludeThoughts: true, Level: strings.ToUpper(string(e))}
}

// isBeforeGemini3 reports whether a model is older than Gemini 3.
func isBeforeGemini3(model string) bool {
	return strings.Contains(model, "gemini-1") || strings.Contains(model, "gemini-2")
}
