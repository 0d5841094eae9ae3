package provider_test

import (
	"testing"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/provider"
)

func TestLMStudio_Conforms(t *testing.T) {
	llmtest.Conform(t, llmtest.Suite{
		Model: "qwen3",
		Open: func(p llmtest.Place) llm.Model {
			return provider.LMStudio(provider.Config{Model: p.Model, Key: p.Key, BaseURL: p.Base + ":1234/v1", Client: p.Client})
		},
	})
}
