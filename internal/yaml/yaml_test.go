package yaml_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/internal/yaml"
)

// shown returns a value on one line, with its position if at. Where there is no value there is no position either.
func shown(n *yaml.Node, at bool) string {
	var b strings.Builder
	if at && n.Kind != yaml.Null {
		fmt.Fprintf(&b, "%d:%d ", n.Line, n.Column)
	}
	if n.Anchor != "" {
		fmt.Fprintf(&b, "&%s ", n.Anchor)
	}
	if n.Tag != "" {
		fmt.Fprintf(&b, "%s ", n.Tag)
	}
	switch n.Kind {
	case yaml.Null:
		b.WriteString("null")
	case yaml.Text:
		fmt.Fprintf(&b, "%q", n.Text)
	case yaml.Number, yaml.Boolean:
		b.WriteString(n.Text)
	case yaml.Alias:
		b.WriteString("*" + n.Text)
	case yaml.Sequence:
		items := make([]string, len(n.Items))
		for i, item := range n.Items {
			items[i] = shown(item, at)
		}
		fmt.Fprintf(&b, "[%s]", strings.Join(items, ", "))
	case yaml.Mapping:
		entries := make([]string, len(n.Entries))
		for i, e := range n.Entries {
			entries[i] = shown(e.Key, at) + ": " + shown(e.Value, at)
		}
		fmt.Fprintf(&b, "{%s}", strings.Join(entries, ", "))
	}
	return b.String()
}

func read(text string, at bool) string {
	documents, err := yaml.Parse(text)
	if err != nil {
		return err.Error()
	}
	all := make([]string, len(documents))
	for i, n := range documents {
		all[i] = shown(n, at)
	}
	return strings.Join(all, " --- ")
}

