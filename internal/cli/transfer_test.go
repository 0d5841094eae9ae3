package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/cli"
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/natstest"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/bolt"
	"github.com/ridethrough/ridethrough/store/nats"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// withStore works on the store in a directory, with a runner that has a model with these
// answers and parks every wait.
func withStore(t *testing.T, dir string, wait time.Duration, answers []llmtest.Answer, do func(*conversation.Runner)) {
	t.Helper()
	e, err := bolt.Open(t.Context(), bolt.Config{Dir: dir})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	withRunner(t, e, wait, answers, do)
}

// withRunner is withStore for a store that is open, and closes it.
func withRunner(t *testing.T, e store.Store, wait time.Duration, answers []llmtest.Answer, do func(*conversation.Runner)) {
	t.Helper()
	model := llmtest.New(llm.Name{Provider: "acme", Model: "large"}, answers...)
	h := conversation.New(conversation.Config{Store: e, ParkAfter: 1, Agent: func(context.Context, conversation.Settings) (agent.Agent, error) {
		w := agent.Agent{Model: model}
		w.Retry.Policy = policy.Patient()
		w.Retry.Policy.Backoff = policy.Backoff{Steps: []time.Duration{wait}}
		return w, nil
	}})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	do(h)
	cancel()
	if err := errors.Join(<-done, e.Close(t.Context())); err != nil {
		t.Fatalf("run and close: %v", err)
	}
}

// waitEvent returns the first event of a conversation that matches.
func waitEvent(t *testing.T, h *conversation.Runner, id string, wanted func(wire.Event) bool) wire.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for e, err := range h.Attach(ctx, id, 0) {
		if err != nil {
			t.Fatalf("attach: %v", err)
		}
		if wanted(e) {
			return e
		}
	}
	t.Fatal("no event matches")
	return wire.Event{}
}

// waitSealed returns how the turn of a conversation has ended.
func waitSealed(t *testing.T, h *conversation.Runner, id string) turn.Sealed {
	e := waitEvent(t, h, id, func(e wire.Event) bool { return wire.Type(e.Body) == "turn-sealed" })
	return e.Body.(wire.Turn).Event.(turn.Sealed)
}

// waitParked returns the wait of a conversation's turn.
func waitParked(t *testing.T, h *conversation.Runner, id string) conversation.Wait {
	t.Helper()
	waitEvent(t, h, id, func(e wire.Event) bool { return wire.Type(e.Body) == "provider-retry" })
	for range 10_000 { // the event comes before the state
		v, err := h.Get(t.Context(), id)
		if err != nil {
			t.Fatalf("get conversation: %v", err)
		}
		if v.Wait != nil {
			return *v.Wait
		}
	}
	t.Fatal("the turn does not wait")
	return conversation.Wait{}
}

// runTurn starts a conversation with one turn.
func runTurn(t *testing.T, h *conversation.Runner, id, text string) {
	t.Helper()
	if _, err := h.Create(t.Context(), id, conversation.Settings{Model: "acme/large"}); err != nil {
		t.Fatalf("create conversation: %v", err)
	}
	if _, err := h.Submit(t.Context(), id, "", text); err != nil {
		t.Fatalf("submit: %v", err)
	}
}

// feed runs a command with something on standard input.
func feed(t *testing.T, in string, args ...string) (code int, out, errs string) {
	t.Helper()
	return feedIn(t, nil, in, args...)
}

// feedIn is feed in an environment.
func feedIn(t *testing.T, env []string, in string, args ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = cli.Run(t.Context(), args, command.Streams{In: strings.NewReader(in), Out: &stdout, Err: &stderr, Env: lookup(env)})
	return code, stdout.String(), stderr.String()
}

var busy = llmtest.Fails(&fault.Error{Kind: fault.Overloaded, Status: 529, Message: "busy"})

