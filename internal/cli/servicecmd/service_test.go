package servicecmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/internal/cli/command"
)

// machine is the machine of a test, with a service manager that records its commands.
type machine struct {
	host
	dir   string
	ran   []string
	state string // what the manager says of the service
	fails string // the command that fails
	env   map[string]string
}

func newMachine(t *testing.T, goos string) *machine {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ".profile"), nil, 0o600); err != nil { // an empty directory would be removed
		t.Fatalf("home: %v", err)
	}
	m := &machine{dir: dir, env: map[string]string{"HOME": dir}, host: host{
		goos: goos, home: dir, configHome: filepath.Join(dir, ".config"), localAppData: dir, etc: filepath.Join(dir, "etc"), lib: filepath.Join(dir, "lib"),
		uid: "501", user: "zoe", program: "/opt/ridethrough", systemd: true,
	}}
	return m
}

// do runs a command on the machine, and returns what it prints, with its error.
func (m *machine) do(t *testing.T, args ...string) (out string, code int) {
	t.Helper()
	var text bytes.Buffer
	s := command.Streams{Out: &text, Err: &text, Env: func(name string) string { return m.env[name] }}
	m.ran = nil
	cmd := &cobra.Command{Use: "ridethrough"}
	c := &serviceCmd{host: func(func(string) string) (*host, error) { return &m.host, nil }}
	c.Streams = s
	c.run = func(_ context.Context, argv []string) (string, error) {
		line := strings.ReplaceAll(strings.Join(argv, " "), m.dir, "~")
		m.ran = append(m.ran, line)
		if m.fails != "" && strings.Contains(line, m.fails) {
			return "it broke\n", errors.New("exit status 1")
		}
		return m.state, nil
	}
	cmd.AddCommand(c.command())
	cmd.SetArgs(append([]string{"service"}, args...))
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	code, message := command.Outcome(cmd.ExecuteContext(t.Context()))
	return strings.ReplaceAll(text.String()+message, m.dir, "~"), code
}

// files returns the files and directories of the machine.
func (m *machine) files(t *testing.T) string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(m.dir, func(path string, _ fs.DirEntry, err error) error {
		all = append(all, strings.TrimPrefix(path, m.dir))
		return err
	})
	if err != nil {
		t.Fatalf("files: %v", err)
	}
	return strings.Join(all, " ")
}

func check(t *testing.T, what, out string, code int, wantOut string, wantCode int) {
	t.Helper()
	if code != wantCode || !strings.Contains(out, wantOut) {
		t.Errorf("%s: code %d and %q, want %d and %q", what, code, out, wantCode, wantOut)
	}
}

func checkRan(t *testing.T, what string, m *machine, want ...string) {
	t.Helper()
	if got := strings.Join(m.ran, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("%s ran:\n%s\nwant:\n%s", what, got, strings.Join(want, "\n"))
	}
}

