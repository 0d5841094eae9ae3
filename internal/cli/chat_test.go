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

// chatter is a conversation that a test has.
type chatter struct {
	t    *testing.T
	in   *io.PipeWriter
	code chan int
	quit context.CancelFunc

	mu   sync.Mutex
	said strings.Builder
	more chan struct{} // something was said
}

// chat begins a conversation.
func chat(t *testing.T, env []string, args ...string) *chatter {
	t.Helper()
	r, w := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	c := &chatter{t: t, in: w, code: make(chan int, 1), quit: cancel, more: make(chan struct{}, 1)}
	go func() {
		c.code <- cli.Run(ctx, append([]string{"chat"}, args...), command.Streams{In: r, Out: c, Err: c, Env: lookup(env)})
		_ = r.Close()
	}()
	t.Cleanup(func() { cancel(); _ = w.Close() })
	return c
}

func (c *chatter) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case c.more <- struct{}{}:
	default:
	}
	return c.said.Write(p)
}

// all returns all that was said.
func (c *chatter) all() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.said.String()
}

// says types a line.
func (c *chatter) says(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, text+"\n"); err != nil {
		c.t.Errorf("write input: %v", err)
	}
}

// hears waits for something to be said.
func (c *chatter) hears(pattern string) {
	c.t.Helper()
	want, late := regexp.MustCompile("(?m)"+pattern), time.After(30*time.Second)
	for !want.MatchString(c.all()) {
		select {
		case <-c.more:
		case <-late:
			c.t.Fatalf("%s was never said:\n%s", pattern, c.all())
		}
	}
}

// ends closes the input and wants the conversation to end with a code.
func (c *chatter) ends(want int) {
	c.t.Helper()
	_ = c.in.Close()
	select {
	case code := <-c.code:
		if code != want {
			c.t.Errorf("it ends with %d, not %d:\n%s", code, want, c.all())
		}
	case <-time.After(30 * time.Second):
		c.t.Fatalf("it never ends:\n%s", c.all())
	}
}

// times counts how often something was said.
func (c *chatter) times(text string) int { return strings.Count(c.all(), text) }

func TestChat_ServerConversationSurvivesTerminalAndServer(t *testing.T) {
	provider := start(t, "simulator", "--listen", "127.0.0.1:0", "--replies", `529*3,say:"One.",529,say:"Two.",say:"Three."`)
	data := t.TempDir()
	env := []string{"ANTHROPIC_BASE_URL=" + provider.said(t, "simulating a provider")["url"].(string), "XDG_DATA_HOME=" + data, "HOME=" + t.TempDir()}
	server := startIn(t, env, "serve", "--listen", "127.0.0.1:0")
	url := server.said(t, "listening")["url"].(string)
	here := []string{"HOME=" + t.TempDir(), "RIDETHROUGH_SERVER=" + url}

	first := chat(t, here, "-m", "anthropic/claude-x", "hello")
	first.hears("attempt 1/10")
	first.quit()
	first.ends(1)

	second := chat(t, here, "--continue")
	second.hears(`^One\.$`)
	second.says("and?")
	second.hears("attempt 1/10.*\n(.*\n)*.*attempt 1/10")
	server.stop()
	second.hears("Cannot reach the server")
	server = startIn(t, env, "serve", "--listen", strings.TrimPrefix(url, "http://"))
	server.said(t, "listening")
	second.hears("Reconnected to the server")
	second.hears(`^Two\.$`)
	second.says("more")
	second.ends(0)
	if second.times("One.") != 1 || second.times("Two.") != 1 || second.times("Three.") != 1 {
		t.Errorf("want each answer once in:\n%s", second.all())
	}
}
