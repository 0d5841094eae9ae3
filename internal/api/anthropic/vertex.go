package anthropic

import (
	"strings"

	"github.com/ridethrough/ridethrough/internal/api"
)

// Vertex returns the Messages API as Google's Vertex AI offers it: the model is in the path, and errors
// may be Google's.
func Vertex() *api.API { return vertex }

var vertex = api.New(vertexDefinition())

func vertexDefinition() api.Definition {
	d := definition
	d.Name = "anthropic-vertex"
	d.IsRequest = func(path string) bool { return vertexModel(path).Len() > 0 }
	d.ModelInPath = vertexModel
	d.EndsWithConnection = nil // which is measured at Anthropic only
	return d
}

// countTokens is the name that stands in a model's place for a request that counts tokens.
const countTokens = "count-tokens"

// vertexModel finds the model in a path such as …/publishers/anthropic/models/M:rawPredict; empty: the
// path asks for no answer.
func vertexModel(path string) api.Span {
	before, rest, _ := strings.Cut(path, models)
	model, verb, _ := strings.Cut(rest, ":")
	if strings.Contains(model, "/") || model == countTokens || verb != "rawPredict" && verb != "streamRawPredict" {
		return api.Span{}
	}
	begin := len(before) + len(models)
	return api.Span{Begin: begin, End: begin + len(model)}
}

// models stands before a model in such a path.
const models = "/publishers/anthropic/models/"
