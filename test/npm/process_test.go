package npm_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// The same once more with the two programs as people run them: one gateway and
// one provider for all calls, and a policy from a file.
func TestServe_SDKsSurviveFaults(t *testing.T) {
	n, binary, config := sdks(t), program(t), filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(config, []byte("policy: quick\npolicies: {quick: {backoff: [5ms], retries: 9}}\n"), 0o600); err != nil {
		t.Fatalf("write file: %v", err)
	}
	script := []string{"529", "role-error", "ok"}
	replies := strings.Join(slices.Repeat([]string{strings.Join(script, ",")}, len(calls)), ",")
	provider := run(t, binary, "simulator", "--listen", "127.0.0.1:0", "--replies", replies)
	base := provider.wait(t, "simulating a provider")["url"]
	args := []string{"serve", "--listen", "127.0.0.1:0", "--config", config, "--data", "none"}
	for _, name := range []string{"anthropic", "openai", "gemini", "cohere", "vertex", "azure", "ollama", "lmstudio"} {
		args = append(args, "--upstream", name+"="+base)
	}
	url := run(t, binary, args...).wait(t, "listening")["url"]
	for _, c := range calls {
		done, _ := n.call(t, c.name, url, false)
		if got := within(t, done, "a result"); got.Error != "" || got.Text != answer || got.Stop != c.stop {
			t.Errorf("%s: call result %+v", c.name, got)
		}
		for _, want := range script {
			if got := provider.wait(t, "request")["reply"]; got != want {
				t.Errorf("%s: the provider did %s, want %s", c.name, got, want)
			}
		}
	}
}

// buildDir is the folder of our program once it is built; TestMain removes it.
var buildDir string

// build builds our program, for all tests once.
var build = sync.OnceValues(func() (binary string, err error) {
	if buildDir, err = os.MkdirTemp("", "ridethrough-npm"); err != nil {
		return "", err
	}
	binary = filepath.Join(buildDir, "ridethrough")
	out, err := exec.Command("go", "build", "-o", binary, "../../cmd/ridethrough").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("build: %w\n%s", err, out)
	}
	return binary, err
})

// program returns the path of our program.
func program(t *testing.T) string {
	t.Helper()
	binary, err := build()
	if err != nil {
		t.Fatalf("build: %v", err)
	}
	return binary
}

// process is one of our programs, and its log.
type process struct {
	lines chan map[string]string
	end   func(os.Signal) error // the program, if it has not ended; it may be called again
}

// run starts a program, and interrupts it when the test is over.
func run(t *testing.T, binary string, args ...string) process {
	t.Helper()
	cmd := exec.Command(binary, args...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, "RIDETHROUGH_") })
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatalf("stderr pipe: %v", err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start: %v", err)
	}
	p := process{lines: make(chan map[string]string, 1024)}
	var reading sync.WaitGroup
	reader := p // of its own, since p gets its end below
	reading.Go(func() { reader.read(out) })
	var once sync.Once
	p.end = func(signal os.Signal) (err error) {
		once.Do(func() {
			_ = cmd.Process.Signal(signal)
			reading.Wait()
			err = cmd.Wait()
		})
		return err
	}
	t.Cleanup(func() {
		if err := p.end(os.Interrupt); err != nil {
			t.Errorf("%s: %v", args[0], err)
		}
	})
	return p
}

// read takes in the log, a JSON object in each line.
func (p process) read(out io.Reader) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		line := map[string]any{}
		_ = json.Unmarshal(lines.Bytes(), &line) // another line is no event
		words := map[string]string{}
		for key, value := range line {
			words[key], _ = value.(string)
		}
		select {
		case p.lines <- words:
		default: // no reader is left
		}
	}
}

// wait returns the next line with a message.
func (p process) wait(t *testing.T, message string) map[string]string {
	t.Helper()
	for {
		if line := within(t, p.lines, message); line["msg"] == message {
			return line
		}
	}
}

// at returns the time of the next line with a message.
func (p process) at(t *testing.T, message string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, p.wait(t, message)["time"])
	if err != nil {
		t.Fatalf("time: %v", err)
	}
	return at
}
