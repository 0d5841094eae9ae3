package text_test

import (
	"testing"

	"github.com/ridethrough/ridethrough/internal/text"
)

func TestAnd_AndOr(t *testing.T) {
	for _, c := range []struct {
		names   []string
		and, or string
	}{
		{nil, "", ""},
		{[]string{"a"}, "a", "a"},
		{[]string{"a", "b"}, "a and b", "a or b"},
		{[]string{"a", "b", "c"}, "a, b and c", "a, b or c"},
	} {
		if got := text.And(c.names); got != c.and {
			t.Errorf("And(%q): got %q, want %q", c.names, got, c.and)
		}
		if got := text.Or(c.names); got != c.or {
			t.Errorf("Or(%q): got %q, want %q", c.names, got, c.or)
		}
	}
}

func TestCapital(t *testing.T) {
	for in, want := range map[string]string{"": "", "a": "A", "overloaded now": "Overloaded now"} {
		if got := text.Capital(in); got != want {
			t.Errorf("Capital(%q): got %q, want %q", in, got, want)
		}
	}
}
