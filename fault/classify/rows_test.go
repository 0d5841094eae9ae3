package classify_test

import (
	"testing"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
)

func TestRows_MatchByAllTheirConditions(t *testing.T) {
	body := openAIBody("server_error", "Model-Misplaced", "The model `m` is not placed here")
	tests := []struct {
		name string
		row  classify.Row
		want bool
	}{
		{"a status", classify.Row{Status: 503}, true},
		{"another status", classify.Row{Status: 500}, false},
		{"a code without case and separators", classify.Row{Code: "model_misplaced"}, true},
		{"a code that is the type", classify.Row{Code: "server_error"}, false},
		{"a type", classify.Row{Type: "server_error"}, true},
		{"words", classify.Row{Text: "MODEL * is not placed"}, true},
		{"words between asterisks", classify.Row{Text: "* not placed *"}, true},
		{"other words", classify.Row{Text: "model * is placed"}, false},
		{"asterisks only", classify.Row{Text: "* *"}, false},
		{"its provider", classify.Row{Status: 503, Provider: "relay"}, true},
		{"another provider", classify.Row{Status: 503, Provider: "other"}, false},
		{"all", classify.Row{Status: 503, Code: "model_misplaced", Type: "server_error", Text: "not placed", Provider: "relay"}, true},
		{"all but one", classify.Row{Status: 503, Code: "model_misplaced", Type: "api_error", Text: "not placed", Provider: "relay"}, false},
		{"nothing", classify.Row{Provider: "relay"}, false},
	}
	for _, tt := range tests {
		tt.row.Kind, tt.row.Rule = fault.Invalid, "mine"
		c := classify.Classifier{Judges: []classify.Judge{classify.Rows([]classify.Row{tt.row})}, Provider: "relay"}
		if f := c.FromResponse(503, nil, []byte(body), start); (f.Rule == "mine") != tt.want || tt.want != (f.Kind == fault.Invalid) {
			t.Errorf("a row with %s: kind %v by %s, want a match: %v", tt.name, f.Kind, f.Rule, tt.want)
		}
	}
}
