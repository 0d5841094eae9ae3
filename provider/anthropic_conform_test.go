package provider_test

import (
	"errors"
	"testing"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/provider"
)

func TestAnthropic_Conforms(t *testing.T) {
	llmtest.Conform(t, llmtest.Suite{
		Model: claudeClaude,
		Open: func(p llmtest.Place) llm.Model {
			return provider.Anthropic(provider.Config{Model: p.Model, Key: p.Key, BaseURL: p.Base, Client: p.Client})
		},
		Own: func(err error) bool {
			_, ok := errors.AsType[*provider.ResponseError](err)
			return ok
		},
	})
}
