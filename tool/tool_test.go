package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/tool"
)

// run runs a tool on arguments and returns its output, with ! in front of that of
// a failed one.
func run(ctx context.Context, t tool.Tool, arguments string) string {
	r := t.Run(ctx, llm.ToolCall{ID: "1", Name: t.Name, Arguments: json.RawMessage(arguments)})
	if r.Failed {
		return "!" + r.Output
	}
	return r.Output
}

// does makes a tool of a function that looks at no arguments.
func does(f func(ctx context.Context) (string, error)) tool.Tool {
	return tool.Tool{Func: func(ctx context.Context, _ json.RawMessage) (string, error) { return f(ctx) }}
}

func echo(_ context.Context, arguments json.RawMessage) (string, error) {
	return string(arguments), nil
}

func TestTool_RunArgumentsAreAnObject(t *testing.T) {
	for given, want := range map[string]string{
		``:                `{}`,
		` `:               `{}`,
		`null`:            `{}`,
		`{}`:              `{}`,
		` {"a": 1} `:      `{"a": 1}`,
		`"{\"a\":1}"`:     `{"a":1}`,
		`"{\"a\":"`:       `!the arguments are not a JSON object: unexpected end of JSON input`,
		`"a"`:             `!the arguments are not a JSON object: invalid character 'a' looking for beginning of value`,
		`[1]`:             `!the arguments are not a JSON object: json: cannot unmarshal array into Go value of type map[string]json.RawMessage`,
		`{"a":1} {"b":2}`: `!the arguments are not a JSON object: invalid character '{' after top-level value`,
	} {
		if got := run(t.Context(), tool.Tool{Func: echo}, given); got != want {
			t.Errorf("%s: got %s, want %s", given, got, want)
		}
	}
}

