package history_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ridethrough/ridethrough/internal/operation/history"
)

// keep writes the file of a history, as at the end of a process.
func (w *world) keep() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	w.Persist(ctx)
}

// all returns everything that a history tells.
func (w *world) all() []any {
	out := []any{w.Incidents(time.Now()), w.Names()}
	for _, name := range w.Names() {
		out = append(out, w.Upstream(name, time.Now()))
	}
	return out
}

func TestOpen_RestoresTheHistory(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		happens := steps().Draw(rt, "steps")
		n++
		path := filepath.Join(dir, fmt.Sprint(n))
		var diff string
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, path)
			w.live(happens)
			before := w.all()
			w.keep()
			diff = cmp.Diff(before, newWorld(t, path).all())
		})
		if diff != "" {
			rt.Errorf("restored history (-want +got)\n%s", diff)
		}
	})
}

func TestOpen_RestoresWhatWasLearned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "history.json")
		w := newWorld(t, path)
		learned := w.Learned("anthropic")
		if err := json.Unmarshal([]byte(`[{"model":"opus","answers":[{"now":[{"s":186,"n":2000}]},{},{}]}]`), learned); err != nil {
			t.Fatalf("unmarshal: %v", err)
		}
		w.live([]step{{}})
		w.keep()
		got := newWorld(t, path).Learned("anthropic").Show()
		if len(got) != 1 || got[0] != learned.Show()[0] || got[0].Limit < time.Minute || got[0].Answers != 2000 {
			t.Errorf("learned %+v, want %+v", got, learned.Show())
		}
	})
}

func TestOpen_ResumesIncidents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "history.json")
		w := newWorld(t, path)
		for range 3 {
			w.fail(1, "m")
		}
		w.keep()
		time.Sleep(8 * time.Hour)
		w = newWorld(t, path)
		w.fail(2, "m")
		time.Sleep(time.Hour / 2)
		w.recover(2, "m", 1, time.Hour/2)
		if got := w.said(); got != "work 0 to recovered 510, 4 of 5 failed" {
			t.Errorf("got %v, want %s", got, "work 0 to recovered 510, 4 of 5 failed")
		}
	})
}

func TestPersist_WritesEveryMinuteAndAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "history.json")
		w := newWorld(t, path)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); w.Persist(ctx) }()
		answers := func() int {
			if _, err := os.Stat(path); err != nil {
				return 0
			}
			return newWorld(t, path).Upstream("work", time.Now()).Samples
		}
		w.try(1, "m", 0, nil)
		time.Sleep(59 * time.Second)
		synctest.Wait()
		if n := answers(); n != 0 {
			t.Errorf("%d after 59 s", n)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if n := answers(); n != 1 {
			t.Errorf("%d after a minute", n)
		}
		w.try(2, "m", 0, nil)
		cancel()
		<-done
		if n := answers(); n != 2 {
			t.Errorf("%d at the end", n)
		}
		names, err := os.ReadDir(filepath.Dir(path))
		if err != nil || len(names) != 1 {
			t.Errorf("directory of the file: got %v and error %v, want one entry", names, err)
		}
	})
}

func TestOpen_MovesDamagedFileAside(t *testing.T) {
	for _, text := range []string{
		"", "{", "null", "[]", `{"v":2}`, `{"v":1,"upstreams":{"a":null}}`, `{"v":1,"upstreams":{"a":{"day":[{}]}}}`, `{"v":1,"upstreams":{"a":{"runs":{"m":null}}}}`, `{"v":1,"incidents":[null]}`, `{"v":1,"incidents":[{"upstream":"a"}]}`, "\x00\x00\x00",
	} {
		path := filepath.Join(t.TempDir(), "history.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatalf("write file: %v", err)
		}
		var said bytes.Buffer
		h := history.Open(path, slog.New(slog.NewTextHandler(&said, nil)))
		if !strings.Contains(said.String(), "level=WARN") {
			t.Errorf("log of a file with %q: got %q, want a warning", text, said.String())
		}
		if kept, err := os.ReadFile(path + ".unread"); err != nil || string(kept) != text {
			t.Errorf("%q: it is gone: %v", text, err)
		}
		if len(h.Names()) > 0 || len(h.Incidents(time.Now())) > 0 {
			t.Errorf("%q: something is known", text)
		}
	}
}

func TestPersist_MissingDirectoryIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		w := &world{history.Open(filepath.Join(t.TempDir(), "none", "history.json"), slog.New(slog.NewTextHandler(&said, nil))), t}
		w.try(1, "m", 0, nil)
		w.keep()
		if !strings.Contains(said.String(), "history not saved") || len(w.Names()) != 1 {
			t.Errorf("log without a warning: %s", said.String())
		}
	})
}

func FuzzOpen(f *testing.F) {
	path := filepath.Join(f.TempDir(), "history.json")
	w := &world{history.Open(path, slog.New(slog.DiscardHandler)), nil}
	for range 4 {
		w.fail(1, "m")
	}
	w.recover(1, "m", 4, time.Minute)
	w.keep()
	text, err := os.ReadFile(path)
	if err != nil {
		f.Fatalf("read file: %v", err)
	}
	f.Add(text)
	f.Add([]byte(`{"v":1}`))
	f.Add([]byte(`{"v":1,"incidents":[{"upstream":"a","began":"2026-11-21T00:00:00Z","models":{"m":true},"kinds":{}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "history.json")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatalf("write file: %v", err)
		}
		w := newWorld(t, path)
		for range 4 {
			w.fail(1, "m")
		}
		w.recover(1, "m", 4, time.Minute)
		for _, in := range w.Incidents(time.Now()) {
			_ = in.Report(time.Now())
		}
		w.all()
		w.keep()
	})
}