func TestImport_WaitingTurnKeepsItsTimeInAnotherDirectory(t *testing.T) {
	t.Parallel()
	old, fresh := t.TempDir(), t.TempDir()
	var wait conversation.Wait
	withStore(t, old, 2500*time.Millisecond, []llmtest.Answer{llmtest.Says("one"), busy}, func(h *conversation.Runner) {
		runTurn(t, h, "a", "hello")
		if s := waitSealed(t, h, "a"); s.Status != turn.Done {
			t.Errorf("first turn ended with %+v, want status %s", s, turn.Done)
		}
		runTurn(t, h, "b", "wait")
		wait = waitParked(t, h, "b")
	})
	code, lines, errs := run(t, nil, "export", "--data", old)
	if code != 0 || errs != "" || strings.Count(lines, `"type":"turn-parked"`) != 1 {
		t.Fatalf("code %d, %s\n%s", code, errs, lines)
	}
	for _, says := range []string{"2 imported, 0 unchanged, 0 skipped\n1 have a turn in progress", "0 imported, 2 unchanged, 0 skipped\n"} {
		if code, out, errs := feed(t, lines, "import", "--data", fresh); code != 0 || errs != "" || !strings.HasPrefix(out, says) {
			t.Fatalf("code %d, %s\n%s", code, errs, out)
		}
	}
	withStore(t, fresh, time.Hour, []llmtest.Answer{llmtest.Says("two")}, func(h *conversation.Runner) {
		s := waitSealed(t, h, "b")
		if early := time.Until(wait.Due); early > 0 || s.Status != turn.Done || s.RetryCount != 1 || s.TotalRetryDelay < 2400*time.Millisecond || s.TotalRetryDelay > 2500*time.Millisecond {
			t.Errorf("%+v, %v before its instant", s, early)
		}
		if v, err := h.Get(t.Context(), "a"); err != nil || v.Turn != "" {
			t.Errorf("conversation a: got %+v and error %v, want no turn in progress", v, err)
		}
	})
}

// Only the test uses the servers.
func TestImport_WaitingTurnKeepsItsTimeOnNATS(t *testing.T) {
	t.Parallel()
	s := natstest.Run(t, natstest.Options(t.TempDir()))
	dir, env := t.TempDir(), []string{"RIDETHROUGH_NATS=" + s.ClientURL()}
	var wait conversation.Wait
	withStore(t, dir, 2*time.Second, []llmtest.Answer{busy}, func(h *conversation.Runner) {
		runTurn(t, h, "a", "wait")
		wait = waitParked(t, h, "a")
	})
	_, lines, _ := run(t, nil, "export", "--data", dir)
	if code, out, errs := run(t, env, "import", write(t, dir, "a.jsonl", lines)); code != 0 || errs != "" || !strings.HasPrefix(out, "1 imported") {
		t.Fatalf("code %d, %s\n%s", code, errs, out)
	}
	code, out, errs := run(t, env, "doctor", "--offline")
	for _, line := range []string{"ok       store: NATS servers of version 2.", "warning  sync: cannot see whether the servers have sync_interval: always", "1 active\n"} {
		if code != 0 || !strings.Contains(out, line) {
			t.Errorf("code %d, %s: no %q in\n%s", code, errs, line, out)
		}
	}
	e, err := nats.Dial(t.Context(), nats.Remote{URL: s.ClientURL()})
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	withRunner(t, e, time.Hour, []llmtest.Answer{llmtest.Says("two")}, func(h *conversation.Runner) {
		if s := waitSealed(t, h, "a"); time.Until(wait.Due) > 0 || s.Status != turn.Done || s.RetryCount != 1 {
			t.Errorf("%+v, %v before its instant", s, time.Until(wait.Due))
		}
	})
	serving := startIn(t, append(env, "RIDETHROUGH_LISTEN=127.0.0.1:0"), "serve")
	url, _ := serving.waitForLog(t, "listening")["url"].(string)
	answer, err := http.Get(url + "/-/conversations/a")
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Errorf("get the conversation: got %+v and error %v, want 200", answer, err)
	}
	if err == nil {
		_ = answer.Body.Close()
	}
	serving.stop()
}

