package redact_test

import (
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/internal/redact"
)

func TestOutline_KeepsTheErrorsWordsOnly(t *testing.T) {
	tests := []struct{ text, want string }{
		{"Overloaded", "Overloaded"},
		{"The model `gpt-5` is not placed here. Contact us.", "The model * is not placed here"},
		{"model 'llama 4 of Jane' not found, try pulling it first", "model * not found * try pulling it first"},
		{"Invalid input was given: my diagnosis is diabetes", "Invalid input was given"},
		{"Error: please wait", "Error * please wait"},
		{"Key sk-proj-abc123def456 of org-9 can't be used", "Key * of * can't be used"},
		{`Unknown field "my secret plan" (in line 4)`, "Unknown field"},
		{"quotes that never end: 'my prompt goes on", "quotes that never end"},
		{"请求过于频繁，请稍后再试", "请求过于频繁 请稍后再试"},
		{"{}", ""},
		{strings.Repeat("word ", 50), strings.TrimSpace(strings.Repeat("word ", 12))},
	}
	for _, tt := range tests {
		if got := redact.Outline(tt.text); got != tt.want {
			t.Errorf("Outline(%q) = %q, want %q", tt.text, got, tt.want)
		}
	}
}

func FuzzOutline(f *testing.F) {
	f.Add("The model `gpt-5` is 'not' placed (here). Contact us: «x»")
	f.Fuzz(func(t *testing.T, text string) {
		if got := redact.Outline(text); len(got) > 160 || strings.ContainsAny(got, "0123456789\"`\n@/") || strings.HasSuffix(got, "*") {
			t.Errorf("Outline(%q) = %q", text, got)
		}
	})
}
