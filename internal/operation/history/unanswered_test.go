package history_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

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

func waitingFile(path string) string { return filepath.Join(filepath.Dir(path), "waiting.json") }

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
		if err := os.WriteFile(waitingFile(path), []byte(`[{"client":"codex"}]`), 0o600); err != nil {
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
