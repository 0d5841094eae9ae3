package browser_test

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// required is the environment variable that makes skipping a failure.
const required = "RIDETHROUGH_BROWSER"

// missing returns what the tests need and is not installed; "": nothing.
func missing() string {
	if _, err := exec.LookPath(chromium()); err != nil {
		return "there is no Chromium: " + err.Error()
	}
	if _, err := exec.LookPath("node"); err != nil {
		return "there is no node: " + err.Error()
	}
	for _, part := range []string{ // all of them, so that no result is cached for others
		"package-lock.json", "world.mjs", "fake.mjs", "node_modules/playwright-core", "node_modules/axe-core",
		"../npm/node_modules/openai", "../npm/node_modules/@anthropic-ai/sdk", "../../internal/server/web/node_modules/esbuild",
	} {
		if _, err := os.Stat(part); err != nil {
			return "packages are missing, npm ci --ignore-scripts --prefix installs them, for test/browser, test/npm and internal/server/web: " + err.Error()
		}
	}
	return ""
}

func chromium() string { return cmp.Or(os.Getenv("CHROMIUM"), "/usr/bin/chromium") }

// measures is the file that measures time, and runs by itself. The others wait more than they compute.
const measures = "many.test.mjs"

func TestPage_InBrowser(t *testing.T) {
	if why := missing(); why != "" {
		if os.Getenv(required) != "" {
			t.Fatalf("cannot run: %s", why)
		}
		t.Skip(why)
	}
	binary := filepath.Join(t.TempDir(), "ridethrough") // built with the GOFLAGS of the tests: with -race, a report of the detector fails a test
	if out, err := exec.Command("go", "build", "-o", binary, "../../cmd/ridethrough").CombinedOutput(); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	files, err := filepath.Glob("*.test.mjs")
	if err != nil || len(files) == 0 {
		t.Fatalf("test files %v: %v", files, err)
	}
	for _, file := range files {
		if _, err := os.ReadFile(file); err != nil { // read by this process, so that no result is cached for an older file
			t.Fatalf("read file: %v", err)
		}
		t.Run(strings.TrimSuffix(file, ".test.mjs"), func(t *testing.T) {
			if file != measures {
				t.Parallel()
			}
			node(t, binary, file)
		})
	}
}

// node runs a file of tests and logs its output.
func node(t *testing.T, binary, file string) {
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "--test", "--test-reporter=spec", file)
	cmd.Env = append(os.Environ(), "RIDETHROUGH_BINARY="+binary, "CHROMIUM="+chromium())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // its browser and its servers end with it
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Errorf("combined output: %v", err)
	}
}
