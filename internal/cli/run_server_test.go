package cli_test

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/internal/cli"
	"github.com/ridethrough/ridethrough/internal/cli/command"
)

// startServer starts a simulator and a server with conversations in front of it.
func startServer(t *testing.T, replies string) (provider process, url string) {
	t.Helper()
	provider = start(t, "simulator", "--listen", "127.0.0.1:0", "--replies", replies)
	env := []string{"ANTHROPIC_BASE_URL=" + provider.waitForLog(t, "simulating a provider")["url"].(string), "XDG_DATA_HOME=" + t.TempDir()}
	return provider, startIn(t, env, "serve", "--listen", "127.0.0.1:0").waitForLog(t, "listening")["url"].(string)
}

func TestRun_TurnOnServer(t *testing.T) {
	_, url := startServer(t, `say:"Here I am.",quota,say:"Still here."`)
	env := []string{"HOME=" + t.TempDir(), "RIDETHROUGH_SERVER=" + url}
	if code, out, errs := run(t, env, "run", "-m", "anthropic/claude-x", "hello"); code != 0 || out != "Here I am.\n" || errs != "" {
		t.Errorf("run: got code %d, %q and %q, want 0 and the answer", code, out, errs)
	}
	code, out, errs := run(t, env, "run", "-m", "anthropic/claude-x", "hello")
	if code != 75 || out != "" || !strings.Contains(errs, "Failed: the account at anthropic has no credit.") {
		t.Errorf("run with a spent account: got code %d, %q and %q, want 75 and the headline", code, out, errs)
	}
	_, way, _ := strings.Cut(errs, "continue with: ridethrough ")
	args := append(strings.Fields(way), "and", "now?")
	if code, out, errs := run(t, env, args...); code != 0 || out != "Still here.\n" {
		t.Errorf("run %q: got code %d, %q and %q, want 0 and the answer", args, code, out, errs)
	}
	code, out, _ = run(t, env, "run", "--json", "-m", "anthropic/claude-x", "hello")
	if last := out[strings.LastIndex(strings.TrimSpace(out), "\n")+1:]; code != 0 || !strings.Contains(last, `"type":"exit","status":"done","exitCode":0`) {
		t.Errorf("run --json: got code %d and %q, want 0 and the exit event last", code, out)
	}
	named := regexp.MustCompile(`"conversationId":"([^"]+)"`).FindAllStringSubmatch(out, -1)
	if n := strings.Count(out, "\n"); len(named) != n || named[0][1] != named[n-1][1] {
		t.Fatalf("run --json: %d of %d events name their conversation: %s", len(named), n, out)
	}
	if code, out, errs := run(t, env, "run", "--continue="+named[0][1], "and", "now?"); code != 0 || out == "" {
		t.Errorf("run --continue: got code %d, %q and %q, want 0 and the answer", code, out, errs)
	}
}

func TestRun_InterruptStopsTheTurnAtTheServer(t *testing.T) {
	_, url := startServer(t, `silence`)
	ctx, cancel := context.WithCancel(t.Context())
	var out, errs bytes.Buffer
	pipe := &tripwire{w: &out, when: `"turn-start"`, then: cancel}
	code := cli.Run(ctx, []string{"run", "--json", "--server", url, "-m", "anthropic/claude-x", "hello"}, command.Streams{Out: pipe, Err: &errs, Env: lookup(nil)})
	if code != 1 || !strings.Contains(out.String(), `"type":"turn-sealed"`) || !strings.Contains(out.String(), `"status":"aborted"`) {
		t.Errorf("interrupted run: got code %d, %s and %s, want 1 and an aborted turn", code, out.String(), errs.String())
	}
}

// tripwire calls then when something is written.
type tripwire struct {
	w    *bytes.Buffer
	when string
	then func()
}

func (t *tripwire) Write(p []byte) (int, error) {
	if strings.Contains(string(p), t.when) {
		t.then()
	}
	return t.w.Write(p)
}

func TestRun_FlagsUnsupportedByServer(t *testing.T) {
	_, url := startServer(t, "ok")
	for args, want := range map[string]struct {
		code int
		says string
	}{
		"run --server " + url + " --files . hi":                              {2, "cannot be combined with --server"},
		"run --server " + url + " hi":                                        {78, "no model; choose one"},
		"run --server " + url + " -m anthropic/claude-x --policy forever hi": {1, "forever"},
		"run --server " + url + " --continue=missing hi":                     {1, "missing"},
		"run --server " + url + " --continue=missing":                        {1, "missing"},
		"run --server http://127.0.0.1:1 -m anthropic/claude-x hi":           {1, "cannot be reached"},
	} {
		code, out, errs := run(t, []string{"HOME=" + t.TempDir()}, strings.Fields(args)...)
		if code != want.code || !strings.Contains(errs, want.says) || out != "" {
			t.Errorf("%s: got code %d, %q and %q, want %d and %q", args, code, out, errs, want.code, want.says)
		}
	}
}
