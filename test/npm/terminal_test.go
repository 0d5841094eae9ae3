//go:build unix

package npm_test

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

// replies are what a terminal answers to queries.
var replies = map[string]string{
	"\x1b[c":          "\x1b[?62;22c",
	"\x1b[?u":         "\x1b[?0u",
	"\x1b[6n":         "\x1b[1;1R",
	"\x1b]10;?\x1b\\": "\x1b]10;rgb:ffff/ffff/ffff\x1b\\",
	"\x1b]11;?\x1b\\": "\x1b]11;rgb:0000/0000/0000\x1b\\",
	"\x1b]11;?\a":     "\x1b]11;rgb:0000/0000/0000\a",
}

// terminal is a pseudo-terminal with the program that runs in it.
type terminal struct {
	t      *testing.T
	master *os.File
	cmd    *exec.Cmd
	ended  chan error // of the program

	mu       sync.Mutex
	out      strings.Builder
	answered map[string]int // how often it was asked what
}

// inTerminal starts a program in a pseudo-terminal of 100 columns, and kills it when the test is over.
func inTerminal(t *testing.T, cmd *exec.Cmd) *terminal {
	t.Helper()
	master, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 30, Cols: 100})
	if errors.Is(err, os.ErrNotExist) && cmd.Process == nil {
		t.Skip("there are no pseudo-terminals here: ", err)
	}
	if err != nil {
		t.Fatalf("start in a terminal: %v", err)
	}
	tt := &terminal{t: t, master: master, cmd: cmd, ended: make(chan error, 1), answered: map[string]int{}}
	var reading sync.WaitGroup
	reading.Go(tt.read)
	waiting := make(chan struct{})
	go func() {
		defer close(waiting)
		err := cmd.Wait()
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it has left behind
		reading.Wait()
		tt.ended <- err
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-waiting
		_ = master.Close()
	})
	return tt
}

// read reads what is written to the terminal, and answers queries.
func (tt *terminal) read() {
	part := make([]byte, 16<<10)
	for {
		n, err := tt.master.Read(part)
		tt.mu.Lock()
		tt.out.Write(part[:n])
		all := tt.out.String()
		for query, reply := range replies {
			for ; tt.answered[query] < strings.Count(all, query); tt.answered[query]++ {
				_, _ = io.WriteString(tt.master, reply)
			}
		}
		tt.mu.Unlock()
		if err != nil {
			return // the last program on it has ended
		}
	}
}

// written returns all that was written to it.
func (tt *terminal) written() string {
	tt.mu.Lock()
	defer tt.mu.Unlock()
	return tt.out.String()
}

// wait waits for the program's end.
func (tt *terminal) wait(limit time.Duration) error {
	tt.t.Helper()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case err := <-tt.ended:
		return err
	case <-timer.C:
		written := tt.written()
		tt.t.Fatalf("the program still runs after %v; the last that it wrote is %q", limit, written[max(0, len(written)-2000):])
		panic("unreachable")
	}
}

// interrupt presses Ctrl+C, as often as it takes, and waits for the program's end.
func (tt *terminal) interrupt() error {
	tt.t.Helper()
	tick := time.NewTicker(time.Second / 2) // some want it twice within a second
	defer tick.Stop()
	for range 40 {
		_, _ = io.WriteString(tt.master, "\x03") // it may have ended
		select {
		case err := <-tt.ended:
			return err
		case <-tick.C:
		}
	}
	tt.t.Fatal("forty Ctrl+C do not end the program")
	panic("unreachable")
}

// await waits until a pattern is in what was written behind an offset.
func (tt *terminal) await(from int, pattern *regexp.Regexp, limit time.Duration) bool {
	tt.t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(limit); time.Now().Before(end); <-tick.C {
		if pattern.MatchString(tt.written()[from:]) {
			return true
		}
	}
	return false
}

// titleSet is the sequence that sets a terminal's title.
var titleSet = regexp.MustCompile("\x1b\\][02];([^\a\x1b]*)(?:\a|\x1b\\\\)")

// titles returns the titles that were set, in order.
func (tt *terminal) titles() (all []string) {
	for _, m := range titleSet.FindAllStringSubmatch(tt.written(), -1) {
		all = append(all, m[1])
	}
	return all
}
