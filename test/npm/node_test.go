package npm_test

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
)

// required is the environment variable without which the tests skip: they take minutes.
const required = "RIDETHROUGH_NPM"

// job is a command to node: a call to make, or to abort.
type job struct {
	ID    int    `json:"id"`
	Call  string `json:"call,omitzero"`
	URL   string `json:"url,omitzero"`
	Leave bool   `json:"leave,omitzero"` // with the first piece of text
	Abort bool   `json:"abort,omitzero"`
}

// result is the outcome of a call.
type result struct {
	ID     int
	Text   string
	Stop   string // why the answer ended; "": it does not report an end
	Error  string // with its name before it; "": none
	Status int    // of the error, if the SDK reports it
}

// node is the process that makes the calls.
type node struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	ended sync.WaitGroup

	mu      sync.Mutex
	calls   int
	waiting map[int]chan result // nil: the process is gone
}

// start runs node where it and the packages are there.
func start() (*node, error) {
	for _, part := range []string{"calls.mjs", "package-lock.json", "node_modules"} { // all of them, so that no cached result is another's
		if _, err := os.Stat(part); err != nil {
			return nil, fmt.Errorf("the packages are missing, npm ci --prefix test/npm installs them: %w", err)
		}
	}
	n := &node{cmd: exec.Command("node", "calls.mjs"), waiting: map[int]chan result{}}
	n.cmd.Stderr = os.Stderr
	in, err := n.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := n.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	n.in = in
	if err := n.cmd.Start(); err != nil {
		return nil, err
	}
	n.ended.Go(func() { n.read(out) })
	return n, nil
}

// read hands out results until the process ends.
func (n *node) read(out io.Reader) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var r result
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			r.Error = fmt.Sprintf("node says %s: %v", lines.Bytes(), err)
		}
		n.mu.Lock()
		if c := n.waiting[r.ID]; c != nil {
			c <- r
		}
		delete(n.waiting, r.ID)
		n.mu.Unlock()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.waiting {
		c <- result{Error: "node is gone"}
	}
	n.waiting = nil
}

// call starts a call. abort aborts it; the result comes in any case.
func (n *node) call(t *testing.T, name, url string, leave bool) (done <-chan result, abort func()) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.waiting == nil {
		t.Fatal("the node process has ended")
	}
	n.calls++
	id, c := n.calls, make(chan result, 1)
	n.waiting[id] = c
	n.tell(t, job{ID: id, Call: name, URL: url, Leave: leave})
	return c, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.tell(t, job{ID: id, Abort: true})
	}
}

// tell writes one command; the caller holds the lock.
func (n *node) tell(t *testing.T, j job) {
	t.Helper()
	line, err := json.Marshal(j)
	if err != nil {
		t.Fatalf("marshal: %v", err)
	}
	if _, err := n.in.Write(append(line, '\n')); err != nil {
		t.Fatalf("write: %v", err)
	}
}

// stop ends the process.
func (n *node) stop() error {
	_ = n.in.Close()
	_ = n.cmd.Process.Kill() // it may be in the middle of a call
	n.ended.Wait()
	_ = n.cmd.Wait()
	return nil
}

// shared is the process that all tests share.
var shared = sync.OnceValues(start)

func TestMain(m *testing.M) {
	flag.Parse()
	_ = flag.Set("test.parallel", "12") // they spend their time waiting, not computing
	if *realTime {
		_ = flag.Set("test.parallel", "64") // they wait for many minutes
	}
	code := m.Run()
	if n, err := shared(); err == nil {
		_ = n.stop()
	}
	_ = os.RemoveAll(buildDir)
	os.Exit(code)
}

// sdks returns the process, or skips the test.
func sdks(t *testing.T) *node {
	t.Helper()
	wanted(t)
	n, err := shared()
	if err != nil {
		t.Fatalf("node: %v", err)
	}
	return n
}

// wanted skips a test that takes long, unless the packages are said to be there.
func wanted(t *testing.T) {
	t.Helper()
	if os.Getenv(required) == "" {
		t.Skip("scripts/soak agents installs the packages and runs this test")
	}
}
