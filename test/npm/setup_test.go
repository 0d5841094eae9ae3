//go:build unix

package npm_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
)

// TestSetup_AgentsUseTheGateway has `setup` write the address of a gateway into each agent's own configuration, asks
// the agent something without `exec`, and takes the address back.
func TestSetup_AgentsUseTheGateway(t *testing.T) {
	forUsers(t, func(t *testing.T, d *desk) {
		d.provide(simulator.Script{})
		config := filepath.Join(t.TempDir(), "config.yaml")
		if err := os.WriteFile(config, []byte(d.configuration()), 0o600); err != nil {
			t.Fatalf("write: %v", err)
		}
		gateway := run(t, program(t), "serve", "--listen", "127.0.0.1:0", "--config", config, "--data", "none")
		address := strings.TrimPrefix(gateway.wait(t, "listening")["url"], "http://")
		own := d.agent.command(t.Context(), t, d.home, append(strings.Fields(d.user.args), "Say hi"))
		own.Env = slices.Concat(own.Env, d.user.env, []string{"LANG=C.UTF-8"})
		setup := func(flags ...string) {
			t.Helper()
			name, _, _ := strings.Cut(d.user.name, " ")
			cmd := exec.Command(program(t), slices.Concat([]string{"setup", name, "--config", config}, flags)...)
			cmd.Env = slices.Concat(own.Env, []string{"RIDETHROUGH_LISTEN=" + address})
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("setup %s %q: %v: %s", name, flags, err, out)
			}
			t.Logf("%s", out)
		}
		setup("--write")
		own.Dir, own.SysProcAttr = d.work, nil // the terminal makes its group
		tt := inTerminal(t, own)
		if err := tt.wait(4 * time.Minute); err != nil {
			t.Errorf("the agent: %v, want the exit code 0", err)
		}
		if written := colours.ReplaceAllString(tt.written(), ""); !strings.Contains(written, answer) {
			t.Errorf("the terminal has %q, want the answer", written[max(0, len(written)-2000):])
		}
		d.mu.Lock()
		asked := len(d.seen)
		d.mu.Unlock()
		if asked == 0 {
			t.Error("the provider was not asked, want that the agent goes through the gateway to it")
		}
		setup("--undo")
		d.check()
	})
}

// configuration returns that of a gateway with the user's provider as the upstreams.
func (d *desk) configuration() string {
	text := "upstreams:\n"
	for _, name := range []string{"anthropic", "openai", "gemini"} {
		text += "  " + name + ": {url: '" + d.upstream + "'}\n"
	}
	apis := map[string]string{"chatgpt": "openai", "code-assist": "gemini"}
	if name, url, needed := strings.Cut(d.user.needs, "="); needed {
		text += "  " + name + ": {api: " + apis[name] + ", url: '" + strings.Replace(url, "{url}", d.upstream, 1) + "'}\n"
	}
	return text
}
