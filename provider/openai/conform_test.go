package openai_test

import (
	"errors"
	"testing"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
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
				Own:    isSDK,
				Sealed: c.API == openai.Responses && !c.Summaries,
			})
		})
	}
}

// isSDK reports whether an error is the SDK's own.
func isSDK(err error) bool {
	_, status := errors.AsType[*sdk.Error](err)
	_, event := errors.AsType[*ssestream.StreamError](err)
	return status || event
}
