package servicecmd

import (
	"bytes"
	"encoding/xml"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/internal/cli/command"
)

var update = flag.Bool("update", false, "write the golden files")

// hosts are machines whose paths need quoting in each format.
var hosts = map[string]host{
	"user": {
		goos: "linux", home: "/home/zoë", configHome: "/home/zoë/.config", etc: "/etc", uid: "1000", user: "zoë",
		program: `/opt/ride through/100%/$ü/ridethrough`, systemd: true,
	},
	"system": {goos: "linux", home: "/root", configHome: "/root/.config", etc: "/etc", uid: "0", user: "root", program: "/usr/local/bin/ridethrough", systemd: true},
	"darwin": {goos: "darwin", home: "/Users/Zoë <M&M>", configHome: "/Users/Zoë <M&M>/.config", uid: "501", user: "zoe", program: "/opt/ride through/ridethrough"},
	"windows": {
		goos: "windows", home: `C:\Users\Zoë M`, configHome: `C:\Users\Zoë M\.config`, localAppData: `C:\Users\Zoë M\AppData\Local`,
		uid: "S-1-5-21-1", user: `DESK\Zoë M`, program: `C:\Program Files\R&D\ridethrough.exe`,
	},
}

// config is a configuration file whose path needs quoting.
const config = `/srv/a b%c$d/--ü&".yaml`

// configOf is that of a host: a path of Windows has no quotation mark.
func configOf(name string) string {
	if name == "windows" {
		return strings.ReplaceAll(config, `"`, "")
	}
	return config
}

func planOf(t *testing.T, name string) plan {
	t.Helper()
	h := hosts[name]
	p, err := planFor(&h, name == "system", configOf(name))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return p
}

func TestPlan_FileAndCommandsOfEachPlatform(t *testing.T) {
	for name := range hosts {
		p := planOf(t, name)
		var got bytes.Buffer
		c := serviceCmd{}
		c.Streams = command.Streams{Out: &got}
		c.show("write", &p, sealed(p.text, configOf(name)), nil, p.starts)
		c.show("update", &p, "", nil, p.renews)
		c.show("remove", &p, "", p.stops, p.forgets)
		golden := filepath.Join("testdata", name+".golden")
		if *update {
			if err := os.WriteFile(golden, got.Bytes(), 0o600); err != nil {
				t.Fatalf("write %s: %v", golden, err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatalf("read: %v", err)
		}
		if diff := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), got.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestPlan_ArgumentsAreThoseOfServe reads the files as their managers do.
func TestPlan_ArgumentsAreThoseOfServe(t *testing.T) {
	var agent struct {
		Args []string `xml:"dict>array>string"`
	}
	if err := xml.Unmarshal([]byte(planOf(t, "darwin").text), &agent); err != nil {
		t.Fatalf("the property list: %v", err)
	}
	want := []string{"/opt/ride through/ridethrough", "serve", "--config", config, "--log-file", "/Users/Zoë <M&M>/Library/Logs/ridethrough.log"}
	if diff := cmp.Diff(want, agent.Args); diff != "" {
		t.Errorf("launchd (-want +got):\n%s", diff)
	}
	var task struct {
		Command   string `xml:"Actions>Exec>Command"`
		Arguments string `xml:"Actions>Exec>Arguments"`
	}
	text := strings.Replace(planOf(t, "windows").text, "UTF-16", "UTF-8", 1)
	if err := xml.Unmarshal([]byte(text), &task); err != nil {
		t.Fatalf("the task: %v", err)
	}
	const args = `serve --config "/srv/a b%c$d/--ü&.yaml" --log-file "C:\Users\Zoë M\AppData\Local\ridethrough\gateway.log"`
	if task.Command != `C:\Program Files\R&D\ridethrough.exe` || task.Arguments != args {
		t.Errorf("Windows: got %s with %s, want %s", task.Command, task.Arguments, args)
	}
}

// analyze runs systemd-analyze.
func analyze(t *testing.T, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	out, err := exec.CommandContext(t.Context(), "systemd-analyze", args...).CombinedOutput()
	if err != nil {
		t.Errorf("systemd-analyze %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// written writes a unit as a file with a program that exists, which systemd-analyze looks for.
func written(t *testing.T, name, config string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatalf("this program: %v", err)
	}
	program := filepath.Join(t.TempDir(), `ride through 100% $ü`)
	if err := os.Symlink(self, program); err != nil {
		t.Fatalf("link: %v", err)
	}
	text := map[string]string{"user": userUnit, "system": systemUnit}[name]
	text = strings.Replace(text, "{command}", execStart([]string{program, "serve", "--config", config}), 1)
	path := filepath.Join(t.TempDir(), "ridethrough.service")
	if err := os.WriteFile(path, []byte(sealed(text, "")), 0o644); err != nil {
		t.Fatalf("write: %v", err)
	}
	return path
}

func TestUnits_PassSystemd(t *testing.T) {
	for _, name := range []string{"user", "system"} {
		if out := analyze(t, "verify", "--man=no", written(t, name, config)); strings.Contains(out, "ridethrough.service") {
			t.Errorf("systemd-analyze verify on the unit of the %s:\n%s", name, out)
		}
	}
}

// exposure is the most that systemd may count against the sandbox, of 10.
const exposure = 1.4

func TestSystemUnit_IsSandboxed(t *testing.T) {
	out := analyze(t, "security", "--offline=true", "--no-pager", written(t, "system", "/etc/c.yaml"))
	m := regexp.MustCompile(`Overall exposure level for \S+: ([0-9.]+)`).FindStringSubmatch(out)
	if m == nil {
		t.Fatalf("no exposure level in:\n%s", out)
	}
	if got, _ := strconv.ParseFloat(m[1], 64); got > exposure {
		t.Errorf("exposure %v, want at most %v:\n%s", got, exposure, out)
	}
}

func TestPlan_RefusesWhatCannotRun(t *testing.T) {
	for _, c := range []struct {
		host   host
		system bool
		want   string
	}{
		{host{goos: "darwin"}, true, "--system is for systemd"},
		{host{goos: "linux", program: `/opt/"x"/ridethrough`}, false, "systemd allows in no program's path"},
		{host{goos: "plan9"}, false, "no service manager that is known on plan9"},
		{host{goos: "linux", program: "/home/me/bin/ridethrough"}, true, "copy it to /usr/local/bin"},
		{host{goos: "linux", program: "/tmp/ridethrough"}, true, "copy it to /usr/local/bin"},
	} {
		if _, err := planFor(&c.host, c.system, ""); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s with --system=%t: got error %v, want %q", c.host.goos, c.system, err, c.want)
		}
	}
}
