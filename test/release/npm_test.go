package release_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// launcher installs npm's package by hand, with a program of this platform that is a script, and returns the command
// that starts it with arguments. An empty script: the program of this platform is left out.
func launcher(t *testing.T, script string) func(args ...string) *exec.Cmd {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil || runtime.GOOS == "windows" {
		if os.Getenv("RIDETHROUGH_NPM") != "" {
			t.Fatalf("node: %v", err)
		}
		t.Skipf("the launcher needs node and a shell: %v", err)
	}
	platform, err := exec.Command(node, "-p", "process.platform + '-' + process.arch").Output()
	if err != nil {
		t.Fatalf("node: %v", err)
	}
	modules := filepath.Join(t.TempDir(), "node_modules")
	write := func(name, text string) {
		file := filepath.Join(modules, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o755)); err != nil {
			t.Fatalf("write: %v", err)
		}
	}
	manifest, _ := json.Marshal(map[string]string{"name": "ridethrough", "version": "1.2.3"})
	write("ridethrough/package.json", string(manifest))
	write("ridethrough/launch.js", read(t, "packaging/npm/launch.js"))
	if script != "" {
		of := "@ridethrough/ridethrough-" + strings.TrimSpace(string(platform))
		write(of+"/package.json", `{"name":"`+of+`","version":"1.2.3"}`)
		write(of+"/bin/ridethrough", "#!/bin/sh\n"+script)
	}
	return func(args ...string) *exec.Cmd {
		return exec.Command(node, append([]string{filepath.Join(modules, "ridethrough", "launch.js")}, args...)...)
	}
}

func TestLauncher_EndsAsTheProgramDoes(t *testing.T) {
	for script, want := range map[string]int{"exit 0": 0, "exit 78": 78, "kill -TERM $$": 128 + 15} {
		err := launcher(t, script)().Run()
		code := 0
		if end, ok := errors.AsType[*exec.ExitError](err); ok {
			code = end.ExitCode()
		}
		if code != want {
			t.Errorf("a program that does %q: exit code %d (%v), want %d", script, code, err, want)
		}
	}
}

func TestLauncher_PassesArgumentsAndStreams(t *testing.T) {
	cmd := launcher(t, `printf '<%s>' "$@"; cat`)("exec", "--", "two words")
	cmd.Stdin = strings.NewReader("input")
	got, err := cmd.Output()
	if want := "<exec><--><two words>input"; string(got) != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

func TestLauncher_PassesTermination(t *testing.T) {
	cmd := launcher(t, `trap 'echo told; exit 3' TERM; echo ready; for i in $(seq 300); do sleep 0.1; done`)()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatalf("output: %v", err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start: %v", err)
	}
	line := make([]byte, len("ready\n"))
	if _, err := out.Read(line); err != nil {
		t.Fatalf("the program is not ready: %v", err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatalf("signal: %v", err)
	}
	var rest bytes.Buffer
	_, _ = rest.ReadFrom(out)
	_ = cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != 3 || rest.String() != "told\n" {
		t.Errorf("after SIGTERM: exit code %d and %q, want 3 and told", got, rest.String())
	}
}

func TestLauncher_NamesTheMissingPackage(t *testing.T) {
	var errs bytes.Buffer
	cmd := launcher(t, "")()
	cmd.Stderr = &errs
	err := cmd.Run()
	if text := errs.String(); err == nil || !strings.Contains(text, "@1.2.3 is not installed") || !strings.Contains(text, "--omit=optional") {
		t.Errorf("without the program: %v, %q; want the name of its package and why it may be missing", err, text)
	}
}
