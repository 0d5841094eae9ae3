//go:build unix

package npm_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
)

// runner plays a runner of GitHub: each step has files to which it writes, and later steps have what was written.
type runner struct {
	t    *testing.T
	temp string
	env  []string // of the next step
}

// step runs a step of the job, and returns what it writes to its summary and prints.
func (j *runner) step(cmd *exec.Cmd) (summary, log string, err error) {
	j.t.Helper()
	files := map[string]string{}
	for _, name := range []string{"GITHUB_ENV", "GITHUB_PATH", "GITHUB_STATE", "GITHUB_STEP_SUMMARY"} {
		files[name] = filepath.Join(j.t.TempDir(), name)
		cmd.Env = append(cmd.Env, name+"="+files[name])
		if err := os.WriteFile(files[name], nil, 0o600); err != nil {
			j.t.Fatalf("write: %v", err)
		}
	}
	cmd.Env = slices.Concat(cmd.Env, j.env, []string{"CI=true", "GITHUB_ACTIONS=true", "RUNNER_TEMP=" + j.temp})
	out, err := cmd.CombinedOutput()
	read := func(name string) string {
		text, err := os.ReadFile(files[name])
		if err != nil {
			j.t.Fatalf("read: %v", err)
		}
		return string(text)
	}
	j.env = append(j.env, strings.Fields(read("GITHUB_ENV"))...)
	for line := range strings.Lines(read("GITHUB_STATE")) {
		j.env = append(j.env, "STATE_"+strings.TrimSpace(line))
	}
	if dir := strings.TrimSpace(read("GITHUB_PATH")); dir != "" {
		j.env = append(j.env, "PATH="+dir+":"+os.Getenv("PATH"))
	}
	return read("GITHUB_STEP_SUMMARY"), string(out), err
}

// script returns a step that runs a file of the action, with inputs.
func (j *runner) script(file string, inputs ...string) *exec.Cmd {
	cmd := exec.CommandContext(j.t.Context(), "node", filepath.Join("../../packaging/action", file))
	cmd.Env = append(os.Environ(), inputs...)
	return cmd
}

