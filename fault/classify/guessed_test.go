package classify_test

import (
	"errors"
	"io"
	"testing"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
)

func TestFault_GuessedOnlyWhereWordingDecides(t *testing.T) {
	tests := []struct {
		name    string
		fault   *fault.Error
		kind    fault.Kind
		guessed bool
	}{
		{"a type in a table", classify.FromResponse(529, nil, []byte(anthropicBody("overloaded_error", "Overloaded")), start), fault.Overloaded, false},
		{"a sentence in a table", classify.FromResponse(429, nil, []byte("You exceeded your current quota, please check your plan and billing details."), start), fault.Quota, false},
		{"a status", classify.FromResponse(503, nil, []byte("?"), start), fault.Overloaded, false},
		{"a type of Go's", classify.Of(io.ErrUnexpectedEOF, start), fault.Unavailable, false},
		{"nothing known", classify.Of(errors.New("?"), start), fault.Unknown, false},
		{"a noun of money and its end", classify.FromResponse(400, nil, []byte("Your wallet is depleted."), start), fault.Quota, true},
		{"a size and a comparison", classify.FromResponse(400, nil, []byte("The prompt is far too long."), start), fault.TooLong, true},
		{"two numbers of tokens", classify.FromResponse(400, nil, []byte("input of 9000 tokens > 4000"), start), fault.TooLong, true},
		{"a code that no table has", classify.FromResponse(400, nil, []byte(openAIBody("x", "team_spend_limit_hit", "no")), start), fault.Quota, true},
		{"words of a failure", classify.Of(errors.New("something went wrong"), start), fault.Unavailable, true},
	}
	for _, tt := range tests {
		if f := tt.fault; f.Kind != tt.kind || f.Guessed != tt.guessed {
			t.Errorf("%s: kind %v, guessed %v by %s; want %v, %v", tt.name, f.Kind, f.Guessed, f.Rule, tt.kind, tt.guessed)
		}
	}
}
