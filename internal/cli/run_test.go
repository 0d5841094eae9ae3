package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ridethrough/ridethrough/internal/cli"
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
)

// agentEnv returns the environment for `run`, with a simulated provider and a
// state directory.
func agentEnv(t *testing.T, script simulator.Script) []string {
	t.Helper()
	server := httptest.NewServer(simulator.New(script))
	t.Cleanup(server.Close)
	return []string{
		"RIDETHROUGH_MODEL=anthropic/claude-opus-4-5", "ANTHROPIC_BASE_URL=" + server.URL, "ANTHROPIC_API_KEY=k",
		"XDG_STATE_HOME=" + t.TempDir(), "XDG_CONFIG_HOME=" + t.TempDir(),
	}
}

// saved returns the files of saved turns.
func saved(t *testing.T, env []string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(lookup(env)("XDG_STATE_HOME"), "ridethrough", "runs", "*"))
	if err != nil {
		t.Fatalf("glob: %v", err)
	}
	return names
}

func TestRun_InterruptEndsReadingStandardInput(t *testing.T) {
	env := agentEnv(t, simulator.Script{})
	in, w := io.Pipe()
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var errs bytes.Buffer
	if code := cli.Run(ctx, []string{"run"}, command.Streams{In: in, Out: io.Discard, Err: &errs, Env: lookup(env)}); code != 1 {
		t.Errorf("code %d, %s", code, &errs)
	}
	if names := saved(t, env); len(names) > 0 {
		t.Errorf("%q is left", names)
	}
}

// full is a stream on which nothing can be written.
type full struct{ err error }

func (f full) Write([]byte) (int, error) {
	return 0, &os.PathError{Op: "write", Path: "out", Err: f.err}
}

func TestRun_UnwritableAnswerIsSavedAndReported(t *testing.T) {
	for _, flag := range []string{"--plain", "--json"} {
		env := agentEnv(t, simulator.Script{})
		var errs bytes.Buffer
		code := cli.Run(t.Context(), []string{"run", flag, "hi"}, command.Streams{Out: full{syscall.ENOSPC}, Err: &errs, Env: lookup(env)})
		if code != 1 || !strings.Contains(errs.String(), "the answer cannot be written: write out: no space left") {
			t.Errorf("%s: code %d, %s", flag, code, &errs)
		}
		if names := saved(t, env); len(names) != 1 {
			t.Errorf("%s: %q is left", flag, names)
		}
	}
}

func TestRun_ClosedPipeIsNotReported(t *testing.T) {
	for _, flag := range []string{"--plain", "--json"} {
		env := agentEnv(t, simulator.Script{})
		var errs bytes.Buffer
		code := cli.Run(t.Context(), []string{"run", "--no-save", flag, "hi"}, command.Streams{Out: full{syscall.EPIPE}, Err: &errs, Env: lookup(env)})
		if code != 141 || errs.Len() > 0 {
			t.Errorf("%s: code %d, %s", flag, code, &errs)
		}
	}
}

func TestRun_RemovesTerminalControlsFromAnswers(t *testing.T) {
	replies, err := simulator.Parse("call:list{\"path\":\"a\u009b2Jb\u202ec\"}, say:\"red \x1b[31m\u009b done\"")
	if err != nil {
		t.Fatalf("parse: %v", err)
	}
	for _, flags := range [][]string{nil, {"--files", t.TempDir()}} {
		code, out, errs := run(t, agentEnv(t, simulator.Script{Replies: replies}), append([]string{"run", "hi"}, flags...)...)
		if code != 0 || strings.ContainsAny(errs, "\u009b\x1b\u202e") {
			t.Errorf("%q: code %d, %q", flags, code, errs)
		}
		if out != "red \x1b[31m\u009b done\n" { // a pipe gets the answer unchanged
			t.Errorf("answer in a pipe with %q: got %q, want it unchanged", flags, out)
		}
	}
}

func TestRun_JSONEndsWithExitOnBadFlags(t *testing.T) {
	env := agentEnv(t, simulator.Script{})
	for _, args := range []string{"--bogus", "--max-tokens many", "--reasoning", "--no-save --save x", "--save x --continue=y"} {
		code, out, errs := run(t, env, strings.Fields("run --json hi "+args)...)
		if code != 2 || strings.Count(out, "\n") != 1 || !strings.Contains(out, `"type":"exit","status":"failed","exitCode":2,"message":`) || errs == "" {
			t.Errorf("%s: code %d, %q, %q", args, code, out, errs)
		}
	}
}

