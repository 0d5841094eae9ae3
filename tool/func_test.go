package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/tool"
)

type sum struct {
	A     int      `json:"a" jsonschema:"the first number"`
	B     int      `json:"b,omitzero"`
	Words []string `json:"words,omitempty"`
}

var adder = tool.Func("add", "Adds.", func(_ context.Context, in sum) (string, error) {
	return fmt.Sprint(in.A+in.B, in.Words), nil
})

func TestFunc_Schema(t *testing.T) {
	want := `{"type":"object","properties":{"a":{"type":"integer","description":"the first number"},"b":{"type":"integer"},` +
		`"words":{"type":["null","array"],"items":{"type":"string"}}},"required":["a"],"additionalProperties":false}`
	if diff := cmp.Diff(llm.Tool{Name: "add", Description: "Adds.", Schema: json.RawMessage(want)}, adder.Tool); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFunc_ValidatesArguments(t *testing.T) {
	for given, want := range map[string]string{
		`{"a":1}`:                          `1 []`,
		`{"a":1,"b":2,"words":["x"]}`:      `3 [x]`,
		``:                                 `!invalid arguments: required: missing properties: ["a"]`,
		`{"a":"1"}`:                        `!invalid arguments: validating /properties/a: type: 1 has type "string", want "integer"`,
		`{"a":1.5}`:                        `!invalid arguments: validating /properties/a: type: 1.5 has type "number", want "integer"`,
		`{"a":1,"A":2}`:                    `!invalid arguments: unexpected additional properties ["A"]`,
		`{"a":1,"c":2}`:                    `!invalid arguments: unexpected additional properties ["c"]`,
		`{"a":99999999999999999999999999}`: `!invalid arguments: json: cannot unmarshal number 99999999999999999999999999 into Go struct field sum.a of type int`,
	} {
		if got := run(t.Context(), adder, given); got != want {
			t.Errorf("%s: got %s, want %s", given, got, want)
		}
	}
}

func TestFunc_WithoutArguments(t *testing.T) {
	now := tool.Func("now", "", func(context.Context, struct{}) (string, error) { return "noon", nil })
	if now.Schema != nil {
		t.Errorf("schema: %s", now.Schema)
	}
	if got := run(t.Context(), now, ""); got != "noon" {
		t.Errorf("result %q", got)
	}
	if got, want := run(t.Context(), now, `{"zone":"UTC"}`), `!invalid arguments: unexpected additional properties ["zone"]`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFunc_UnsupportedTypePanics(t *testing.T) {
	panics := func(f func()) (said any) {
		defer func() { said = recover() }()
		f()
		return nil
	}
	for name, f := range map[string]func(){
		"a number": func() { tool.Func("x", "", func(context.Context, int) (string, error) { return "", nil }) },
		"a channel": func() {
			tool.Func("x", "", func(context.Context, struct{ C chan int }) (string, error) { return "", nil })
		},
	} {
		if said, _ := panics(f).(string); !strings.HasPrefix(said, "tool x: ") {
			t.Errorf("panic of %s: got %q, want one that names the tool", name, said)
		}
	}
}

func FuzzArguments(f *testing.F) {
	f.Add(`{"a":1,"b":2}`)
	f.Add(`"{\"a\":1}"`)
	f.Add(`{"a":1e400,"words":[null]}`)
	f.Fuzz(func(t *testing.T, arguments string) {
		got := run(t.Context(), adder, arguments)
		if !utf8.ValidString(got) || strings.Contains(got, "panicked") {
			t.Errorf("call with %q: got %q, want valid UTF-8 and no panic", arguments, got)
		}
	})
}

func BenchmarkFunc(b *testing.B) {
	b.ReportAllocs()
	call := llm.ToolCall{Arguments: json.RawMessage(`{"a":1,"b":2}`)}
	for b.Loop() {
		adder.Run(b.Context(), call)
	}
}
