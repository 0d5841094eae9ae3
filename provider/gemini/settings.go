package gemini

import (
	"encoding/json"
	"math"
	"strings"

	"google.golang.org/genai"

	"github.com/ridethrough/ridethrough/llm"
)

// settings converts all of a request but its messages.
func (m *Model) settings(r llm.Request) *genai.GenerateContentConfig {
	c := &genai.GenerateContentConfig{
		ThinkingConfig:        thinking(m.config.Model, r.Effort),
		AutomaticContinuation: genai.Ptr(false), // else the SDK asks for the rest of an answer that breaks off
	}
	if r.MaxTokens > 0 {
		c.MaxOutputTokens = int32(min(r.MaxTokens, math.MaxInt32))
	}
	if r.System != "" {
		c.SystemInstruction = &genai.Content{Parts: []*genai.Part{{Text: r.System}}}
	}
	var functions []*genai.FunctionDeclaration
	for _, t := range r.Tools {
		f := &genai.FunctionDeclaration{Name: t.Name, Description: t.Description}
		if len(t.Schema) > 0 {
			f.ParametersJsonSchema = json.RawMessage(t.Schema)
		}
		functions = append(functions, f)
	}
	if functions != nil {
		c.Tools = []*genai.Tool{{FunctionDeclarations: functions}}
	}
	return c
}

// budgets are the efforts as a thinking budget in tokens. Every model with a budget accepts them.
var budgets = map[llm.Effort]int32{llm.Low: 1024, llm.Medium: 8192, llm.High: 24_576}

// thinking returns the effort in the model's own terms, with visible thoughts; nil: the model's default.
// Models before 2.5 cannot think, 2.5 takes a budget of tokens, and later ones take a level.
func thinking(model string, e llm.Effort) *genai.ThinkingConfig {
	switch {
	case e == "" || isBeforeGemini3(model) && !strings.Contains(model, "gemini-2.5"):
		return nil
	case isBeforeGemini3(model):
		budget, ok := budgets[e]
		if !ok {
			return nil
		}
		return &genai.ThinkingConfig{IncludeThoughts: true, ThinkingBudget: &budget}
	}
	return &genai.ThinkingConfig{IncludeThoughts: true, ThinkingLevel: genai.ThinkingLevel(strings.ToUpper(string(e)))}
}

// isBeforeGemini3 reports whether a model is older than Gemini 3.
func isBeforeGemini3(model string) bool {
	return strings.Contains(model, "gemini-1") || strings.Contains(model, "gemini-2")
}
