//go:build unix

package cli_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
)

// execCommand returns a command of `exec`, with a home of its own and variables.
func execCommand(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("ridethrough", append([]string{"exec"}, args...)...)
	providers := []string{"ANTHROPIC_BASE_URL=", "OPENAI_BASE_URL=", "GOOGLE_GEMINI_BASE_URL=", "OLLAMA_HOST=", "CODEX_HOME="}
	cmd.Env = slices.Concat(os.Environ(), providers, []string{"HOME=" + t.TempDir(), "RIDETHROUGH_LISTEN=127.0.0.1:1", awake}, env)
	return cmd
}

// exitCode returns the code with which a program has ended.
func exitCode(t *testing.T, err error) int {
	t.Helper()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if err != nil && !ok {
		t.Fatalf("run: %v", err)
	}
	if !ok {
		return 0
	}
	return exit.ExitCode()
}

func TestExec_ExitCodeIsTheProgram(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "no-program")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatalf("write: %v", err)
	}
	for _, c := range []struct {
		args []string
		want int
	}{
		{[]string{"true"}, 0},
		{[]string{"--", "sh", "-c", "exit 3"}, 3},
		{[]string{"sh", "-c", "kill -TERM $$"}, 143},
		{[]string{"./no-such-program"}, 127},
		{[]string{file}, 126},
	} {
		var errs bytes.Buffer
		cmd := execCommand(t, nil, c.args...)
		cmd.Stderr = &errs
		if got := exitCode(t, cmd.Run()); got != c.want {
			t.Errorf("exec %q: exit code %d, want %d: %s", c.args, got, c.want, errs.String())
		}
	}
}

// obedient is a program that says what it gets from its terminal.
const obedient = `trap 'echo interrupted' INT; trap 'echo size $(stty size)' WINCH; trap 'echo ends; exit 7' TERM
grep -s SigIgn /proc/self/status; echo ready; while :; do sleep 0.1; done`

func TestExec_TerminalAndSignalsAreTheProgram(t *testing.T) {
	t.Parallel()
	cmd := execCommand(t, nil, "--", "sh", "-c", obedient)
	master, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 30, Cols: 100})
	if err != nil {
		t.Skip("there are no pseudo-terminals here: ", err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = master.Close()
	})
	lines := bufio.NewScanner(master)
	await := func(pattern string) string {
		t.Helper()
		for lines.Scan() {
			if regexp.MustCompile(pattern).MatchString(lines.Text()) {
				return lines.Text()
			}
		}
		t.Fatalf("the terminal has ended before %s", pattern)
		return ""
	}
	if runtime.GOOS == "linux" {
		mask := await("^SigIgn:")
		ignored, err := strconv.ParseUint(strings.TrimSpace(mask[len("SigIgn:"):]), 16, 64)
		if pipe := uint64(1) << (syscall.SIGPIPE - 1); err != nil || ignored&pipe != 0 {
			t.Errorf("the program ignores %x, %v; want it to get the signal of a broken pipe, %x", ignored, err, pipe)
		}
	}
	await("^ready")
	if _, err := io.WriteString(master, "\x03"); err != nil {
		t.Fatalf("press Ctrl+C: %v", err)
	}
	await("interrupted$")
	if err := pty.Setsize(master, &pty.Winsize{Rows: 40, Cols: 70}); err != nil {
		t.Fatalf("resize: %v", err)
	}
	await("^size 40 70")
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatalf("signal: %v", err)
	}
	await("^ends")
	if got := exitCode(t, cmd.Wait()); got != 7 {
		t.Errorf("exit code %d, want the program's 7", got)
	}
}