// values are texts with their values, which a library for YAML agrees with.
var values = []struct{ text, want string }{
	{"", ""},
	{"# nothing\n\n", ""},
	{"a: 1", `{"a": 1}`},
	{"a: 1\r\nb: 2\r\n", `{"a": 1, "b": 2}`},
	{"a:\n  b: x # comment\n  # another\n  c: y#z\nd: \"#\" # end\n", `{"a": {"b": "x", "c": "y#z"}, "d": "#"}`},
	{"a:\nb:\n", `{"a": null, "b": null}`},
	{"a:\n- x\n- y\nb: z", `{"a": ["x", "y"], "b": "z"}`},
	{"a:\n  - x\n  -\n  - - y\n    - z\n  - b: c\n    d: e\n", `{"a": ["x", null, ["y", "z"], {"b": "c", "d": "e"}]}`},
	{"[a, 'b', \"c\", [d], {e: f, g}, ]", `["a", "b", "c", ["d"], {"e": "f", "g": null}]`},
	{"a: {b: [\n  x, # one\n  y\n], c: d}", `{"a": {"b": ["x", "y"], "c": "d"}}`},
	{"[a: b, c]", `[{"a": "b"}, "c"]`},
	{`{"a":"b", 'c':[d], e: "f"}`, `{"a": "b", "c": ["d"], "e": "f"}`},
	{"{url: http://h:1/x?y=z, t: 10:30}", `{"url": "http://h:1/x?y=z", "t": "10:30"}`},
	{"a: one\n  two\n\n  three\nb: 'x\n  y'\n", `{"a": "one two\nthree", "b": "x y"}`},
	{"a: 'it''s'\nb: \"\\t\\\"\\\\\\x41\\u00e9\\U0001F600\\ud83d\\ude00\\/\"\n", `{"a": "it's", "b": "\t\"\\Aé😀😀/"}`},
	{"a: \"x \\\n   y\n\n  z\"", `{"a": "x y\nz"}`},
	{"a: |\n  x\n   y\n\n  z\nb: |-\n  x\nc: |+\n  x\n\nd: end", `{"a": "x\n y\n\nz\n", "b": "x", "c": "x\n\n", "d": "end"}`},
	{"a: >\n  x\n  y\n\n  z\n    more\n  end\n", `{"a": "x y\nz\n  more\nend\n"}`},
	{"a: |2\n   x\n", `{"a": " x\n"}`},
	{"- |\n x\n- >-\n y\n z\n", `["x\n", "y z"]`},
	{"a: |\n\n  # no comment\n  k: v\n# comment\n", `{"a": "\n# no comment\nk: v\n"}`},
	{"a: &x {b: c}\nd: *x\ne: &y\n  f: g\n", `{"a": &x {"b": "c"}, "d": *x, "e": &y {"f": "g"}}`},
	{"&x a: b\n*x : c", `{&x "a": "b", *x: "c"}`},
	{"---\na: b\n---\nc\n...\n", `{"a": "b"} --- "c"`},
	{"--- # one\nx\n---\n--- |\n  y\n", `"x" --- "y\n"`},
	{"a: [~, null, Null, true, False, 1, -1, +1, 1_000, 0x1F, 0o17, 0b11, 017, 1.5, .5, -1.5e3, .inf, -.INF, .nan]", `{"a": [null, null, null, true, False, 1, -1, +1, 1_000, 0x1F, 0o17, 0b11, 017, 1.5, .5, -1.5e3, .inf, -.INF, .nan]}`},
	{"a: [yes, off, 08, 1e3, 1.2.3, 5m, 1h30m, 10%, -, 0x, 1-2, nan, 99999999999999999999, TRuE, 64MiB]", `{"a": ["yes", "off", "08", "1e3", "1.2.3", "5m", "1h30m", "10%", "-", "0x", "1-2", "nan", "99999999999999999999", "TRuE", "64MiB"]}`},
	{"a: '1'\nb: \"true\"\nc: ''", `{"a": "1", "b": "true", "c": ""}`},
	{"1: a\ntrue: b\n\"c d\": e\nf g: h\n'i': j", `{1: "a", true: "b", "c d": "e", "f g": "h", "i": "j"}`},
	{"a: b: c\n", "1:4: mapping value is not allowed in this context"},
	{"a b:c d: e-f", `{"a b:c d": "e-f"}`},
	{"a: -x\nb: ?y\nc: :z\nd: x*y&z\ne: a, b", `{"a": "-x", "b": "?y", "c": ":z", "d": "x*y&z", "e": "a, b"}`},
	{"a:   \n\n    b\n  #c\n", `{"a": "b"}`},
	{"é: ü\n", `{"é": "ü"}`},
	{"a: !!str x\n!t b: c", `{"a": !!str "x", !t "b": "c"}`},
}

func TestParse_ReadsValues(t *testing.T) {
	for _, tt := range values {
		if got := read(tt.text, false); got != tt.want {
			t.Errorf("%q:\n got %s\nwant %s", tt.text, got, tt.want)
		}
	}
}

func TestParse_KnowsPositions(t *testing.T) {
	for text, want := range map[string]string{
		"# c\na: x\n":           `2:1 {2:1 "a": 2:4 "x"}`,
		"a:\n  - 'x'\n  - y: z": `1:1 {1:1 "a": 2:3 [2:5 "x", 3:5 {3:5 "y": 3:8 "z"}]}`,
		"é: [ü, b, {c: *d}]":    `1:1 {1:1 "é": 1:4 [1:5 "ü", 1:8 "b", 1:11 {1:12 "c": 1:15 *d}]}`,
		"a: &x y\nb: !t z":      `1:1 {1:1 "a": 1:7 &x "y", 2:1 "b": 2:4 !t "z"}`,
		"a: |\n  x\nb: y\n":     `1:1 {1:1 "a": 1:4 "x\n", 3:1 "b": 3:4 "y"}`,
		"a: \"x\n  y\"\nb: 1":   `1:1 {1:1 "a": 1:4 "x y", 3:1 "b": 3:4 1}`,
	} {
		if got := read(text, true); got != want {
			t.Errorf("%q:\n got %s\nwant %s", text, got, want)
		}
	}
}

