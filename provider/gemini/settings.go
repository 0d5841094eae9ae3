package gemini

import (
	"encoding/json"
	"math"
	"strings"

	"google.golang.org/genai"

	"github.com/ridethrough/ridethrough/llm"
)

// settings gives all of a request but its messages, as the API takes it.
func (m *Model) settings(r llm.Request) *genai.GenerateContentConfig {
	c := &genai.GenerateContentConfig{
		ThinkingConfig:        thinking(m.config.Model, r.Effort),
		AutomaticContinuation: genai.Ptr(false), // by itself the SDK would ask for the rest of an answer that breaks off
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

// budgets are what an effort means to a model that is told how many tokens it
// may think. Every model of that kind takes them.
var budgets = map[llm.Effort]int32{llm.Low: 1024, llm.Medium: 8192, llm.High: 24_576}

// thinking asks for the effort, and to see the thoughts, in the model's own
// terms; nil: as it does by itself. Before 2.5 none could think, 2.5 is told how
// many tokens it may think, and those since then how hard.
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

// isBeforeGemini3 tells whether a model is from before Gemini 3.
func isBeforeGemini3(model string) bool {
	return strings.Contains(model, "gemini-1") || strings.Contains(model, "gemini-2")
}
