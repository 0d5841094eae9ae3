//go:build unix

package npm_test

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
)

// TestSetup_AgentsUseTheGateway puts what `setup` prints into each agent's own configuration, and asks the agent
// something without `exec`.
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
		name, _, _ := strings.Cut(d.user.name, " ")
		cmd := exec.Command(program(t), "setup", name, "--config", config)
		cmd.Env = slices.Concat(own.Env, []string{"RIDETHROUGH_LISTEN=" + address})
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("setup %s: %v: %s", name, err, out)
		}
		d.user.files = maps.Clone(d.user.files)
		file, pasted := paste(t, string(out))
		if name, in := strings.CutPrefix(file, d.home+string(filepath.Separator)); in {
			d.user.files[name] = pasted
		}
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
		d.check()
	})
}

// paste does what the output of `setup` says: it adds a text to a file. It returns the file and what it has then.
func paste(t *testing.T, output string) (file, content string) {
	t.Helper()
	parts := strings.SplitN(output, "\n\n", 2)
	file, found := strings.CutPrefix(strings.TrimSuffix(parts[0], ":"), "Put this into ")
	if !found || len(parts) < 2 {
		t.Fatalf("setup prints %q, want a file and what it needs", output)
	}
	text, _, _ := strings.Cut(parts[1], "\n\n")
	before, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatalf("read: %v", err)
	}
	if strings.HasSuffix(file, ".json") && len(before) > 0 {
		all := map[string]any{}
		if err := errors.Join(json.Unmarshal(before, &all), json.Unmarshal([]byte(text), &all)); err != nil {
			t.Fatalf("settings in %s: %v", file, err)
		}
		merged, _ := json.Marshal(all) // of what was JSON before
		text, before = string(merged), nil
	}
	content = text + "\n" + string(before)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(content), 0o600)); err != nil {
		t.Fatalf("write: %v", err)
	}
	return file, content
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
