//go:build unix

package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"

	"github.com/ridethrough/ridethrough/internal/cli"
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/internal/terminal/printable"
)

// hostile is a text that clears the screen, sets the title, reverses the line and hides a word in tags.
const hostile = "x\x1b[2J\u009b31m\x1b]0;title\a\x7f\u202eabc\u2066\u200b\ufeff\U000e0041y"

// terminal is a pseudo-terminal with what was written to it.
type terminal struct {
	*os.File
	written chan string
}

func openTerminal(t *testing.T) terminal {
	t.Helper()
	master, tty, err := pty.Open()
	if err != nil {
		t.Skip("there are no pseudo-terminals here: ", err)
	}
	written := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(master) // it ends with an error when the terminal is closed
		written <- strings.ReplaceAll(string(text), "\r\n", "\n")
	}()
	t.Cleanup(func() { _ = master.Close() })
	return terminal{tty, written}
}

// text closes the terminal and returns what was written to it.
func (tt terminal) text(t *testing.T) string {
	t.Helper()
	if err := tt.Close(); err != nil {
		t.Fatalf("close the terminal: %v", err)
	}
	return <-tt.written
}

// checkPrintable fails if a terminal would obey a part of a text or hide it.
func checkPrintable(t *testing.T, what, text string) {
	t.Helper()
	if i := strings.IndexFunc(text, func(r rune) bool { return !printable.Is(r) }); i >= 0 {
		t.Errorf("%s on a terminal: got %q at byte %d of %q, want printable characters only", what, text[i:i+1], i, text)
	}
}

// hostileEnv is the environment of a provider whose every answer and error is hostile.
func hostileEnv(t *testing.T) []string {
	t.Helper()
	path, err := json.Marshal(hostile)
	if err != nil {
		t.Fatalf("encode: %v", err)
	}
	say := `say:"` + hostile + `"`
	replies, err := simulator.Parse(fmt.Sprintf(`think:"%s"+%s+call:list_files{"path":%s}, %s`, hostile, say, path, say))
	if err != nil {
		t.Fatalf("parse: %v", err)
	}
	return agentEnv(t, simulator.Script{Replies: replies, Answer: hostile})
}

func TestTerminal_ForeignTextIsPrintable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "error.json")
	body, err := json.Marshal(map[string]any{"error": map[string]string{"type": "overloaded_error", "message": hostile, "code": hostile}})
	if err != nil {
		t.Fatalf("encode: %v", err)
	}
	if err := os.WriteFile(file, body, 0o600); err != nil {
		t.Fatalf("write: %v", err)
	}
	dir := t.TempDir()
	for _, tt := range []struct {
		args string
		says string // a part of the output
	}{
		{"run --plain --no-save hi", "x␛[2J"},
		{"run --plain --no-save --reasoning hi", "x␛[2J"},
		{"run --json --no-save hi", `\u202eabc\u2066\u200b\ufeff\udb40\udc41y`},
		{"run --plain --save " + dir + "/saved --files . hi", "x␛[2J"},
		{"council --plain --members-answers -m anthropic/m -m anthropic/n hi", "x␛[2J"},
		{"council --json -m anthropic/m -m anthropic/n hi", `\u202eabc`},
		{"import --data " + dir + "/store " + dir + "/saved", "1 imported"},
		{"export --data " + dir + "/store", `\u202eabc`},
		{"explain " + file, "fault"},
		{"explain --json " + file, `"kind":"overloaded"`},
		{"doctor --offline --data none", "configuration"},
		{"serve --policy " + hostile, "unknown policy"},
		{"run --conti" + hostile, "unknown flag"},
	} {
		tty := openTerminal(t)
		cli.Run(t.Context(), strings.Split(tt.args, " "), command.Streams{Out: tty.File, Err: tty.File, Env: lookup(hostileEnv(t))})
		text := tty.text(t)
		checkPrintable(t, tt.args, text)
		if !strings.Contains(text, tt.says) {
			t.Errorf("%s: got %q, want it to contain %q", tt.args, text, tt.says)
		}
	}
}

// A person who starts serve sees a card; programs read the log.
func TestTerminal_ServeGreetsWithACard(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // it stops as soon as it serves
	tty := openTerminal(t)
	dir := t.TempDir()
	cli.Run(ctx, []string{"serve", "--listen", "127.0.0.1:0", "--data", dir}, command.Streams{Out: tty.File, Err: tty.File, Env: lookup(nil)})
	text := tty.text(t)
	for _, want := range []string{"ridethrough is ready at http://127.0.0.1:", "/-/ui/\n", "ridethrough exec -- claude", "OPENAI_BASE_URL=http://127.0.0.1:", dir + "\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("serve on a terminal: got %q, want %q in it", text, want)
		}
	}
	if strings.Contains(text, "point your clients here") {
		t.Errorf("serve on a terminal: got %q, want no log of what the card has", text)
	}
}

