package journal_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ridethrough/ridethrough/internal/journal"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/turn"
)

// talk is a short conversation.
func talk() []turn.Event {
	return append(turn.Begin("t1", "hello"),
		turn.AssistantMessage{Name: llm.Name{Provider: "acme", Model: "large"}, Content: llm.Content{llm.Text{Text: "hi"}}, Reason: llm.Stop},
		turn.Error{Message: "no", Kind: "auth"}, turn.Switched{From: "a/b", To: "c/d"}, turn.Sealed{Status: turn.Done})
}

// open opens a file until the test is over.
func open(t *testing.T, name string) *journal.File {
	t.Helper()
	f, err := journal.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// written gives the name of a file with a conversation in it.
func written(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "deep", "down", "talk.jsonl")
	f := open(t, name)
	for _, e := range talk() {
		if err := f.Append(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestWhatWasKeptIsThereAgain(t *testing.T) {
	name := written(t)
	f := open(t, name)
	if diff := cmp.Diff(talk(), f.Events(), cmpopts.IgnoreFields(turn.Error{}, "Fault")); diff != "" || f.Turn() != "t1" {
		t.Error(f.Turn(), diff)
	}
	if err := f.Append(t.Context(), turn.Begin("t2", "again")...); err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	if f = open(t, name); len(f.Events()) != len(talk())+2 || f.Turn() != "t2" {
		t.Errorf("%s: %v", f.Turn(), f.Events())
	}
	info, err := os.Stat(name)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestALineThatWasCutOffIsTakenAway(t *testing.T) {
	name := written(t)
	whole, _ := os.ReadFile(name)
	last := strings.LastIndex(string(whole[:len(whole)-1]), "\n") + 1
	for cut := len(whole) - 1; cut > last; cut -= 7 {
		if err := os.WriteFile(name, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		f := open(t, name)
		if got := f.Events(); len(got) != len(talk())-1 {
			t.Fatalf("cut at %d of %d: %d events", cut, len(whole), len(got))
		}
		if err := f.Append(t.Context(), turn.Sealed{Status: turn.Done}); err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
		f = open(t, name)
		if diff := cmp.Diff(talk(), f.Events(), cmpopts.IgnoreFields(turn.Error{}, "Fault")); diff != "" {
			t.Fatal(diff)
		}
		_ = f.Close()
	}
}

func TestWhatIsNoConversationIsRefusedWithItsLine(t *testing.T) {
	whole, _ := os.ReadFile(written(t))
	lines := strings.SplitAfter(string(whole), "\n")
	for name, c := range map[string]struct{ text, says string }{
		"a hole":            {lines[0] + lines[2], "line 2: event 3 where 2 should be"},
		"a line twice":      {lines[0] + lines[0], "line 2: event 1 where 2 should be"},
		"no JSON":           {lines[0] + "what?\n", "line 2: "},
		"something else":    {`{"v":1,"seq":1,"type":"tea-time"}` + "\n", `line 1: "tea-time" is no event`},
		"no end of a line":  {`{"name":"mine","version":"1.0.0"}`, "line 1: it is no event"},
		"a tail of another": {lines[0] + "what?", "line 2: it is no event"},
		"what only passes":  {`{"v":1,"seq":1,"type":"text-delta","text":"x"}` + "\n", `line 1: "text-delta" is no event`},
	} {
		path := filepath.Join(t.TempDir(), "talk.jsonl")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if f, err := journal.Open(path); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, %v", name, f, err)
		}
		if left, _ := os.ReadFile(path); string(left) != c.text {
			t.Errorf("%s: the file was changed", name)
		}
	}
}

func TestWhatIsNoFileIsRefusedBeforeItIsRead(t *testing.T) {
	for _, name := range []string{t.TempDir(), os.DevNull} {
		if f, err := journal.Open(name); err == nil || !strings.Contains(err.Error(), "no regular file") {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
}

func TestOneProcessWritesToAConversation(t *testing.T) {
	name := written(t)
	open(t, name)
	if _, err := journal.Open(name); err == nil || !strings.Contains(err.Error(), "another process is writing to it") {
		t.Error(err)
	}
}

func TestAnAppendThatFailsLeavesTheFileAsItWas(t *testing.T) {
	name := written(t)
	f := open(t, name)
	_ = f.Close()
	if err := f.Append(t.Context(), turn.Sealed{}); err == nil {
		t.Error("a closed file was written to")
	}
	if diff := cmp.Diff(talk(), open(t, name).Events(), cmpopts.IgnoreFields(turn.Error{}, "Fault")); diff != "" {
		t.Error(diff)
	}
}

func TestRemoveTakesTheFileAway(t *testing.T) {
	name := written(t)
	if err := open(t, name).Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(name); !os.IsNotExist(err) {
		t.Error(err)
	}
}

func FuzzOpen(f *testing.F) {
	for _, seed := range []string{"", "{}\n", `{"v":1,"seq":1,"ts":"2026-11-21T12:00:00Z","type":"turn-start","id":"t1"}` + "\n", "\n\n"} {
		f.Add([]byte(seed))
	}
	name := filepath.Join(f.TempDir(), "talk.jsonl")
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		j, err := journal.Open(name)
		if err != nil {
			return
		}
		defer j.Close()
		n := len(j.Events())
		if err := j.Append(t.Context(), turn.Restarted{}); err != nil {
			t.Fatal(err)
		}
		_ = j.Close()
		again, err := journal.Open(name)
		if err != nil || len(again.Events()) != n+1 {
			t.Fatalf("%v, %d events after %d", err, len(again.Events()), n)
		}
		_ = again.Close()
	})
}
