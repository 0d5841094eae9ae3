package openai_test

import (
	"errors"
	"testing"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/provider"
	"github.com/ridethrough/ridethrough/provider/openai"
)

func TestModel_Conforms(t *testing.T) {
	for name, c := range map[string]openai.Config{
		"chat":                     {API: openai.Chat},
		"responses":                {API: openai.Responses},
		"responses with summaries": {API: openai.Responses, Summaries: true},
	} {
		t.Run(name, func(t *testing.T) {
			llmtest.Conform(t, llmtest.Suite{
				Model: "gpt-5",
				Open: func(p llmtest.Place) llm.Model {
					c.Model, c.Key, c.BaseURL, c.Client = p.Model, p.Key, p.Base+"/v1", p.Client
					return openai.New(c)
				},
				Own:    isResponse,
				Sealed: c.API == openai.Responses && !c.Summaries,
			})
		})
	}
}

// isResponse reports whether an error is the provider's response.
func isResponse(err error) bool {
	_, ok := errors.AsType[*provider.ResponseError](err)
	return ok
}