// TestExec_UsesTheGatewayThatFits has a gateway that runs, and a program that says which one it was given.
func TestExec_UsesTheGatewayThatFits(t *testing.T) {
	url, _ := serveProcess(t, []string{"HOME=" + t.TempDir()}, "--data", "none")
	url = strings.TrimSuffix(url, "/-/conversations")
	here := "RIDETHROUGH_LISTEN=" + strings.TrimPrefix(url, "http://")
	for _, c := range []struct {
		name    string
		env     string
		flags   []string
		running bool
	}{
		{name: "the one that runs", running: true},
		{name: "the address is set already", env: "ANTHROPIC_BASE_URL=" + url, running: true},
		{name: "by its other name", env: "OPENAI_BASE_URL=" + strings.Replace(url, "127.0.0.1", "localhost", 1) + "/v1", running: true},
		{name: "a company's address", env: "ANTHROPIC_BASE_URL=https://llm.example"},
		{name: "another policy", flags: []string{"--policy", "simple"}},
		{name: "another upstream", flags: []string{"--upstream", "anthropic=http://127.0.0.1:9"}},
		{name: "its own", flags: []string{"--own"}},
	} {
		cmd := execCommand(t, []string{here, c.env}, append(c.flags, "--", "sh", "-c", "echo $ANTHROPIC_BASE_URL")...)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.Output()
		got := strings.TrimSpace(string(out))
		if err != nil || (got == url) != c.running || !strings.HasPrefix(got, "http://127.0.0.1:") {
			t.Errorf("%s: the program got %q and %v, with the gateway at %s; want that: %t: %s", c.name, got, err, url, c.running, errs.String())
		}
	}
}

// TestExec_OwnGatewayIsUnprotected has the configuration of a gateway that others reach. The program can neither trust
// its certificate nor know its tokens.
func TestExec_OwnGatewayIsUnprotected(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	certify(t, dir)
	for name, lines := range map[string]string{
		"tls":                    "tls: {cert: cert.pem, key: key.pem}\n",
		"tls of another user":    "tls: {cert: cert.pem, key: missing.pem}\n",
		"token":                  "token: {env: TEAM_TOKEN}\n",
		"token that is not set":  "token: {env: NO_TOKEN}\n",
		"tokens of another user": "tokens: missing\n",
		"open to all":            "listen: 0.0.0.0:1\n",
	} {
		path := write(t, dir, "c.yaml", lines)
		cmd := execCommand(t, []string{"RIDETHROUGH_LISTEN=", "TEAM_TOKEN=0123456789abcdef0123456789abcdef"}, "--config", path, "--own", "--", "sh", "-c", "echo $ANTHROPIC_BASE_URL; read line")
		var errs bytes.Buffer
		cmd.Stderr = &errs
		in, _ := cmd.StdinPipe()
		out, _ := cmd.StdoutPipe()
		if err := cmd.Start(); err != nil {
			t.Fatalf("start: %v", err)
		}
		line, _ := bufio.NewReader(out).ReadString('\n')
		if url := strings.TrimSpace(line); !strings.HasPrefix(url, "http://127.0.0.1:") {
			t.Errorf("%s: the program got the address %q, want one without TLS on this machine: %s", name, url, errs.String())
		} else if status, body := get(t, url+"/-/waits"); status != http.StatusOK {
			t.Errorf("%s: without a token: %d, %s; want 200", name, status, body)
		}
		_ = in.Close()
		_ = cmd.Wait() // read ends with 1
	}
}

// TestExec_CodexWithALoginNeedsNoConfiguration has a script in place of Codex.
func TestExec_CodexWithALoginNeedsNoConfiguration(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"codex":     "#!/bin/sh\necho \"$2\"\nread line\n",
		"auth.json": `{"OPENAI_API_KEY":null,"tokens":{"access_token":"x"}}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatalf("write: %v", err)
		}
	}
	cmd := execCommand(t, []string{"CODEX_HOME=" + dir}, filepath.Join(dir, "codex"))
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatalf("start: %v", err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	got := regexp.MustCompile(`^openai_base_url="(http://127\.0\.0\.1:\d+)/chatgpt"`).FindStringSubmatch(line)
	if got == nil {
		t.Errorf("Codex got %q, want the address of the upstream chatgpt", line)
	} else if status, body := get(t, got[1]+"/-/upstreams/chatgpt"); status != http.StatusOK || !strings.Contains(body, "https://chatgpt.com") {
		t.Errorf("the gateway's upstream chatgpt: %d, %s", status, body)
	}
	_ = in.Close()
	_ = cmd.Wait() // read ends with 1
}

func TestExec_WantsAProgram(t *testing.T) {
	code, _, errs := run(t, nil, "exec")
	if want := "want a program to run"; code != 2 || !strings.Contains(errs, want) {
		t.Errorf("exec without a program: got code %d and %q, want 2 and %q", code, errs, want)
	}
}