// release serves a release with our program for this platform, and a sum of its archive or of something else.
func release(t *testing.T, sum func(archive []byte) [32]byte) string {
	t.Helper()
	text, err := os.ReadFile(program(t))
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	var archive bytes.Buffer
	zipped, _ := gzip.NewWriterLevel(&archive, gzip.BestSpeed)
	files := tar.NewWriter(zipped)
	if err := files.WriteHeader(&tar.Header{Name: "ridethrough", Mode: 0o755, Size: int64(len(text))}); err != nil {
		t.Fatalf("archive: %v", err)
	}
	if _, err := files.Write(text); err != nil || files.Close() != nil || zipped.Close() != nil {
		t.Fatalf("archive: %v", err)
	}
	name := fmt.Sprintf("ridethrough_1.2.3_%s_%s.tar.gz", runtime.GOOS, runtime.GOARCH)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/download/v1.2.3/checksums.txt":
			fmt.Fprintf(w, "%x  ridethrough_1.2.3_plan9_mips.tar.gz\n%x  %s\n", sum(nil), sum(archive.Bytes()), name)
		case "/download/v1.2.3/" + name:
			_, _ = w.Write(archive.Bytes())
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestAction_JobIsGreenAfterAnOutage has agents in a job whose provider is down, for a minute and for longer than a call
// may wait.
func TestAction_JobIsGreenAfterAnOutage(t *testing.T) {
	t.Parallel()
	needsNode(t)
	releases := release(t, func(archive []byte) [32]byte { return sha256.Sum256(archive) })
	length := time.Minute
	if *realTime {
		length = 20 * time.Minute
	}
	for _, name := range []string{"codex-post", "claude-2.1.332"} { // only the program of codex-post is used
		for _, c := range []struct {
			limit string
			green bool
		}{{"45m", true}, {"20s", false}} {
			t.Run(name+" within "+c.limit, func(t *testing.T) {
				a := agents[slices.IndexFunc(agents, func(a agent) bool { return a.name == name })]
				a.needs(t)
				t.Parallel()
				provider := simulator.New(outage(length, nil))
				upstream := httptest.NewServer(provider)
				t.Cleanup(func() {
					_ = provider.Close()
					upstream.Close()
				})
				j := &runner{t: t, temp: t.TempDir()}
				upstreams := "anthropic=" + upstream.URL + "\nopenai=" + upstream.URL
				_, log, err := j.step(j.script("start.mjs", "INPUT_VERSION=v1.2.3", "INPUT_MAX-WAIT="+c.limit, "INPUT_POLICY=patient", "INPUT_UPSTREAMS="+upstreams, "INPUT_RELEASES="+releases))
				if err != nil {
					t.Fatalf("start: %v: %s", err, log)
				}
				stopped := false
				stop := func() (string, string, error) {
					stopped = true
					return j.step(j.script("stop.mjs"))
				}
				t.Cleanup(func() {
					if !stopped {
						_, _, _ = stop()
					}
				})
				home, work := t.TempDir(), t.TempDir()
				d := &desk{t: t, home: home}
				d.write(".codex/config.toml", strings.ReplaceAll(codexConfig, "{work}", work))
				d.write(".codex/auth.json", `{"OPENAI_API_KEY":"sk-test-000000000000000000000000"}`)
				own := a.command(t.Context(), t, home, nil)
				question := map[bool][]string{true: {"exec", "--skip-git-repo-check", "Say hi"}, false: {"-p", "Say hi"}}[name == "codex-post"]
				cmd := exec.CommandContext(t.Context(), filepath.Join(j.temp, "ridethrough", "ridethrough"), slices.Concat([]string{"exec", "--", own.Path}, question)...)
				cmd.Dir, cmd.Env = work, own.Env
				_, log, err = j.step(cmd)
				if green := err == nil && strings.Contains(log, answer); green != c.green {
					t.Errorf("the agent: %v: %s; want it to succeed: %v", err, log, c.green)
				}
				wants := []string{"server overloaded — retrying", "; 0 lost"}
				if !c.green {
					wants = []string{"server overloaded — retrying", "and 5 failed tries: ", "; 1 lost"}
				}
				for _, want := range wants {
					if !strings.Contains(log, want) {
						t.Errorf("the agent's step prints %q, want %q in it", log, want)
					}
				}
				summary, log, err := stop()
				lost := map[bool]string{true: "; 0 lost", false: " lost"}[c.green]
				if err != nil || !strings.Contains(summary, lost) || !strings.Contains(summary, "| server overloaded |") {
					t.Errorf("stop: %v: %s; summary %q, want %q and the cause in it", err, log, summary, lost)
				}
			})
		}
	}
}

func TestAction_InstallsNothingWithAnotherChecksum(t *testing.T) {
	t.Parallel()
	needsNode(t)
	releases := release(t, func([]byte) [32]byte { return sha256.Sum256([]byte("another")) })
	for _, c := range []struct{ version, want string }{
		{"v1.2.3", "checksums.txt says " + fmt.Sprintf("%x", sha256.Sum256([]byte("another"))) + ": it is not installed"},
		{"v9.9.9", "answers with 404"},
	} {
		j := &runner{t: t, temp: t.TempDir()}
		_, log, err := j.step(j.script("start.mjs", "INPUT_VERSION="+c.version, "INPUT_RELEASES="+releases))
		if err == nil || !strings.Contains(log, "::error title=ridethrough::") || !strings.Contains(log, c.want) {
			t.Errorf("%s: %v: %s; want an error with %q", c.version, err, log, c.want)
		}
		if _, err := os.Stat(filepath.Join(j.temp, "ridethrough", "ridethrough")); err == nil {
			t.Errorf("%s: a program is installed", c.version)
		}
	}
}

func needsNode(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		if os.Getenv(required) != "" {
			t.Fatalf("node: %v", err)
		}
		t.Skipf("node is not there: %v", err)
	}
}