func TestService_InstallsUpdatesAndUndoes(t *testing.T) {
	for _, c := range []struct {
		goos, file            string
		flags                 []string
		starts, renews, stops []string
	}{
		{
			"linux", "/.config/systemd/user/ridethrough.service", nil,
			[]string{"systemctl --user daemon-reload", "systemctl --user enable --now ridethrough.service"},
			[]string{"systemctl --user daemon-reload", "systemctl --user enable ridethrough.service", "systemctl --user restart ridethrough.service"},
			[]string{"systemctl --user disable --now ridethrough.service", "systemctl --user daemon-reload"},
		},
		{
			"linux", "/etc/systemd/system/ridethrough.service",
			[]string{"--system"},
			[]string{"systemctl daemon-reload", "systemctl enable --now ridethrough.service"},
			[]string{"systemctl daemon-reload", "systemctl enable ridethrough.service", "systemctl restart ridethrough.service"},
			[]string{"systemctl disable --now ridethrough.service", "systemctl daemon-reload"},
		},
		{
			"darwin", "/Library/LaunchAgents/dev.ridethrough.gateway.plist", nil,
			[]string{"launchctl enable gui/501/dev.ridethrough.gateway", "launchctl bootstrap gui/501 ~/Library/LaunchAgents/dev.ridethrough.gateway.plist", "launchctl kickstart gui/501/dev.ridethrough.gateway"},
			[]string{"launchctl bootout gui/501/dev.ridethrough.gateway", "launchctl enable gui/501/dev.ridethrough.gateway", "launchctl bootstrap gui/501 ~/Library/LaunchAgents/dev.ridethrough.gateway.plist"},
			[]string{"launchctl bootout gui/501/dev.ridethrough.gateway"},
		},
	} {
		m := newMachine(t, c.goos)
		call := func(name string, more ...string) (string, int) {
			return m.do(t, append(append([]string{name}, c.flags...), more...)...)
		}
		before := m.files(t)
		out, code := call("uninstall")
		check(t, "uninstall before", out, code, "not installed", 0)
		out, code = call("install", "--print")
		check(t, "install --print", out, code, "# write: ~"+c.file, 0)
		if after := m.files(t); len(m.ran) > 0 || after != before {
			t.Errorf("%s: install --print ran %q and left %s, want %s", c.goos, m.ran, after, before)
		}
		out, code = call("install")
		check(t, "install", out, code, "installed ~"+c.file+"\nThe gateway is at http://127.0.0.1:8484.", 0)
		checkRan(t, "install", m, c.starts...)
		installed, err := os.ReadFile(m.dir + c.file)
		if err != nil {
			t.Fatalf("%s: %v", c.goos, err)
		}
		out, code = call("install")
		check(t, "install again", out, code, "installed ~"+c.file, 0)
		checkRan(t, "install again", m, c.starts...)

		m.program = "/opt/newer/ridethrough"
		out, code = call("install")
		check(t, "install of another version", out, code, "installed ~"+c.file, 0)
		checkRan(t, "install of another version", m, c.renews...)
		m.program = "/opt/ridethrough"
		if _, code = call("install"); code != 0 {
			t.Errorf("%s: back to the first version: code %d", c.goos, code)
		}
		if again, _ := os.ReadFile(m.dir + c.file); !bytes.Equal(again, installed) {
			t.Errorf("%s: the first version's file is now\n%s\nwant\n%s", c.goos, again, installed)
		}

		if err := os.WriteFile(m.dir+c.file, bytes.Replace(installed, []byte("serve"), []byte("serve "), 1), 0o600); err != nil {
			t.Fatalf("change by hand: %v", err)
		}
		for _, name := range []string{"install", "uninstall"} {
			out, code = call(name)
			check(t, name+" over a change by hand", out, code, "~"+c.file+" was changed by hand", 1)
			checkRan(t, name+" over a change by hand", m)
		}
		if out, code = call("install", "--force"); code != 0 {
			t.Errorf("%s: install --force: code %d and %q", c.goos, code, out)
		}
		out, code = call("uninstall")
		check(t, "uninstall", out, code, "removed ~"+c.file, 0)
		checkRan(t, "uninstall", m, c.stops...)
		if after := m.files(t); after != before {
			t.Errorf("%s: uninstall left %s, want %s", c.goos, after, before)
		}
	}
}

func TestUninstall_KeepsDirectoriesWithOtherFiles(t *testing.T) {
	m := newMachine(t, "linux")
	other := filepath.Join(m.dir, ".config", "systemd", "other")
	if err := os.MkdirAll(filepath.Dir(other), 0o700); err != nil {
		t.Fatalf("directories: %v", err)
	}
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatalf("write: %v", err)
	}
	before := m.files(t)
	m.do(t, "install")
	if out, code := m.do(t, "uninstall"); code != 0 || m.files(t) != before {
		t.Errorf("uninstall: code %d, %q; left %s, want %s", code, out, m.files(t), before)
	}
}