func TestTool_RunReturnsTheCallsResult(t *testing.T) {
	got := tool.Tool{Func: echo}.Run(t.Context(), llm.ToolCall{ID: "7", Name: "echo"})
	if diff := cmp.Diff(llm.ToolResult{ID: "7", Name: "echo", Output: "{}"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTool_RunReportsFailures(t *testing.T) {
	var none []string
	for _, tt := range []struct {
		f    func(context.Context) (string, error)
		want string // a part of it
	}{
		{func(context.Context) (string, error) { return "", errors.New("no") }, "!no"},
		{func(context.Context) (string, error) { return "some", errors.New("no") }, "!some\nno"},
		{func(context.Context) (string, error) { panic("oh") }, "!the tool panicked at tool_test.go:"},
		{func(context.Context) (string, error) { panic("oh") }, ": oh"},
		{func(context.Context) (string, error) { return none[1], nil }, "index out of range [1]"},
		{func(context.Context) (string, error) { runtime.Goexit(); return "", nil }, "!the tool ended its own goroutine"},
		{nil, "!the tool panicked at tool_test.go:"},
	} {
		got := run(t.Context(), does(tt.f), "")
		if !strings.HasPrefix(got, "!") || !strings.Contains(got, tt.want) {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
	if got := run(t.Context(), tool.Tool{}, ""); !strings.HasPrefix(got, "!the tool panicked at tool.go:") {
		t.Errorf("no function: %q", got)
	}
}

// TestTool_RunEndsInTime is about a Func that obeys its
// context and one that does not.
func TestTool_RunEndsInTime(t *testing.T) {
	obeys := func(ctx context.Context) (string, error) { <-ctx.Done(); return "half", ctx.Err() }
	ignores := func(context.Context) (string, error) { time.Sleep(time.Hour); return "late", nil }
	finishes := func(ctx context.Context) (string, error) { <-ctx.Done(); return "done", nil }
	for _, tt := range []struct {
		name  string
		tool  tool.Tool
		leave time.Duration // when the caller leaves; 0: never
		took  time.Duration
		want  string
	}{
		{"obeys", does(obeys), 0, 2 * time.Minute, "!half\nstopped: no answer within 2m0s"},
		{"ignores", does(ignores), 0, 2*time.Minute + 50*time.Millisecond, "!stopped: no answer within 2m0s; it does not stop and was left behind, so it may still be running"},
		{"finishes all the same", does(finishes), 0, 2 * time.Minute, "done"},
		{"the caller leaves", does(obeys), time.Second, time.Second, "!half\nstopped: the user has had enough"},
		{"the caller leaves in vain", does(ignores), time.Second, 1050 * time.Millisecond, "!stopped: the user has had enough; it does not stop and was left behind, so it may still be running"},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, leave := context.WithCancelCause(t.Context())
			defer leave(nil)
			if tt.leave > 0 {
				defer time.AfterFunc(tt.leave, func() { leave(errors.New("the user has had enough")) }).Stop()
			}
			began := time.Now()
			if got := run(ctx, tt.tool, ""); got != tt.want {
				t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
			}
			if took := time.Since(began); took != tt.took {
				t.Errorf("%s: took %v, want %v", tt.name, took, tt.took)
			}
			time.Sleep(time.Hour) // until what was left behind has ended
		})
	}
}

func TestTool_StoppedWriteMayHaveHadAnEffect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stopped := does(func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() })
		stopped.Timeout = time.Second
		stopped.Writes = true
		if got, want := run(t.Context(), stopped, ""), "!stopped: no answer within 1s; its effects until then are not known"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		stopped.Idempotent = true
		if got, want := run(t.Context(), stopped, ""), "!stopped: no answer within 1s"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestTool_RunAfterCallerLeft(t *testing.T) {
	ctx, leave := context.WithCancelCause(t.Context())
	leave(errors.New("interrupt"))
	never := does(func(context.Context) (string, error) { t.Error("it ran"); return "", nil })
	if got, want := run(ctx, never, ""), "!it was not run: interrupt"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTool_Repeatable(t *testing.T) {
	for _, tt := range []struct {
		tool tool.Tool
		want bool
	}{
		{tool.Tool{}, true},
		{tool.Tool{Idempotent: true}, true},
		{tool.Tool{Writes: true}, false},
		{tool.Tool{Writes: true, Idempotent: true}, true},
	} {
		if got := tt.tool.Repeatable(); got != tt.want {
			t.Errorf("writes %v, idempotent %v: got %v", tt.tool.Writes, tt.tool.Idempotent, got)
		}
	}
}

func TestTool_LongOutputIsTruncated(t *testing.T) {
	for _, tt := range []struct {
		output string
		bound  int
		want   string
	}{
		{"1234567890", 10, "1234567890"},
		{"12345678901", 10, "12345\n[1 bytes are left out here]\n78901"},
		{"ääääää", 6, "ä\n[8 bytes are left out here]\nä"},
		{"a\xff\xfeb", 10, "a?b"},
		{"\xff\xfe\xfd\xfc\xfb\xfa\xf9\xf8", 4, "?\n[4 bytes are left out here]\n?"},
		{"12", 1, "\n[2 bytes are left out here]\n"},
		{strings.Repeat("x", 64<<10), 0, strings.Repeat("x", 64<<10)},
		{strings.Repeat("x", 65<<10), -1, strings.Repeat("x", 32<<10) + "\n[1024 bytes are left out here]\n" + strings.Repeat("x", 32<<10)},
	} {
		says := does(func(context.Context) (string, error) { return tt.output, nil })
		says.MaxOutput = tt.bound
		if diff := cmp.Diff(tt.want, run(t.Context(), says, "")); diff != "" {
			t.Errorf("%.20q in %d: %s", tt.output, tt.bound, diff)
		}
	}
}

func FuzzOutput(f *testing.F) {
	f.Add("ä\xff€", 5)
	f.Add("\x80\x80\x80\x80\x80\x80\x80\x80", 3)
	f.Fuzz(func(t *testing.T, output string, n int) {
		says := does(func(context.Context) (string, error) { return output, nil })
		says.MaxOutput = n
		got := run(t.Context(), says, "")
		if !utf8.ValidString(got) {
			t.Errorf("not UTF-8: %q", got)
		}
		if most := len("\n[9223372036854775807 bytes are left out here]\n"); n > 0 && len(got) > n+most {
			t.Errorf("%d bytes in %d", len(got), n)
		}
		if utf8.ValidString(output) && n > 0 && len(output) <= n && got != output {
			t.Errorf("got %q, want %q", got, output)
		}
	})
}

func BenchmarkRun(b *testing.B) {
	b.ReportAllocs()
	t := tool.Tool{Func: echo}
	call := llm.ToolCall{Arguments: json.RawMessage(`{"path":"a"}`)}
	for b.Loop() {
		t.Run(b.Context(), call)
	}
}
