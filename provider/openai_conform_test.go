package provider_test

import (
	"errors"
	"testing"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/provider"
)

func TestOpenAI_Conforms(t *testing.T) {
	for name, c := range map[string]provider.Config{
		"chat":                     {API: provider.Chat},
		"responses":                {API: provider.Responses},
		"responses with summaries": {API: provider.Responses, Summaries: true},
	} {
		t.Run(name, func(t *testing.T) {
			llmtest.Conform(t, llmtest.Suite{
				Model: "gpt-5",
				Open: func(p llmtest.Place) llm.Model {
					c.Model, c.Key, c.BaseURL, c.Client = p.Model, p.Key, p.Base+"/v1", p.Client
					return provider.OpenAI(c)
				},
				Own:    openaiIsResponse,
				Sealed: c.API == provider.Responses && !c.Summaries,
			})
		})
	}
}

// isResponse reports whether an error is the provider's response.
func openaiIsResponse(err error) bool {
	_, ok := errors.AsType[*provider.ResponseError](err)
	return ok
}
