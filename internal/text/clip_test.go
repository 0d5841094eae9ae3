package text_test

import (
	"testing"

	"github.com/ridethrough/ridethrough/internal/text"
)

func TestText(t *testing.T) {
	for in, want := range map[string]string{"": "", "abc": "abc", "abcdef": "abcd", "abc\u00e9": "abc", "a\xffb": "ab"} {
		if got := text.Clip(in, 4); got != want {
			t.Errorf("Text(%q, 4) = %q, want %q", in, got, want)
		}
	}
}