func TestImport_ReportsAndSkipsConflicts(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	for _, d := range []string{dir, other} {
		withStore(t, d, time.Hour, []llmtest.Answer{llmtest.Says("one"), llmtest.Says("two"), llmtest.Says("three")}, func(h *conversation.Runner) {
			for _, id := range []string{"a", "b", "gone-" + filepath.Base(d)} {
				if d == other && id == "b" {
					continue
				}
				runTurn(t, h, id, "hello")
				waitSealed(t, h, id)
			}
		})
	}
	code, lines, errs := run(t, nil, "export", "a", "none", "a/b", "b", "--data", dir)
	if code != 1 || !strings.Contains(errs, "no such conversation: none\n") || !strings.Contains(errs, `"a/b"`) || strings.Count(lines, `"conversation-created"`) != 2 {
		t.Errorf("code %d, %s\n%s", code, errs, lines)
	}
	code, out, errs := feed(t, lines, "import", "-", "--data", other)
	if code != 1 || out != "1 imported, 0 unchanged, 1 skipped\n" || errs != "a: there is one of this id already: record 1 is another one\n" {
		t.Errorf("code %d, %s\n%s", code, errs, out)
	}
	text := strings.SplitAfter(lines, "\n")
	tests := []struct {
		in, says string
		args     []string
	}{
		{"", "-: line 1: the file is empty", nil},
		{strings.Join(text[:len(text)-3], ""), "the file is truncated here", nil},
		{"", "no such file", []string{dir + "/none"}},
		{"", "in use", []string{"--data", dir}},
	}
	held, err := bolt.Open(t.Context(), bolt.Config{Dir: dir})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	defer func() { _ = held.Close(t.Context()) }()
	for _, tt := range tests {
		args := append([]string{"import", "--data", other}, tt.args...)
		if code, _, errs := feed(t, tt.in, args...); code != 1 || !strings.Contains(errs, tt.says) {
			t.Errorf("%q: code %d, %s", tt.args, code, errs)
		}
	}
	if code, _, errs := run(t, nil, "export", "--data", other+"/none"); code != 1 || !strings.Contains(errs, "no conversations in") {
		t.Errorf("code %d, %s", code, errs)
	}
}

func TestImport_DeletedConversationStaysDeleted(t *testing.T) {
	dir := t.TempDir()
	var lines string
	withStore(t, dir, time.Hour, []llmtest.Answer{llmtest.Says("one")}, func(h *conversation.Runner) {
		runTurn(t, h, "a", "hello")
		waitSealed(t, h, "a")
	})
	_, lines, _ = run(t, nil, "export", "--data", dir)
	withStore(t, dir, time.Hour, nil, func(h *conversation.Runner) {
		if err := h.Delete(t.Context(), "a"); err != nil {
			t.Errorf("delete conversation: %v", err)
		}
	})
	if code, out, errs := feed(t, lines, "import", "--data", dir); code != 1 || !strings.Contains(errs, "a: was deleted from this store") || !strings.Contains(out, "1 skipped") {
		t.Errorf("code %d, %s\n%s", code, errs, out)
	}
	if code, lines, errs := run(t, nil, "export", "--data", dir); code != 0 || errs != "" || !strings.HasSuffix(lines, `{"end":{"conversations":0,"records":0}}`+"\n") {
		t.Errorf("code %d, %s\n%s", code, errs, lines)
	}
}

func TestExport_ReportsAndSkipsDamage(t *testing.T) {
	dir := t.TempDir()
	withStore(t, dir, time.Hour, []llmtest.Answer{llmtest.Says("one"), llmtest.Says("two"), llmtest.Says("three")}, func(h *conversation.Runner) {
		for _, id := range []string{"a", "b", "c"} {
			runTurn(t, h, id, "hello "+id+id+id)
			waitSealed(t, h, id)
		}
	})
	if n, err := flip(dir, "hello bbb"); err != nil || n == 0 {
		t.Fatalf("%d places, %v", n, err)
	}
	code, lines, errs := run(t, nil, "export", "--data", dir)
	var first struct{ Conversation string }
	if err := json.Unmarshal([]byte(strings.Split(lines, "\n")[1]), &first); err != nil || first.Conversation != "c" {
		t.Errorf("first record: got %+v and error %v, want one of the conversation c", first, err)
	}
	if code != 1 || !strings.Contains(errs, "conversation b is damaged in records 2 to 3") || strings.Contains(lines, `"conversation":"b"`) || !strings.Contains(lines, `"conversation":"a"`) {
		t.Errorf("code %d, %s\n%s", code, errs, lines)
	}
}

