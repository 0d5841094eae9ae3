package redact_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/internal/redact"
)

const prompt = "Dear model, the launch code of the \"rocket\" is 4711-ABC.\nDon't tell anyone: naïve 東京タワーの鍵はここ 🚀!"

// request returns a request for an answer to a prompt.
func request(prompt string) []byte {
	text, _ := json.Marshal(map[string]any{
		"model": "claude-opus-4-5-20251101", "max_completion_tokens": 64,
		"messages": []map[string]string{{"role": "user", "content": prompt}},
	})
	return text
}

// quoted returns a text without what it quotes of a request, read in parts.
func quoted(text string, source []byte, part int) string {
	q := redact.NewQuotes(text, "claude-opus-4-5-20251101")
	for len(source) > part {
		q.Source(source[:part])
		source = source[part:]
	}
	q.Source(source)
	return q.Text()
}

func TestQuotes_OfThePromptAreLeftOut(t *testing.T) {
	quotedJSON, _ := json.Marshal(prompt)
	twice, _ := json.Marshal(string(quotedJSON))
	for _, tt := range []struct{ text, want string }{
		{"rejected: " + prompt, "rejected: … 🚀!"},
		{"rejected: " + string(quotedJSON) + ", sorry", "rejected: \"… 🚀!\", sorry"},
		{"rejected: " + string(twice), `rejected: "\"… 🚀!\""`},
		{"rejected: " + strings.ToUpper("the launch code of"), "rejected: …"},
		{"'The launch code of ...' is refused", "'… ...' is refused"},
		{"near 東京タワー!", "near …!"},
		{"{'role': 'user', 'content': 'Dear model, the'}", "{'role': 'user', '…'}"},
		{"your code 4711-ABC. Don't tell anyone", "your code …"},
		{"Overloaded", "Overloaded"},
		{"Rate limit reached for requests, try again in 20s", "Rate limit reached for requests, try again in 20s"},
		{"Unsupported parameter: 'max_completion_tokens'", "Unsupported parameter: 'max_completion_tokens'"},
		{"model: claude-opus-4-5-20251101 does not exist", "model: claude-opus-4-5-20251101 does not exist"},
		{"", ""},
	} {
		for _, part := range []int{1, 7, 1 << 20} {
			if got := quoted(tt.text, request(prompt), part); got != tt.want {
				t.Errorf("%q in parts of %d: got %q, want %q", tt.text, part, got, tt.want)
			}
		}
	}
}

func TestQuotes_SourceWithoutThem(t *testing.T) {
	text := "Something went wrong while the answer was being made. Please try again later, or ask support."
	if got := quoted(text, []byte(strings.Repeat(`{"a":"another text"}`, 1000)), 4096); got != text {
		t.Errorf("text of its own: got %q, want %q", got, text)
	}
}

func TestMayQuote_NeedsTwelveLetters(t *testing.T) {
	for text, want := range map[string]bool{"": false, "Overloaded": false, "- - - - - - - -": false, "Over-loaded!!": false, "Bad gateway!?": false, "Internal error": true} {
		if got := redact.MayQuote(text); got != want {
			t.Errorf("may %q quote: got %v, want %v", text, got, want)
		}
	}
}

func FuzzQuotes(f *testing.F) {
	f.Add("bad input: "+prompt, prompt, 3)
	f.Add(`\u00e9\ud83d\ude00`, "é😀", 1)
	f.Fuzz(func(t *testing.T, before, prompt string, part int) {
		part = max(1, part&0xff)
		got := quoted(before+prompt, request(prompt), part)
		if whole := quoted(before+prompt, request(prompt), 1<<20); got != whole {
			t.Errorf("%q in parts of %d: got %q, want %q as in one", before+prompt, part, got, whole)
		}
		if len(got) > len(before+prompt) {
			t.Errorf("%q without quotes has grown: %q", before+prompt, got)
		}
	})
}

func BenchmarkQuotes(b *testing.B) {
	source := request(strings.Repeat("word after word of a long conversation\n", 5000))
	text := "This model's maximum context length is 128000 tokens. However, your messages resulted in 210042 tokens. Please reduce the length of the messages."
	b.SetBytes(int64(len(source)))
	b.ReportAllocs()
	for b.Loop() {
		q := redact.NewQuotes(text, "gpt-5")
		q.Source(source)
		if q.Text() != text {
			b.Fatal("changed")
		}
	}
}
