package logging_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/internal/operation/logging"
)

// output is a destination that takes nothing while it is blocked or full.
type output struct {
	mu      sync.Mutex
	blocked chan struct{} // nil: it is not
	room    int           // bytes that fit; negative: any number
	text    bytes.Buffer
}

func newOutput() *output { return &output{room: -1} }

// block makes the output wait until the returned function is called.
func (o *output) block() (release func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	c := make(chan struct{})
	o.blocked = c
	return func() { close(c) }
}

// resize sets the number of bytes that still fit.
func (o *output) resize(room int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.room = room
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	blocked := o.blocked
	o.mu.Unlock()
	if blocked != nil {
		<-blocked
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.room >= 0 && len(p) > o.room {
		p = p[:o.room]
		o.room = 0
		o.text.Write(p)
		return len(p), errors.New("no space left on device")
	}
	if o.room > 0 {
		o.room -= len(p)
	}
	return o.text.Write(p)
}

func (o *output) lines() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Split(strings.TrimSuffix(o.text.String(), "\n"), "\n")
}

// plain is the format of the tests: the message alone.
func plain(w io.Writer) slog.Handler {
	return slog.NewTextHandler(w, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key != slog.MessageKey {
			return slog.Attr{}
		}
		return a
	}})
}

func checkLines(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func TestLog_KeepsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := newOutput()
		log := logging.New(out, plain)
		var want []string
		for i := range 100 {
			log.Info(fmt.Sprint(i))
			want = append(want, fmt.Sprintf("msg=%d", i))
			if i%10 == 0 {
				synctest.Wait()
			}
		}
		log.Close()
		checkLines(t, "lines", out.lines(), want...)
		if got := log.Dropped(); got != 0 {
			t.Errorf("Dropped: got %d, want 0", got)
		}
	})
}

// Every line is of 100 000 bytes, so that ten of them fit into the queue.
func TestLog_BlockedOutputDropsAndCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := newOutput()
		release := out.block()
		log := logging.New(out, plain)
		log.Info("first")
		synctest.Wait() // its write is blocked
		long := strings.Repeat("x", 100_000)
		start := time.Now()
		for range 15 {
			log.Info(long)
		}
		log.Info("a short line after dropped ones is dropped as well")
		if waited := time.Since(start); waited > 0 {
			t.Errorf("time that logging took: got %v, want 0s", waited)
		}
		if got := log.Dropped(); got != 6 {
			t.Errorf("Dropped: got %d, want 6", got)
		}
		release()
		synctest.Wait()
		var want []string
		for range 10 {
			want = append(want, "msg="+long)
		}
		want = append([]string{"msg=first"}, append(want, `msg="6 log lines dropped"`)...)
		checkLines(t, "lines as soon as the output takes them", out.lines(), want...)
		log.Info("next")
		log.Close()
		checkLines(t, "lines after those", out.lines()[len(want):], "msg=next")
	})
}

func TestLog_FullDiskIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := newOutput()
		out.resize(10)
		log := logging.New(out, plain)
		log.Info("one")
		log.Info("two")
		time.Sleep(time.Minute)
		log.Info("three")
		checkLines(t, "lines on the full disk", out.lines(), "msg=one", "ms")
		out.resize(-1)
		time.Sleep(time.Second)
		synctest.Wait()
		checkLines(t, "lines a second after there is room", out.lines(), "msg=one", "msg=two", "msg=three")
		log.Close()
	})
}

func TestLog_CloseIsBounded(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(*output) (release func())
		most  time.Duration
	}{
		{"blocked", func(o *output) func() { return o.block() }, time.Second},
		{"full", func(o *output) func() { o.resize(0); return func() {} }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				out := newOutput()
				release := c.spoil(out)
				log := logging.New(out, plain)
				log.Info("one")
				synctest.Wait()
				start := time.Now()
				log.Close()
				if got := time.Since(start); got > c.most {
					t.Errorf("time that Close took: got %v, want at most %v", got, c.most)
				}
				log.Info("late")
				if got := log.Dropped(); got != 1 {
					t.Errorf("Dropped after a line behind Close: got %d, want 1", got)
				}
				log.Close()
				release()
			})
		})
	}
}

func TestLog_CloseWritesTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := newOutput()
		out.resize(0)
		log := logging.New(out, plain)
		log.Info("one")
		synctest.Wait()
		log.Info("two")
		out.resize(-1)
		log.Close()
		checkLines(t, "lines once the log is closed", out.lines(), "msg=one", "msg=two")
	})
}

// An unread pipe takes 64 KiB.
func TestLog_UnreadPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatalf("make a pipe: %v", err)
	}
	log := logging.New(w, plain)
	for i := range 200_000 {
		log.Info(fmt.Sprint("line ", i))
	}
	if got := log.Dropped(); got == 0 {
		t.Error("Dropped with an unread pipe: got 0, want more")
	}
	read := make(chan []string)
	go func() {
		text, _ := io.ReadAll(r)
		read <- strings.Split(strings.TrimSpace(string(text)), "\n")
	}()
	log.Close()
	if err := w.Close(); err != nil {
		t.Fatalf("close the pipe: %v", err)
	}
	lines := <-read
	kept := len(lines) - 1
	for i, line := range lines[:kept] {
		if want := fmt.Sprintf("msg=\"line %d\"", i); line != want {
			t.Fatalf("line %d: got %s, want %s", i, line, want)
		}
	}
	if want := fmt.Sprintf("msg=\"%d log lines dropped\"", log.Dropped()); lines[kept] != want || kept+int(log.Dropped()) != 200_000 {
		t.Errorf("the last of %d lines: got %s, want %s", len(lines), lines[kept], want)
	}
}

func TestPrint_IsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := newOutput()
		logging.Print(out, "ridethrough: it is over\n")
		checkLines(t, "the last words", out.lines(), "ridethrough: it is over")
		release := out.block()
		start := time.Now()
		logging.Print(out, "unread\n")
		if got := time.Since(start); got != time.Second {
			t.Errorf("time that Print took with a blocked output: got %v, want 1s", got)
		}
		release()
	})
}

func ExampleNew() {
	log := logging.New(os.Stdout, plain)
	log.Info("listening")
	log.Close()
	fmt.Println(log.Dropped(), "dropped")
	// Output:
	// msg=listening
	// 0 dropped
}

func BenchmarkLog(b *testing.B) {
	log := logging.New(io.Discard, func(w io.Writer) slog.Handler { return slog.NewJSONHandler(w, nil) })
	b.ReportAllocs()
	for b.Loop() {
		log.Warn("provider retry", "request", 7, "upstream", "anthropic", "delay", "5s")
	}
	log.Close()
}
