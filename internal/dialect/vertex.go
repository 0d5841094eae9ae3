package dialect

import "strings"

// AnthropicVertex returns the Messages API as Google's Vertex AI offers it: the model is in the path, and errors
// may be Google's.
func AnthropicVertex() *Dialect { return &anthropicVertex }

var anthropicVertex = newAnthropicVertex()

func newAnthropicVertex() Dialect {
	d := anthropic
	d.name = "anthropic-vertex"
	d.isRequest = func(path string) bool { return anthropicVertexModel(path).Len() > 0 }
	d.modelInPath = anthropicVertexModel
	return d
}

// countTokens is the name that stands in a model's place for a request that counts tokens.
const countTokens = "count-tokens"

// anthropicVertexModel finds the model in a path such as …/publishers/anthropic/models/M:rawPredict; empty: the
// path asks for no answer.
func anthropicVertexModel(path string) Span {
	before, rest, _ := strings.Cut(path, anthropicModels)
	model, verb, _ := strings.Cut(rest, ":")
	if strings.Contains(model, "/") || model == countTokens || verb != "rawPredict" && verb != "streamRawPredict" {
		return Span{}
	}
	begin := len(before) + len(anthropicModels)
	return Span{begin, begin + len(model)}
}

// anthropicModels stands before a model in such a path.
const anthropicModels = "/publishers/anthropic/models/"
