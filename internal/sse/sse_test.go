package sse_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/internal/sse"
)

// reference reads a whole stream one character at a time, as the standard describes it. It returns the events
// that have a name or data.
func reference(stream string) (events []string) {
	stream = strings.ReplaceAll(strings.ReplaceAll(strings.TrimPrefix(stream, "\ufeff"), "\r\n", "\n"), "\r", "\n")
	var name string
	var data []string
	line := ""
	for _, c := range []byte(stream) {
		if c != '\n' {
			line += string([]byte{c})
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if name != "" || len(data) > 0 {
				events = append(events, name+"|"+strings.Join(data, "\n"))
			}
			name, data = "", nil
		case field == "event":
			name = value
		case field == "data":
			data = append(data, value)
		}
		line = ""
	}
	return events
}

// read reads a stream that arrives in parts of a size.
func read(stream string, size int) (events []string) {
	start, seen := 0, 0
	for end := 0; end < len(stream); {
		end = min(end+size, len(stream))
		for {
			n := sse.Cut([]byte(stream[start:end]), seen-start)
			if n == 0 {
				seen = end
				break
			}
			if name, data := sse.Parse([]byte(stream[start : start+n])); len(name) > 0 || data != nil {
				events = append(events, string(name)+"|"+string(data))
			}
			start += n
			seen = start
		}
	}
	return events
}

// lineEnds are the ends of lines that the standard allows, and a mixture.
var lineEnds = map[string][]string{
	"LF": {"\n"}, "CRLF": {"\r\n"}, "CR": {"\r"}, "mixed": {"\r", "\n", "\r\n", "\n", "\n", "\r\n", "\r"},
}

func TestCut_AllLineEnds(t *testing.T) {
	const text = ": hold\n\nevent: a\ndata: 1\n\nid: 7\ndata: 2\ndata: 3\n\nretry: 9\n\ndata\n\nevent: b\ndata:4\n\n"
	for name, ends := range lineEnds {
		stream := "\ufeff"
		for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
			end := ends[i%len(ends)]
			if line == "" && strings.HasSuffix(stream, "\r") && end == "\n" {
				end = "\r" // with an LF it would be one line end
			}
			stream += line + end
		}
		stream += "data: after\n" // shows where the last event ended
		want := []string{"a|1", "|2\n3", "|", "b|4"}
		for size := 1; size <= len(stream); size++ {
			if got := read(stream, size); !slices.Equal(got, want) {
				t.Errorf("%s in parts of %d: %q, want %q", name, size, got, want)
			}
		}
	}
}

// The event must not wait for the next one: a CR that ends a blank line behind a CR is enough.
func TestCut_EventEndsWithItsSecondCR(t *testing.T) {
	for stream, want := range map[string]int{
		"data: x\r\r": 9, "data: x\r": 0, "data: x\r\n": 0, "data: x\r\n\r": 0, "data: x\n\n": 9,
		"data: x\r\n\r\n": 11, "data: x\n\r\n": 10, "data: x\n\ry": 9, "data: x\r\r\n": 9, "\r\r": 2,
	} {
		if got := sse.Cut([]byte(stream), 0); got != want {
			t.Errorf("Cut(%q) = %d, want %d", stream, got, want)
		}
	}
}

func TestBegins(t *testing.T) {
	for text, want := range map[string]bool{
		"data: x": true, "event: a": true, "id: 7": true, "retry: 5": true, ": hold": true, "\ufeffdata: x": true,
		"\n\ndata:": true, "{\"data\": 1}": false, "database": false, "": false, "\ufeff{}": false,
	} {
		if got := sse.Begins([]byte(text)); got != want {
			t.Errorf("Begins(%q) = %v, want %v", text, got, want)
		}
	}
}

// FuzzCut compares the events with those of the reference, however the stream arrives.
func FuzzCut(f *testing.F) {
	f.Add("event: a\rdata: 1\r\rdata: 2\n\rdata: 3\r\n\r\n", 3)
	f.Add("\ufeff: c\n\n\r\r\ndata\ndata: x\r\n\n", 1)
	f.Fuzz(func(t *testing.T, stream string, size int) {
		if strings.Contains(strings.TrimPrefix(stream, "\ufeff"), "\ufeff") {
			return // a mark before a later event is skipped as well
		}
		size = 1 + size&7
		stream += "\n\n" // a frame may end one byte later than its event
		if !strings.HasPrefix(stream, "\ufeff") {
			stream = "\ufeff" + stream
		}
		want := fmt.Sprintf("%q", reference(stream))
		for _, size := range []int{size, len(stream)} {
			if got := fmt.Sprintf("%q", read(stream, size)); got != want {
				t.Errorf("%q in parts of %d: %s, want %s", stream, size, got, want)
			}
		}
	})
}

// A stream of many lines and no event must not cost the square of its length.
func BenchmarkCut_Lines(b *testing.B) {
	for name, end := range map[string]string{"LF": "\n", "CRLF": "\r\n", "CR": "\r"} {
		lines := []byte(strings.Repeat("x"+end, 1<<19))
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if n := sse.Cut(lines, 0); n != 0 {
					b.Fatalf("Cut = %d, want 0", n)
				}
			}
		})
	}
}

func BenchmarkCut(b *testing.B) {
	for name, end := range map[string]string{"LF": "\n", "CRLF": "\r\n", "CR": "\r"} {
		frame := []byte("data: " + strings.Repeat("x", 300) + end + end)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if sse.Cut(frame, 0) == 0 {
					b.Fatal("no frame")
				}
			}
		})
	}
}

func TestParse_ErrorFieldIsAnEvent(t *testing.T) {
	for frame, want := range map[string][2]string{
		"error: {\"code\":500}\n\n":      {"error", `{"code":500}`},
		"error:{}\r\n\r\n":               {"error", "{}"},
		"error: in words\n\n":            {},
		"proxy error: not connected\n\n": {},
	} {
		if name, data := sse.Parse([]byte(frame)); string(name) != want[0] || string(data) != want[1] {
			t.Errorf("Parse(%q): got %q, %q, want %q", frame, name, data, want)
		}
		if begins := sse.Begins([]byte(frame)); begins != (want[0] != "") {
			t.Errorf("Begins(%q): got %v, want %v", frame, begins, want[0] != "")
		}
	}
}