func TestRun_ContinuesTurnWithoutSeal(t *testing.T) {
	for name, last := range map[string]string{
		"its answer may not have been seen": `"type":"assistant-message","body":{"content":[{"type":"text","text":"Here I am."}],"reason":"stop"}`,
		"it had failed and is asked again":  `"type":"error","body":{"message":"busy","kind":"overloaded","retries":0,"waitedMs":0}`,
	} {
		file := begun(t, last)
		code, out, errs := run(t, agentEnv(t, simulator.Script{Answer: "Here I am."}), "run", "--continue="+file)
		if code != 0 || out != "Here I am.\n" || errs != "" {
			t.Errorf("%s: code %d, %q, %q", name, code, out, errs)
		}
	}
}

// begun returns a file of a conversation with the turn "a" in progress and more
// events of that turn.
func begun(t *testing.T, events ...string) string {
	t.Helper()
	text := `{"format":"ridethrough-conversations","version":1,"time":"2026-11-21T10:00:00Z"}` + "\n"
	for i, e := range append([]string{`"type":"turn-start","body":{"id":"a"}`, `"type":"user-message","body":{"text":"hi"}`}, events...) {
		text += fmt.Sprintf(`{"conversation":"c","n":%d,"time":"2026-11-21T10:00:00Z","turn":"a",%s}`+"\n", i+1, e)
	}
	return write(t, t.TempDir(), "conversation.jsonl", text)
}

func TestRun_ContinuedTurnKeepsItsID(t *testing.T) {
	file := begun(t)
	_, out, _ := run(t, agentEnv(t, simulator.Script{}), "run", "--json", "--continue="+file)
	if events := strings.Count(out, "\n"); events < 4 || strings.Count(out, `"turnId":"a"`) != events {
		t.Errorf("want only events of turn a and its exit:\n%s", out)
	}
}

func TestRun_ContinueCommandRepeatsFlags(t *testing.T) {
	env := agentEnv(t, simulator.Script{Then: simulator.Status{Code: 529}})
	folder := filepath.Join(t.TempDir(), "it's mine")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatalf("mkdir: %v", err)
	}
	code, _, errs := run(t, env, "run", "--policy", "none", "-m", "claude-x", "--fallback", "claude-y", "--files", folder, "hi")
	want := "saved; continue with: ridethrough run -m claude-x --fallback claude-y --files '" + strings.ReplaceAll(folder, "'", `'\''`) + "' --continue=" + saved(t, env)[0]
	if code != 75 || !strings.Contains(errs, want) {
		t.Errorf("code %d, %s, want %s", code, errs, want)
	}
}

func TestRun_BadEnvironmentIsConfigurationError(t *testing.T) {
	for name, says := range map[string]string{"RIDETHROUGH_MODEL=acme/anvil": "RIDETHROUGH_MODEL: model", "OLLAMA_HOST=::::": "OLLAMA_HOST"} {
		code, _, errs := run(t, []string{name, "RIDETHROUGH_MODEL=ollama/q"}, "run", "--no-save", "hi") // the first counts
		if code != 78 || !strings.Contains(errs, says) {
			t.Errorf("%s: code %d, %s", name, code, errs)
		}
	}
}

func TestRun_SaysThatTheAnswerReachedItsLimit(t *testing.T) {
	const cut, line = `say:"Half an ans"+stop:length`, "… the answer ends here because it reached its limit of tokens"
	for _, tt := range []struct{ text, flags, want string }{
		{cut, "", line + " (--max-tokens may allow more)\n"},
		{cut, "--max-tokens=50", line + " (--max-tokens 50; a larger one allows more)\n"},
		{`say:"A whole answer"`, "--max-tokens=50", ""},
	} {
		replies, err := simulator.Parse(tt.text)
		if err != nil {
			t.Fatalf("parse: %v", err)
		}
		code, out, errs := run(t, agentEnv(t, simulator.Script{Replies: replies}), append([]string{"run", "hi"}, strings.Fields(tt.flags)...)...)
		if code != 0 || !strings.Contains(tt.text, strings.TrimSpace(out)) || errs != tt.want {
			t.Errorf("%s %s: code %d, %q, got %q, want %q", tt.text, tt.flags, code, out, errs, tt.want)
		}
	}
}

func TestRun_ReasoningEndsItsLineBeforeAnswer(t *testing.T) {
	replies, err := simulator.Parse(`think:"Let me see."+say:"It is so."`)
	if err != nil {
		t.Fatalf("parse: %v", err)
	}
	code, out, errs := run(t, agentEnv(t, simulator.Script{Replies: replies}), "run", "--effort", "high", "--reasoning", "hi")
	if code != 0 || out != "It is so.\n" || errs != "Let me see.\n" {
		t.Errorf("code %d, %q, %q", code, out, errs)
	}
}