// What a terminal gets as JSON has the same value as what a pipe gets.
func TestTerminal_JSONKeepsItsValue(t *testing.T) {
	dir := t.TempDir()
	run(t, hostileEnv(t), "run", "--save", dir+"/saved", "hi")
	run(t, nil, "import", "--data", dir+"/store", dir+"/saved")
	_, piped, _ := run(t, nil, "export", "--data", dir+"/store")
	if !strings.Contains(piped, "\u202eabc") {
		t.Errorf("export into a pipe: got %q, want U+202E unchanged", piped)
	}
	tty := openTerminal(t)
	cli.Run(t.Context(), []string{"export", "--data", dir + "/store"}, command.Streams{Out: tty.File, Err: tty.File, Env: lookup(nil)})
	shown := strings.Split(tty.text(t), "\n")
	for i, line := range strings.Split(piped, "\n") {
		if i == 0 || line == "" {
			continue // it has the time of the export
		}
		var want, got any
		if err := json.Unmarshal([]byte(line), &want); err != nil {
			t.Fatalf("decode line %d of the pipe: %v", i+1, err)
		}
		if err := json.Unmarshal([]byte(shown[i]), &got); err != nil {
			t.Fatalf("decode line %d of the terminal: %v", i+1, err)
		}
		checkJSON(t, "line of the export", got, want)
	}
}

// checkJSON compares two values of JSON.
func checkJSON(t *testing.T, what string, got, want any) {
	t.Helper()
	g, _ := json.Marshal(got)
	w, _ := json.Marshal(want)
	if string(g) != string(w) {
		t.Errorf("%s: got %s, want %s", what, g, w)
	}
}

func TestTerminal_LogIsPrintable(t *testing.T) {
	provider := start(t, "simulator", "--listen", "127.0.0.1:0", "--then", "401")
	upstream := provider.waitForLog(t, "simulating a provider")["url"].(string)
	tty := openTerminal(t)
	addr := freeAddr(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() {
		ended <- cli.Run(ctx, []string{"serve", "--data", "none", "--listen", addr, "--upstream", "openai=" + upstream + "/v1"},
			command.Streams{Out: tty.File, Err: tty.File, Env: lookup(nil)})
	}()
	body, err := json.Marshal(map[string]any{"model": hostile, "messages": []any{}})
	if err != nil {
		t.Fatalf("encode: %v", err)
	}
	postUntilUp(t, "http://"+addr+"/v1/chat/completions", string(body))
	req, _ := http.NewRequestWithContext(t.Context(), "GET", "http://"+addr+"/-/livez", nil)
	if resp, err := http.DefaultClient.Do(req); err != nil || resp.Body.Close() != nil {
		t.Errorf("ask livez: %v", err)
	}
	cancel()
	<-ended
	text := tty.text(t)
	checkPrintable(t, "the log", text)
	if want := `model="x\x1b[2J\u009b31m\x1b]0;title\a\x7f\u202eabc`; !strings.Contains(text, want) {
		t.Errorf("log: got %q, want it to contain %s", text, want)
	}
}

// TestTerminal_WatchKeepsTheListInPlace is about a gateway with a call whose texts are hostile, and then without one.
func TestTerminal_WatchKeepsTheListInPlace(t *testing.T) {
	tt := openTerminal(t)
	ctx, quit := context.WithCancel(t.Context())
	asked := 0
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked++; asked > 2 { // it has drawn the first list, for which it asks twice
			quit()
		}
		model, _ := json.Marshal(hostile)
		fmt.Fprintf(w, `{"waits":[{"id":7,"state":"waiting","upstream":"anthropic","model":%s,"cause":"rate limit","remainingMs":9000}]}`, model)
	}))
	defer gateway.Close()
	code := cli.Run(ctx, []string{"waits", "--watch", "--server", gateway.URL}, command.Streams{Out: tt.File, Err: io.Discard, Env: lookup(nil)})
	text := tt.text(t)
	if code != 0 || !strings.Contains(text, "CALL") || !strings.Contains(text, "rate limit") || !strings.Contains(text, "in 9s") {
		t.Errorf("waits --watch: code %d and %q, want 0 and the call", code, text)
	}
	for _, not := range []string{"x\x1b[2J", "\x1b]0;", "\u202e"} {
		if strings.Contains(text, not) {
			t.Errorf("waits --watch wrote %q, want it without %q", text, not)
		}
	}
}

// TestTerminal_ExplainSaysThatItReads is about a user who names no error, and would wait for an answer.
func TestTerminal_ExplainSaysThatItReads(t *testing.T) {
	master, tty, err := pty.Open()
	if err != nil {
		t.Skip("there are no pseudo-terminals here: ", err)
	}
	defer master.Close()
	defer tty.Close()
	if _, err := io.WriteString(master, "overloaded_error\n\x04"); err != nil {
		t.Fatalf("type: %v", err)
	}
	var out, errs strings.Builder
	code := cli.Run(t.Context(), []string{"explain"}, command.Streams{In: tty, Out: &out, Err: &errs, Env: lookup(nil)})
	if code != 0 || !strings.Contains(errs.String(), "Reading an error from standard input; Ctrl+D ends it.") || !strings.Contains(out.String(), "overloaded") {
		t.Errorf("explain: code %d, %q and %q, want it to say that it reads, and the explanation", code, errs.String(), out.String())
	}
}
