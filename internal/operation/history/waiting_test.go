package history_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/operation/history"
	"github.com/ridethrough/ridethrough/turn"
)

// killed lives until the process is killed, and returns the file of what waits as it was written last.
func (w *world) killed(path string, live func()) (waiting []byte) {
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan struct{})
	go func() { defer close(done); w.Persist(ctx) }()
	synctest.Wait()
	live()
	synctest.Wait()
	waiting, _ = os.ReadFile(waitingFile(path)) // none is empty
	cancel()
	<-done
	return waiting
}

func waitingFile(path string) string { return filepath.Join(filepath.Dir(path), "waiting.jsonl") }

func TestHistory_NamesCallsThatAKilledProcessHasLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "history.json")
		w := newWorld(t, path)
		left := w.killed(path, func() {
			for id := range int64(4) {
				w.tell(id, "opus", turn.Start{})
				w.fail(id, "opus")
			}
			w.end(3, "opus") // answered before
			time.Sleep(3 * time.Second)
		})
		if err := os.WriteFile(waitingFile(path), left, 0o600); err != nil {
			t.Fatalf("write file: %v", err)
		}
		next := newWorld(t, path)
		if got := next.Lost(time.Now()); got != "" {
			t.Errorf("before the file is this process's: got %q, want nothing", got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); next.Persist(ctx) }()
		defer func() { cancel(); <-done }()
		synctest.Wait()
		lost := func(want string) {
			t.Helper()
			if got := next.Lost(time.Now()); got != want {
				t.Errorf("lost: got %q, want %q", got, want)
			}
		}
		const claude = "claude-cli/2.1.329"
		lost("The gateway was ended while 3 calls waited. Their clients have sent 0 again since; not yet: " +
			"1 of " + claude + " (session s0), 1 of " + claude + " (session s1), 1 of " + claude + " (session s2).")
		next.tell(10, "opus", turn.Start{}) // of session s0
		next.tell(11, "haiku", turn.Start{})
		lost("The gateway was ended while 3 calls waited. Their clients have sent 1 again since; not yet: " +
			"1 of " + claude + " (session s1), 1 of " + claude + " (session s2).")
		next.tell(1, "opus", turn.Start{})
		next.tell(2, "opus", turn.Start{})
		lost("")
	})
}

func TestHistory_ForgetsLostCallsInAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "history.json")
		if err := os.WriteFile(waitingFile(path), []byte(`{"asker":{"client":"codex"}}`), 0o600); err != nil {
			t.Fatalf("write file: %v", err)
		}
		w := newWorld(t, path)
		w.killed(path, func() {
			time.Sleep(time.Hour)
			if got, want := w.Lost(time.Now()), "The gateway was ended while 1 call waited. Their clients have sent 0 again since; not yet: 1 of codex."; got != want {
				t.Errorf("within the hour: got %q, want %q", got, want)
			}
			time.Sleep(time.Second)
			if got := w.Lost(time.Now()); got != "" {
				t.Errorf("after an hour: got %q, want nothing", got)
			}
		})
	})
}

func TestHistory_OrderlyEndLosesNoCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "history.json")
		w := newWorld(t, path)
		w.killed(path, func() {
			w.fail(1, "opus")
			time.Sleep(3 * time.Second)
			w.end(1, "opus")
		}) // which ends with a last write
		next := newWorld(t, path)
		next.killed(path, func() {
			if got := next.Lost(time.Now()); got != "" {
				t.Errorf("got %q, want nothing", got)
			}
		})
	})
}

// outcome is what a gateway reports about a request.
func outcome(n int) gateway.Outcome {
	return gateway.Outcome{From: "r", State: "held", Stayed: time.Duration(n)}
}

// persisted lives with a history that persists, and returns what the next one knows.
func persisted(t *testing.T, path string, live func(gateway.Outcomes)) gateway.Outcomes {
	t.Helper()
	h := history.Open(path, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); h.Persist(ctx) }()
	live(h.Fleet().Outcomes)
	time.Sleep(time.Second)
	synctest.Wait()
	file, _ := os.ReadFile(waitingFile(path)) // what a process that is killed now leaves
	cancel()
	<-done
	if file != nil {
		if err := os.WriteFile(waitingFile(path), file, 0o600); err != nil {
			t.Fatalf("write the file: %v", err)
		}
	}
	return history.Open(path, slog.New(slog.DiscardHandler)).Fleet().Outcomes
}

// wantKnown checks which outcome of a request is known of an earlier process; 0: none.
func wantKnown(t *testing.T, o gateway.Outcomes, key string, n int) {
	t.Helper()
	if got, _, known := o.Lookup(key); known != (n > 0) || known && (got != outcome(n) || !o.Knows(key[:1])) {
		t.Errorf("recalled of %s: got %+v, and that it is known: %v and %v; want that of %d", key, got, known, o.Knows(key[:1]), n)
	}
}

func TestHistory_RecallsWhatAKilledProcessKnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "history.json")
		var at time.Time
		next := persisted(t, path, func(o gateway.Outcomes) {
			o.Put("a", outcome(1), time.Minute)
			o.Put("b", outcome(2), time.Minute)
			o.Put("c", outcome(3), time.Minute)
			time.Sleep(10 * time.Second)
			at = time.Now()
			o.Put("a", outcome(4), 2*time.Minute)
			o.Delete("b")
			if o.Knows("") {
				t.Error("what the process has told itself is known as another's")
			}
		})
		wantKnown(t, next, "a", 4)
		wantKnown(t, next, "b", 0)
		wantKnown(t, next, "c", 3)
		if _, told, _ := next.Lookup("a"); !told.Equal(at) {
			t.Errorf("a was told at %v, want %v", told, at)
		}
		next.Put("a", outcome(5), time.Minute) // it is this process's now
		next.Delete("c")
		if next.Knows("") {
			t.Error("what the next process has taken over is known as the earlier one's")
		}
		time.Sleep(time.Hour)
		wantKnown(t, persisted(t, path, func(gateway.Outcomes) {}), "a", 0)
	})
}

func TestHistory_WaitingFileHasTheLastOutcomeOfEachRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "history.json")
		next := persisted(t, path, func(o gateway.Outcomes) {
			for n := range 40_000 {
				o.Put(fmt.Sprint("key", n%400), outcome(n), time.Hour)
				if n%1000 == 0 {
					time.Sleep(time.Second)
				}
			}
		})
		info, err := os.Stat(waitingFile(path))
		if err != nil || info.Size() > 1<<16 || info.Mode().Perm() != 0o600 {
			t.Errorf("file of 400 requests that changed 40,000 times: got %v and error %v, want 64 KiB at most, for its owner only", info, err)
		}
		for n := range 400 {
			wantKnown(t, next, fmt.Sprint("key", n), 39_600+n)
		}
	})
}

// lockedLog is a log that is read while it is written.
type lockedLog struct {
	mu   sync.Mutex
	text []byte
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p...)
	return len(p), nil
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text)
}

func TestHistory_WaitingFileMayBeUnwritable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "history.json")
		var log lockedLog
		h := history.Open(path, slog.New(slog.NewTextHandler(&log, nil)))
		if err := os.Mkdir(waitingFile(path), 0o700); err != nil { // a file in its place cannot be written
			t.Fatalf("make a directory: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); h.Persist(ctx) }()
		h.Fleet().Outcomes.Put("a", outcome(1), time.Hour)
		time.Sleep(time.Minute)
		if text := log.String(); strings.Count(text, "what waits is not kept") != 1 {
			t.Errorf("warnings in a minute: want one, got the log %s", text)
		}
		if err := os.Remove(waitingFile(path)); err != nil {
			t.Fatalf("remove the directory: %v", err)
		}
		time.Sleep(2 * time.Second)
		cancel()
		<-done
		next := persisted(t, path, func(o gateway.Outcomes) { o.Put("b", outcome(2), time.Hour) })
		wantKnown(t, next, "a", 1)
		wantKnown(t, next, "b", 2)
	})
}

// A file that broke off has what is before that.
func TestHistory_WaitingFileMayBeTorn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "history.json")
		line := `{"at":"2000-01-01T00:00:00Z","until":"2000-01-01T01:00:00Z","key":"a","outcome":{"From":"r","State":"held","Stayed":1}}` + "\n"
		if err := os.WriteFile(waitingFile(path), []byte(line+line[:30]), 0o600); err != nil {
			t.Fatalf("write the file: %v", err)
		}
		next := persisted(t, path, func(o gateway.Outcomes) { o.Put("b", outcome(2), time.Hour) })
		wantKnown(t, next, "a", 1)
		wantKnown(t, next, "b", 2)
	})
}

// The more waits, the less often it is written.
func TestHistory_LargeWaitingFileIsWrittenLessOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "history.json")
		h := history.Open(path, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		for n := range 5000 {
			h.Fleet().Outcomes.Put(fmt.Sprint("key", n), outcome(n), time.Hour)
		}
		go func() { defer close(done); h.Persist(ctx) }() // now: its first write has all of them
		written := func() int {
			time.Sleep(time.Second)
			synctest.Wait()
			text, _ := os.ReadFile(waitingFile(path))
			return strings.Count(string(text), "\n")
		}
		if n := written(); n != 5000 {
			t.Errorf("written at first: %d, want 5000", n)
		}
		h.Fleet().Outcomes.Put("another", outcome(1), time.Hour)
		if n := written(); n != 5000 {
			t.Errorf("written a second later: %d, want those before", n)
		}
		time.Sleep(10 * time.Second)
		if n := written(); n != 5001 {
			t.Errorf("written ten seconds later: %d, want 5001", n)
		}
		cancel()
		<-done
	})
}
