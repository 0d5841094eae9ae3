package anthropic_test

import (
	"errors"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/provider/anthropic"
)

func TestModel_Conforms(t *testing.T) {
	llmtest.Conform(t, llmtest.Suite{
		Model: claude,
		Open: func(p llmtest.Place) llm.Model {
			return anthropic.New(anthropic.Config{Model: p.Model, Key: p.Key, BaseURL: p.Base, Client: p.Client})
		},
		Own: func(err error) bool {
			_, ok := errors.AsType[*sdk.Error](err)
			return ok
		},
	})
}
