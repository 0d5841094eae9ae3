package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/internal/api"
)

// Frames repeat if they differ in a text, a number of the event and fillers only.
func TestRepeats_Next(t *testing.T) {
	chat := func(s string) string {
		return `data: {"id":"1","choices":[{"index":0,"delta":{"content":"` + s + `"},"finish_reason":null}]}` + "\n\n"
	}
	numbered := func(n int, s, filler string) string {
		return fmt.Sprintf("event: d\ndata: {\"sequence_number\":%d,\"delta\":\"%s\",\"obfuscation\":\"%s\"}\n\n", n, s, filler)
	}
	for _, row := range []struct {
		first, second, next string
		text, number        string
		texts               int
	}{
		{chat("one"), chat("two"), chat("three"), "three", "", 1},
		{chat("one"), chat("two"), chat(`a \"b\"`), `a \"b\"`, "", 1},
		{chat(`a\\`), chat("two"), chat(`three\\`), `three\\`, "", 1},
		{chat("one"), chat("two"), chat(""), "", "", 0},
		{chat("one"), chat("two"), chat("a\n\nb"), "", "", 0},
		{chat("one"), chat("two"), chat("a\rb"), "", "", 0},
		{chat("one"), chat("one"), chat("one"), "", "", 0},
		{chat("one"), chat("two"), strings.Replace(chat("three"), "null", `"stop"`, 1), "", "", 0},
		{chat("one"), chat("two"), strings.Replace(chat("three"), `"},"f`, `","role":"x"},"f`, 1), "", "", 0},
		{chat("one"), chat("two"), chat("three")[:40], "", "", 0},
		{chat("one"), strings.Replace(chat("two"), "index", "finish", 1), chat("three"), "", "", 0},
		{chat("one"), strings.Replace(chat("one"), `"id":"1"`, `"id":"2"`, 1), chat("one"), "", "", 0},
		{numbered(1, "one", "x"), numbered(2, "two", "yz"), numbered(13, "three", "z"), "three", "13", 1},
		{numbered(9, "one", "x"), numbered(10, "one more", "x"), numbered(11, "three", "x"), "three", "11", 1},
		{numbered(9, "a", "x"), numbered(10, "a", "x"), numbered(11, "a", "x"), "", "11", 0},
		{numbered(9, "a", "x"), numbered(10, "a", "x"), numbered(11, "b", "x"), "", "", 0},
	} {
		var r api.Repeats
		r.Learn([]byte(row.first))
		r.Learn([]byte(row.second))
		next := r.Next([]byte(row.next + chat("more")))
		want := 0
		if row.texts > 0 || row.number != "" {
			want = len(row.next)
		}
		if next.Len != want || want > 0 && (string(next.Text) != row.text || string(next.Number) != row.number || next.Texts != row.texts) {
			t.Errorf("after %q and %q, the next is %+v of %q, want %d bytes with %q, number %q", row.first, row.second, next, row.next, want, row.text, row.number)
		}
		if r.Forget(); r.Next([]byte(row.next)).Len != 0 {
			t.Errorf("%q repeats what was forgotten", row.next)
		}
	}
}

func TestRepeats_NextLenOfTheSameFrame(t *testing.T) {
	frame, other := `data: {"delta":" and"}`+"\n\n", `data: {"delta":" or"}`+"\n\n"
	var r api.Repeats
	if got := r.NextLen([]byte(frame)); got != 0 {
		t.Errorf("before any frame: got %d bytes, want 0", got)
	}
	r.Learn([]byte(frame))
	for _, row := range []struct {
		next string
		want int
	}{{frame + other, len(frame)}, {other, 0}, {frame[:9], 0}} {
		if got := r.NextLen([]byte(row.next)); got != row.want {
			t.Errorf("after %q, %q: got %d bytes, want %d", frame, row.next, got, row.want)
		}
	}
	r.Learn([]byte(other))
	if third := strings.Replace(frame, "and", "yet", 1); r.NextLen([]byte(third)) != len(third) {
		t.Errorf("after two frames with other texts: got %d bytes of %q, want %d", r.NextLen([]byte(third)), third, len(third))
	}
}