func TestParse_MistakesHavePositions(t *testing.T) {
	const indented = "value is not allowed in this context; it is indented differently from the lines before it"
	for text, want := range map[string]string{
		"a: [b":               "1:4: sequence end token ']' not found",
		"a: {b: c":            "1:4: could not find flow mapping end token '}'",
		"a: [b c: d e] f":     "1:15: value is not allowed in this context",
		"[a b, c} ":           "1:8: ',' or ']' must be specified",
		"[a,, b]":             "1:4: expected a value, but found ','",
		"a: 'b":               "1:4: could not find end character of single-quoted text",
		"a: \"b\n---\n":       "1:4: could not find end character of double-quoted text",
		"a: \"b\\q\"":         `1:6: found an escape that does not exist; write \\ for a backslash, or use single quotes`,
		"a: \"\\u12\"":        "1:5: found an escape with an invalid number",
		"a: \"\\":             `1:5: found an escape that does not exist; write \\ for a backslash, or use single quotes`,
		"a:\n\tb: c":          "2:1: tab; YAML is indented with spaces",
		"a:\n  b: c\n\td: e":  "3:1: tab; YAML is indented with spaces",
		"a: - b":              "1:4: block sequence entries are not allowed in this context",
		"a:\n    b: c\n  d:e": "3:3: " + indented,
		"a: b\nc":             "2:1: non-map value is specified; a field has a colon and a space behind its name",
		"a: b\n\"c\nd\": e":   "2:1: non-map value is specified; a field has a colon and a space behind its name",
		"- a\nb: c":           "2:1: " + indented,
		"a: @b":               "1:4: found character '@' that cannot start a text; it needs quotes",
		"a: |x\n":             "1:4: found 'x' behind |; the text begins on the next line",
		"a: | x\n":            "1:6: value is not allowed in this context; the text begins on the next line",
		"a: 'b' c":            "1:8: value is not allowed in this context",
		"a: 'b': c":           "1:4: mapping value is not allowed in this context",
		"a: x\n  b: c":        "1:4: mapping value is not allowed in this context",
		"? a\n: b":            "1:1: keys that begin with ? are not supported",
		"%YAML 1.2\n---\na":   "1:1: directives (%) are not supported",
		"a: &x &y b":          "1:4: anchors cannot be used consecutively",
		"a: !x !y b":          "1:4: tags cannot be used consecutively",
		"a: & b":              "1:4: an anchor needs a name",
		"a: * b":              "1:4: an alias needs a name",
	} {
		_, err := yaml.Parse(text)
		if wrong, ok := errors.AsType[*yaml.Error](err); !ok || wrong.Error() != want {
			t.Errorf("%q:\n got %v\nwant %s", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, tt := range values {
		f.Add(tt.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		documents, err := yaml.Parse(text)
		if wrong, ok := errors.AsType[*yaml.Error](err); err != nil && (!ok || wrong.Line < 1 || wrong.Column < 1 || wrong.Line > strings.Count(text, "\n")+strings.Count(text, "\r")+1) {
			t.Fatalf("%q: got %v, want an error inside of the text", text, err)
		}
		for _, n := range documents {
			inside(t, text, n)
		}
	})
}

// inside fails if a value is outside of its text.
func inside(t *testing.T, text string, n *yaml.Node) {
	if n.Line < 1 || n.Column < 1 || n.Line > strings.Count(text, "\n")+strings.Count(text, "\r")+1 || n.Column > len(text)+1 {
		t.Fatalf("%q: got %d:%d for %v, want a place in the text", text, n.Line, n.Column, n)
	}
	for _, item := range n.Items {
		inside(t, text, item)
	}
	for _, e := range n.Entries {
		inside(t, text, e.Key)
		inside(t, text, e.Value)
	}
}
