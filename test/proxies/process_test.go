//go:build unix

package proxies_test

import (
	"bytes"
	"os/exec"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is a program that the test has started.
type process struct {
	ended chan struct{} // closed when it has

	mu  sync.Mutex
	out bytes.Buffer
	new chan struct{} // has a value when there is more output
}

// Write takes in the output.
func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case p.new <- struct{}{}:
	default:
	}
	return p.out.Write(b)
}

func (p *process) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

// until waits for a match in the output and returns its first group.
func (p *process) until(t *testing.T, pattern string) string {
	t.Helper()
	limit := time.After(time.Minute)
	for {
		if found := regexp.MustCompile(pattern).FindStringSubmatch(p.output()); found != nil {
			return found[1]
		}
		select {
		case <-p.new:
		case <-p.ended:
			t.Fatalf("ended without %s: %s", pattern, p.output())
		case <-limit:
			t.Fatalf("no %s after a minute: %s", pattern, p.output())
		}
	}
}

// run starts a program in a process group of its own. When the test is over it is asked to end, and its group is
// killed if it has not after ten seconds.
func run(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{ended: make(chan struct{}), new: make(chan struct{}, 1)}
	cmd.Stdout, cmd.Stderr = p, p
	cmd.WaitDelay = 10 * time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start: %v", err)
	}
	go func() {
		defer close(p.ended)
		_ = cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-p.ended:
		case <-time.After(10 * time.Second):
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			<-p.ended
		}
	})
	return p
}
