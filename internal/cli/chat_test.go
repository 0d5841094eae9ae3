package cli_test

import (
	"context"
	"io"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/internal/cli"
	"github.com/ridethrough/ridethrough/internal/cli/command"
)

// chatTerminal is the terminal of a chat command.
type chatTerminal struct {
	t    *testing.T
	in   *io.PipeWriter
	code chan int
	quit context.CancelFunc

	mu     sync.Mutex
	output strings.Builder
	more   chan struct{} // the output has grown
}

// chat starts a chat command.
func chat(t *testing.T, env []string, args ...string) *chatTerminal {
	t.Helper()
	r, w := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	c := &chatTerminal{t: t, in: w, code: make(chan int, 1), quit: cancel, more: make(chan struct{}, 1)}
	go func() {
		c.code <- cli.Run(ctx, append([]string{"chat"}, args...), command.Streams{In: r, Out: c, Err: c, Env: lookup(env)})
		_ = r.Close()
	}()
	t.Cleanup(func() { cancel(); _ = w.Close() })
	return c
}

func (c *chatTerminal) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case c.more <- struct{}{}:
	default:
	}
	return c.output.Write(p)
}

// text returns the output so far.
func (c *chatTerminal) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.output.String()
}

// send types a line.
func (c *chatTerminal) send(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, text+"\n"); err != nil {
		c.t.Errorf("write input: %v", err)
	}
}

// waitFor waits until the output matches.
func (c *chatTerminal) waitFor(pattern string) {
	c.t.Helper()
	want, late := regexp.MustCompile("(?m)"+pattern), time.After(30*time.Second)
	for !want.MatchString(c.text()) {
		select {
		case <-c.more:
		case <-late:
			c.t.Fatalf("%s is not in the output:\n%s", pattern, c.text())
		}
	}
}

// closeAndWait closes the input and checks the exit code.
func (c *chatTerminal) closeAndWait(want int) {
	c.t.Helper()
	_ = c.in.Close()
	select {
	case code := <-c.code:
		if code != want {
			c.t.Errorf("exit code %d, want %d:\n%s", code, want, c.text())
		}
	case <-time.After(30 * time.Second):
		c.t.Fatalf("the command does not end:\n%s", c.text())
	}
}

// count returns how often text is in the output.
func (c *chatTerminal) count(text string) int { return strings.Count(c.text(), text) }

func TestChat_ServerConversationSurvivesTerminalAndServer(t *testing.T) {
	t.Parallel()
	provider := start(t, "simulator", "--listen", "127.0.0.1:0", "--replies", `529*3,say:"One.",529,say:"Two.",say:"Three."`)
	data := t.TempDir()
	env := []string{"ANTHROPIC_BASE_URL=" + provider.waitForLog(t, "simulating a provider")["url"].(string), "XDG_DATA_HOME=" + data, "HOME=" + t.TempDir()}
	server := startIn(t, env, "serve", "--listen", "127.0.0.1:0")
	url := server.waitForLog(t, "listening")["url"].(string)
	here := []string{"HOME=" + t.TempDir(), "RIDETHROUGH_SERVER=" + url}

	first := chat(t, here, "-m", "anthropic/claude-x", "hello")
	first.waitFor("attempt 1, gives up")
	first.quit()
	first.closeAndWait(1)

	second := chat(t, here, "--continue")
	second.waitFor(`^One\.$`)
	second.send("and?")
	second.waitFor("attempt 1, .*\n(.*\n)*.*attempt 1, ")
	server.stop()
	second.waitFor("Cannot reach the server")
	server = startIn(t, env, "serve", "--listen", strings.TrimPrefix(url, "http://"))
	server.waitForLog(t, "listening")
	second.waitFor("Reconnected to the server")
	second.waitFor(`^Two\.$`)
	second.send("more")
	second.closeAndWait(0)
	if second.count("One.") != 1 || second.count("Two.") != 1 || second.count("Three.") != 1 {
		t.Errorf("want each answer once in:\n%s", second.text())
	}
}