func TestInstall_SaysWhatFailsAndWhatIsMissing(t *testing.T) {
	m := newMachine(t, "linux")
	m.fails = "enable"
	out, code := m.do(t, "install")
	check(t, "a manager that fails", out, code, "systemctl --user enable --now ridethrough.service: exit status 1: it broke", 1)
	m.fails, m.systemd = "", false
	out, code = m.do(t, "install")
	check(t, "without systemd", out, code, "No systemd runs here. Where it does, start the service with:\n  systemctl --user daemon-reload\n", 0)
	m.systemd = true
	m.env["RIDETHROUGH_POLICY"] = "simple"
	out, code = m.do(t, "install")
	check(t, "a variable", out, code, "warning: RIDETHROUGH_POLICY of this shell is not set for the service", 0)
	check(t, "no linger", out, code, "loginctl enable-linger zoe", 0)
	m.lingers = true
	if out, _ = m.do(t, "install"); strings.Contains(out, "linger") {
		t.Errorf("with linger: %q, want nothing about it", out)
	}
	bad := filepath.Join(m.dir, "bad.yaml")
	if err := os.WriteFile(bad, []byte("listen: 8484\n"), 0o600); err != nil {
		t.Fatalf("write: %v", err)
	}
	out, code = m.do(t, "install", "--config", bad)
	check(t, "a mistake in the configuration", out, code, "a mistake in the configuration", command.ExitConfig)
}

func TestInstall_LeavesTheServiceOfAPackage(t *testing.T) {
	m := newMachine(t, "linux")
	packed := filepath.Join(m.dir, "lib", "systemd", "system", "ridethrough.service")
	if err := os.MkdirAll(filepath.Dir(packed), 0o700); err != nil {
		t.Fatalf("directories: %v", err)
	}
	if err := os.WriteFile(packed, []byte("[Unit]\n"), 0o600); err != nil {
		t.Fatalf("write: %v", err)
	}
	out, code := m.do(t, "install", "--system")
	check(t, "install", out, code, "a package has installed ~/lib/systemd/system/ridethrough.service; start it with: systemctl enable --now ridethrough", 1)
	m.state = "ActiveState=inactive\nSubState=dead\nResult=success\n"
	m.env["RIDETHROUGH_LISTEN"] = "127.0.0.1:1"
	out, code = m.do(t, "status", "--system")
	if code != command.ExitNoGateway || strings.Contains(out, "not installed") {
		t.Errorf("status: code %d and %q, want 3 and an installed service", code, out)
	}
	if out, code := m.do(t, "install", "--system", "--force"); code != 0 {
		t.Errorf("install --force: code %d and %q, want 0", code, out)
	}
}

func TestStatus_SaysInALineWhetherItRuns(t *testing.T) {
	m := newMachine(t, "linux")
	var waits string
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/-/waits" {
			fmt.Fprint(w, waits)
			return
		}
		fmt.Fprint(w, `{"name":"ridethrough","version":"v1","process":7,"since":"2026-11-22T12:00:00Z"}`)
	}))
	defer gateway.Close()
	at := strings.TrimPrefix(gateway.URL, "http://")
	conf := filepath.Join(m.dir, "c.yaml")
	configure := func(listen string) {
		if err := os.WriteFile(conf, []byte("listen: "+listen+"\n"), 0o600); err != nil {
			t.Fatalf("write: %v", err)
		}
	}
	configure("127.0.0.1:1")
	out, code := m.do(t, "status")
	check(t, "before", out, code, "not installed; `ridethrough service install`", command.ExitNoGateway)
	m.do(t, "install", "--config", conf)
	m.state = "ActiveState=failed\nSubState=failed\nResult=exit-code\nMainPID=0\n"
	out, code = m.do(t, "status")
	check(t, "failed", out, code, "installed, not running: failed (exit-code); its log: journalctl --user -u ridethrough", command.ExitNoGateway)

	configure(at)
	m.state, waits = "ActiveState=active\nSubState=running\nResult=success\nMainPID=7\n", `{"waits":[]}`
	out, code = m.do(t, "status")
	check(t, "running", out, code, "running at "+gateway.URL+" since ", 0)
	check(t, "running", out, code, ", v1; nothing waits", 0)
	waits = `{"waits":[{"id":1},{"id":2}]}`
	out, code = m.do(t, "status")
	check(t, "holding", out, code, "; 2 calls wait", 0)
	if strings.Count(out, "\n") != 1 {
		t.Errorf("status: %q, want a line", out)
	}
	m.state = "ActiveState=activating\nSubState=auto-restart\nResult=success\nMainPID=0\n"
	if out, code = m.do(t, "status"); code != 0 {
		t.Errorf("a manager that names no process: code %d and %q", code, out)
	}
	m.state = "ActiveState=active\nSubState=running\nResult=success\nMainPID=8\n"
	out, code = m.do(t, "status")
	check(t, "another process", out, code, "is another process, 7", command.ExitNoGateway)
}