// Both directions go through the server that uses the directory.
func TestExport_GoesThroughTheServer(t *testing.T) {
	dir, fresh := t.TempDir(), t.TempDir()
	withStore(t, dir, time.Hour, []llmtest.Answer{llmtest.Says("one"), busy}, func(h *conversation.Runner) {
		runTurn(t, h, "a", "hello")
		waitSealed(t, h, "a")
		runTurn(t, h, "b", "wait")
		waitParked(t, h, "b")
	})
	_, want, _ := run(t, nil, "export", "--data", dir)
	serving := start(t, "serve", "--listen", "127.0.0.1:0", "--data", dir)
	url := serving.waitForLog(t, "listening")["url"].(string)
	polled(t, url+"/-/conversations", `"conversations":[`) // the store is open
	here := []string{"RIDETHROUGH_LISTEN=" + strings.TrimPrefix(url, "http://"), "HOME=" + t.TempDir()}
	for _, args := range [][]string{{"--data", dir}, {"--server", url}} {
		code, lines, errs := run(t, here, append([]string{"export"}, args...)...)
		if code != 0 || errs != "" || records(lines) != records(want) {
			t.Errorf("export %q: code %d, %s, got\n%s\nwant\n%s", args, code, errs, lines, want)
		}
		if code, out, errs := feed(t, lines, "import", "--data", fresh); code != 0 || errs != "" || !strings.HasSuffix(out, " 0 skipped\n") && !strings.Contains(out, "2 imported") {
			t.Errorf("import of what %q exported: code %d, %s\n%s", args, code, errs, out)
		}
	}
	if _, lines, _ := run(t, nil, "export", "--data", fresh); records(lines) != records(want) {
		t.Errorf("imported: got\n%s\nwant\n%s", lines, want)
	}
	code, lines, errs := run(t, here, "export", "none", "a", "--server", url)
	if code != 1 || errs != "no such conversation: none\n" || strings.Count(lines, `"conversation-created"`) != 1 {
		t.Errorf("export of one that does not exist: code %d, %s\n%s", code, errs, lines)
	}
	other := strings.ReplaceAll(want, `"conversation":"`, `"conversation":"other-`)
	for _, says := range []string{"2 imported, 0 unchanged, 0 skipped\n1 have a turn in progress", "0 imported, 2 unchanged, 0 skipped\n"} {
		if code, out, errs := feedIn(t, here, other, "import", "--data", dir); code != 0 || errs != "" || !strings.HasPrefix(out, says) {
			t.Errorf("import through the server: code %d, %s, got %q, want %q", code, errs, out, says)
		}
	}
	if _, lines, _ := run(t, here, "export", "other-b", "other-a", "--server", url); records(lines) != records(other) {
		t.Errorf("imported through the server: got\n%s\nwant\n%s", lines, other)
	}
	if code, out, errs := run(t, here, "delete", "other-a", "none", "--data", dir); code != 1 || !strings.Contains(errs, "no such conversation: none") || out != "1 deleted, 1 skipped\n" {
		t.Errorf("delete through the server: code %d, %s, got %q; want one deleted, and none named", code, errs, out)
	}
	if _, lines, _ := run(t, here, "export", "--server", url); strings.Contains(lines, "other-a") || !strings.Contains(lines, "other-b") {
		t.Errorf("after the deletion: got\n%s\nwant it without other-a", lines)
	}
	serving.stop()
}

func TestExport_AnotherServerIsNotTheOneThatUsesTheDirectory(t *testing.T) {
	dir := t.TempDir()
	held, err := bolt.Open(t.Context(), bolt.Config{Dir: dir})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	defer func() { _ = held.Close(t.Context()) }()
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"process":1}`) }))
	defer other.Close()
	for addr, says := range map[string]string{
		strings.TrimPrefix(other.URL, "http://"): "(the server at " + other.URL + " is another process); --server names another",
		"127.0.0.1:1":                            "(the server at http://127.0.0.1:1 cannot be reached",
	} {
		code, lines, errs := run(t, []string{"RIDETHROUGH_LISTEN=" + addr, "HOME=" + dir}, "export", "--data", dir)
		if code != 1 || lines != "" || !strings.Contains(errs, "the store is in use: "+dir) || !strings.Contains(errs, says) {
			t.Errorf("with a server at %s: code %d, %s\n%s\nwant %q", addr, code, errs, lines, says)
		}
	}
}

// records returns the lines of an export without the first, which has the time.
func records(export string) string {
	_, rest, _ := strings.Cut(export, "\n")
	return rest
}
