package browser_test

import (
	"cmp"
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// required is the environment variable without which the tests skip: they take minutes.
const required = "RIDETHROUGH_BROWSER"

var scenes = flag.String("scenes", "", "run only the scenes whose `name` matches this pattern")

// missing returns what the tests need and is not installed; "": nothing.
func missing() string {
	if _, err := exec.LookPath(chromium()); err != nil {
		return "there is no Chromium: " + err.Error()
	}
	if _, err := exec.LookPath("node"); err != nil {
		return "there is no node: " + err.Error()
	}
	parts := []string{"node_modules/playwright-core", "node_modules/axe-core"}
	if *scenes == "" {
		parts = append(parts, "../npm/node_modules/openai", "../npm/node_modules/@anthropic-ai/sdk", "../../internal/server/web/node_modules/esbuild")
	}
	for _, part := range parts {
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
	if os.Getenv(required) == "" {
		t.Skip("scripts/soak browser runs all scenes, .ci/run two of them")
	}
	if why := missing(); why != "" {
		t.Fatalf("cannot run: %s", why)
	}
	binary := filepath.Join(t.TempDir(), "ridethrough") // built with the GOFLAGS of the tests: with -race, a report of the detector fails a test
	if out, err := exec.Command("go", "build", "-o", binary, "../../cmd/ridethrough").CombinedOutput(); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	files, err := filepath.Glob("*.test.mjs")
	if err != nil || len(files) == 0 {
		t.Fatalf("test files %v: %v", files, err)
	}
	ran := 0
	for _, file := range files {
		if named, err := hasScene(file); err != nil || !named {
			if err != nil {
				t.Fatalf("read scenes: %v", err)
			}
			continue
		}
		ran++
		t.Run(strings.TrimSuffix(file, ".test.mjs"), func(t *testing.T) {
			if file != measures {
				t.Parallel()
			}
			node(t, binary, file)
		})
	}
	if ran == 0 {
		t.Errorf("no scene matches %q", *scenes)
	}
}

// scene is the name of a scene in a file of tests, up to a part that is computed.
var scene = regexp.MustCompile("(?m)^ *test\\(['`]([^'`$]*)")

// hasScene reports whether a file has one of the scenes that are to run.
func hasScene(file string) (bool, error) {
	pattern, err := regexp.Compile(*scenes)
	if err != nil {
		return false, err
	}
	source, err := os.ReadFile(file)
	for _, name := range scene.FindAllSubmatch(source, -1) {
		if pattern.Match(name[1]) {
			return true, nil
		}
	}
	return false, err
}

// node runs a file of tests and logs its output.
func node(t *testing.T, binary, file string) {
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	args := []string{"--test", "--test-reporter=spec", file}
	if *scenes != "" {
		args = slices.Insert(args, 0, "--test-name-pattern="+*scenes)
	}
	cmd := exec.CommandContext(ctx, "node", args...)
	cmd.Env = append(os.Environ(), "RIDETHROUGH_BINARY="+binary, "CHROMIUM="+chromium())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // its browser and its servers end with it
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Errorf("combined output: %v", err)
	}
}
