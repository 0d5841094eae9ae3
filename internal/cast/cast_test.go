package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

// picture is what docs/demo.cast is drawn as.
func picture(t *testing.T) (movie, string) {
	t.Helper()
	f, err := os.Open("../../docs/demo.cast")
	if err != nil {
		t.Fatalf("open the recording: %v", err)
	}
	defer f.Close()
	rec, err := parse(f)
	if err != nil {
		t.Fatalf("parse the recording: %v", err)
	}
	m, err := play(rec)
	if err != nil {
		t.Fatalf("play the recording: %v", err)
	}
	return m, m.svg()
}

func TestPicture_IsThatOfTheRecording(t *testing.T) {
	kept, err := os.ReadFile("../../docs/demo.svg")
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	m, svg := picture(t)
	if diff := cmp.Diff(string(kept), svg); diff != "" {
		t.Errorf("docs/demo.svg differs; update it with: scripts/moving-picture draw (-kept +drawn)\n%.2000s", diff)
	}
	if len(svg) > 200_000 || m.length > time.Minute {
		t.Errorf("the picture has %d bytes and lasts %s, want at most 200 KB and a minute", len(svg), m.length)
	}
}

// TestPicture_LoadsNothing holds what GitHub's page permits in an <img>: style sheets inside, and nothing else.
func TestPicture_LoadsNothing(t *testing.T) {
	_, svg := picture(t)
	dec := xml.NewDecoder(strings.NewReader(svg))
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("parse the picture: %v", err)
		}
		if el, ok := token.(xml.StartElement); ok && !slices.Contains([]string{"svg", "title", "style", "rect", "text"}, el.Name.Local) {
			t.Errorf("the picture has an element <%s>", el.Name.Local)
		}
	}
	for _, loads := range []string{"url(", "@import", "@font-face", "href", "src"} {
		if strings.Contains(svg, loads) {
			t.Errorf("the picture has %q, which loads something", loads)
		}
	}
}

// TestPicture_HasTheWordsOfTheProgram compares the texts of the picture with what the program wrote, both without
// blanks: a line is drawn in pieces, and its countdown again each second.
func TestPicture_HasTheWordsOfTheProgram(t *testing.T) {
	m, svg := picture(t)
	var doc struct {
		Text []struct {
			Y string `xml:"y,attr"`
			S string `xml:",chardata"`
		} `xml:"text"`
	}
	if err := xml.Unmarshal([]byte(svg), &doc); err != nil {
		t.Fatalf("parse the picture: %v", err)
	}
	var drawn strings.Builder
	for _, text := range doc.Text {
		drawn.WriteString(text.S)
	}
	for line := range strings.Lines(m.words()) {
		if !strings.Contains(squeeze(drawn.String()), squeeze(line)) {
			t.Errorf("the program wrote %q, which is not in the picture", line)
		}
	}
	for _, want := range []string{"HTTP 529: Overloaded", "retrying in 3s… (attempt 1/10)", "✓ Recovered after", "The client sent 1 request and got 1 complete answer."} {
		if !strings.Contains(m.words(), want) {
			t.Errorf("the picture does not show %q", want)
		}
	}
}

func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

// screens plays outputs and returns the rows at each moment that a row changes.
func screens(t *testing.T, outputs ...output) string {
	t.Helper()
	m, err := play(recording{header: header{Width: 12, Height: 4, Command: "x"}, outputs: outputs})
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, s := range m.stays {
		b.WriteString(s.from.String() + "-" + s.to.String() + " " + string('0'+rune(s.line)) + " " + s.row.text() + "\n")
	}
	return b.String()
}

func TestPlay_CarriesOutWhatTheProgramWrites(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		name    string
		outputs []output
		want    string
	}{
		{"lines", []output{{s, "a\r\n"}, {2 * s, "b"}}, "0s-8s 0 $ x\n1s-8s 1 a\n2s-8s 2 b\n"},
		{"a line that is replaced", []output{{s, "one"}, {2 * s, "\r\x1b[2K\x1b[33mtwo\x1b[0m"}}, "0s-8s 0 $ x\n1s-2s 1 one\n2s-8s 1 two\n"},
		{"a line that is erased and written anew is one change", []output{{s, "one"}, {2 * s, "\r\x1b[2K"}, {2*s + 5*time.Millisecond, "one"}}, "0s-8s 0 $ x\n1s-8s 1 one\n"},
		{"rows that are redrawn", []output{{s, "a\r\nb"}, {2 * s, "\r\x1b[2K\x1b[1A\r\x1b[2Kc\r\nb"}}, "0s-8s 0 $ x\n1s-2s 1 a\n1s-8s 2 b\n2s-8s 1 c\n"},
		{"a long line", []output{{s, "twelve and on"}}, "0s-7s 0 $ x\n1s-7s 1 twelve and o\n1s-7s 2 n\n"},
		{"an unknown sequence", []output{{s, "\x1b[5;5H"}}, "unknown control character U+001B"},
		{"an unknown color", []output{{s, "\x1b[95m"}}, "unknown control sequence ESC[95m"},
		{"too many lines", []output{{s, "\r\n\r\n\r\n"}}, "the program writes more than 4 lines"},
	} {
		if got := screens(t, c.outputs...); got != c.want {
			t.Errorf("%s: got\n%swant\n%s", c.name, got, c.want)
		}
	}
}

func TestRecord_WritesWhatParseReads(t *testing.T) {
	var out bytes.Buffer
	if err := record([]string{"/bin/sh", "-c", `printf 'a▲\n'; test -t 1 && stty size; exit 0`}, &out); err != nil {
		t.Skipf("no pseudo-terminal or no shell here: %v", err)
	}
	rec, err := parse(&out)
	if err != nil {
		t.Fatalf("parse: %v", err)
	}
	var all strings.Builder
	for _, o := range rec.outputs {
		all.WriteString(o.text)
	}
	if want := "a▲\r\n24 80\r\n"; all.String() != want {
		t.Errorf("recorded: got %q, want %q", all.String(), want)
	}
}

func TestParse_RefusesWhatIsNoRecording(t *testing.T) {
	for _, text := range []string{"", "{}", `{"version":1,"width":80,"height":24}`, `{"version":2,"width":80,"height":24}` + "\n[1]x"} {
		if rec, err := parse(strings.NewReader(text)); err == nil {
			t.Errorf("parse %q: got %+v, want an error", text, rec)
		}
	}
}
