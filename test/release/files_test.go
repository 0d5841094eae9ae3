package release_test

import (
	"bufio"
	"context"
	"flag"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/internal/cli"
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/operation/config"
)

const root = "../../"

// read returns a file of the repository.
func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(root + name)
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	return string(text)
}

// parse reads a YAML file of the repository.
func parse[T any](t *testing.T, name string) (v T) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(read(t, name)), &v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return v
}

// object is one of YAML.
type object = map[string]any

// at returns what is at the end of a path of keys.
func at(v any, keys ...string) any {
	for _, key := range keys {
		m, _ := v.(object)
		v = m[key]
	}
	return v
}

// list returns the texts of a list.
func list(v any) (all []string) {
	items, _ := v.([]any)
	for _, item := range items {
		text, _ := item.(string)
		all = append(all, text)
	}
	return all
}

// port is where the gateway listens by default.
func port(t *testing.T) string {
	t.Helper()
	_, port, err := net.SplitHostPort(config.DefaultListen)
	if err != nil {
		t.Fatalf("the default address: %v", err)
	}
	return port
}

// accepts fails the test unless the program has a command with these flags. Flags are not parsed further.
func accepts(t *testing.T, where string, args []string) {
	t.Helper()
	root := cli.Root(command.Streams{Env: func(string) string { return "" }})
	cmd, flags, err := root.Find(args)
	if err != nil || cmd == root {
		t.Errorf("%s: there is no command %q: %v", where, args, err)
		return
	}
	if err := cmd.ParseFlags(flags); err != nil {
		t.Errorf("%s: %q: %v", where, args, err)
	}
}

// variables fails the test unless the manual names every variable of ours in a text.
func variables(t *testing.T, where, text string) {
	t.Helper()
	var manual strings.Builder
	pages, _ := filepath.Glob(root + "docs/*.md")
	for _, page := range pages {
		manual.WriteString(read(t, strings.TrimPrefix(filepath.ToSlash(page), root)))
	}
	for _, name := range regexp.MustCompile(`RIDETHROUGH_[A-Z_]+`).FindAllString(text, -1) {
		if name != "RIDETHROUGH_IMAGE" && !strings.Contains(manual.String(), name) {
			t.Errorf("%s sets %s, which no page of the manual names", where, name)
		}
	}
}

// log is where a gateway tells where it listens.
type log struct{ url chan string }

var listening = regexp.MustCompile(`"msg":"listening","url":"([^"]+)"`)

// Write looks for the address in a line.
func (l log) Write(line []byte) (int, error) {
	if is := listening.FindSubmatch(line); is != nil {
		l.url <- string(is[1])
	}
	return len(line), nil
}

// serve runs the gateway until the test ends and returns its address.
func serve(t *testing.T) string {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ended, to := make(chan int, 1), log{make(chan string, 1)}
	go func() {
		ended <- cli.Run(ctx, []string{"serve", "--listen", "127.0.0.1:0", "--data", "none"},
			command.Streams{Out: to, Err: to, Env: func(string) string { return "" }})
	}()
	t.Cleanup(func() { stop(); <-ended })
	select {
	case url := <-to.url:
		return url
	case code := <-ended:
		t.Fatalf("serve ended with %d", code)
		return ""
	}
}

// instructions returns those of the Dockerfile, with their arguments.
func instructions(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for lines := bufio.NewScanner(strings.NewReader(read(t, "Dockerfile"))); lines.Scan(); {
		if name, arg, ok := strings.Cut(lines.Text(), " "); ok && !strings.HasPrefix(name, "#") {
			all[name] = append(all[name], arg)
		}
	}
	return all
}

// words returns the arguments of an instruction in the exec form.
func words(t *testing.T, text string) (all []string) {
	t.Helper()
	_, text, _ = strings.Cut(text, "[")
	if err := yaml.Unmarshal([]byte("["+text), &all); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return all
}

func TestImage_RunsTheProgram(t *testing.T) {
	is := instructions(t)
	if got := is["FROM"]; !slices.Equal(got, []string{"scratch"}) {
		t.Errorf("FROM %q, want scratch alone", got)
	}
	if got := is["USER"]; len(got) != 1 || !regexp.MustCompile(`^[1-9][0-9]*:[1-9][0-9]*$`).MatchString(got[0]) {
		t.Errorf("USER %q, want numbers other than 0, by which Kubernetes knows that it is not root", got)
	}
	if got := is["EXPOSE"]; !slices.Equal(got, []string{port(t)}) {
		t.Errorf("EXPOSE %q, want %s", got, port(t))
	}
	entry := words(t, is["ENTRYPOINT"][0])
	check := words(t, is["HEALTHCHECK"][0])
	if !slices.Equal(check[:1], entry) {
		t.Errorf("HEALTHCHECK runs %q, want %q", check, entry)
	}
	accepts(t, "HEALTHCHECK", check[1:])
	accepts(t, "CMD", words(t, is["CMD"][0]))
	copies := strings.Join(is["COPY"], "\n")
	for _, want := range []string{entry[0], "/etc/ssl/certs/ca-certificates.crt", "/usr/share/zoneinfo.zip", "/data"} {
		if !strings.Contains(copies, " "+want) {
			t.Errorf("nothing is copied to %s:\n%s", want, copies)
		}
	}
	for _, want := range []string{"RIDETHROUGH_DATA=/data", "RIDETHROUGH_LISTEN=:" + port(t), "XDG_CONFIG_HOME=/etc", "ZONEINFO=/usr/share/zoneinfo.zip"} {
		if !strings.Contains(is["ENV"][0], want) {
			t.Errorf("ENV %s, want %s", is["ENV"][0], want)
		}
	}
	variables(t, "Dockerfile", read(t, "Dockerfile"))
}

var update = flag.Bool("update", false, "write the unit of the packages")

// TestUnit_IsThatOfServiceInstall is about the unit of packages.
func TestUnit_IsThatOfServiceInstall(t *testing.T) {
	const file = "packaging/ridethrough.service"
	_, unit, ok := strings.Cut(read(t, "internal/cli/servicecmd/units/system.service"), "[Unit]\n")
	if !ok {
		t.Fatalf("service install writes no unit:\n%s", unit)
	}
	want := "# The unit of a package. To change it, use `systemctl edit ridethrough`.\n[Unit]\n" +
		strings.Replace(unit, "{command}", "/usr/bin/ridethrough serve", 1)
	if *update {
		if err := os.WriteFile(root+file, []byte(want), 0o644); err != nil {
			t.Fatalf("write: %v", err)
		}
	}
	if diff := cmp.Diff(want, read(t, file)); diff != "" {
		t.Errorf("%s differs; update it with: go test ./test/release -run Unit -update (-want +got)\n%s", file, diff)
	}
	for _, line := range []string{"ExecStart=/usr/bin/ridethrough serve\n", "XDG_CONFIG_HOME=%E XDG_DATA_HOME=%S", "StateDirectory=ridethrough\n"} {
		if !strings.Contains(want, line) {
			t.Errorf("the unit has no %q", line)
		}
	}
	// %E is /etc, where the packages have the configuration.
	if !strings.Contains(read(t, ".goreleaser.yaml"), "dst: /etc/ridethrough/config.yaml, type: config|noreplace") {
		t.Error("no package has /etc/ridethrough/config.yaml as a configuration")
	}
}

func TestCompose_FitsTheImage(t *testing.T) {
	const file = "deploy/compose/compose.yaml"
	services, _ := at(parse[object](t, file), "services").(object)
	for name, s := range services {
		image, _ := at(s, "image").(string)
		if name != "ridethrough" && !regexp.MustCompile(`:v?[0-9]+\.[0-9]+\.[0-9]+$`).MatchString(image) {
			t.Errorf("%s: image %s, want a version", name, image)
		}
		for _, p := range list(at(s, "ports")) {
			if !strings.HasPrefix(p, "127.0.0.1:") {
				t.Errorf("%s: port %s is open to other machines", name, p)
			}
		}
		for _, v := range list(at(s, "volumes")) {
			if from, _, _ := strings.Cut(v, ":"); strings.HasPrefix(from, ".") {
				read(t, filepath.ToSlash(filepath.Join(filepath.Dir(file), from)))
			}
		}
	}
	if ports := list(at(services, "ridethrough", "ports")); !slices.Equal(ports, []string{"127.0.0.1:" + port(t) + ":" + port(t)}) {
		t.Errorf("ports of the gateway %q, want its own", ports)
	}
	scrape := read(t, "deploy/compose/prometheus.yaml")
	for _, want := range []string{"metrics_path: /-/metrics", `targets: ["ridethrough:` + port(t) + `"]`, "credentials_file: /run/secrets/token", "/etc/prometheus/alerts.yaml"} {
		if !strings.Contains(scrape, want) {
			t.Errorf("prometheus.yaml has no %s", want)
		}
	}
	variables(t, file, read(t, file))
}

// pinned is an action at a commit, with its version.
var pinned = regexp.MustCompile(`uses: [a-z-]+/[a-z-]+@[0-9a-f]{40} # v[0-9]+\.[0-9]+\.[0-9]+$`)

func TestWorkflows_ArePinnedAndMayDoLittle(t *testing.T) {
	files, err := filepath.Glob(root + ".github/workflows/*.yml")
	if err != nil || len(files) != 3 {
		t.Fatalf("workflows %q, %v; want three", files, err)
	}
	for _, file := range files {
		name := strings.TrimPrefix(filepath.ToSlash(file), root)
		flow, text := parse[object](t, name), read(t, name)
		for line := range strings.Lines(text) {
			if strings.Contains(line, "uses:") && !pinned.MatchString(strings.TrimSpace(line)) {
				t.Errorf("%s: want a commit and its version: %s", name, line)
			}
		}
		if got := at(flow, "permissions"); len(got.(object)) != 0 {
			t.Errorf("%s: permissions %v for every job, want none", name, got)
		}
		jobs, _ := at(flow, "jobs").(object)
		for job, v := range jobs {
			if at(v, "permissions") == nil || at(v, "timeout-minutes") == nil {
				t.Errorf("%s: the job %s needs permissions and a time", name, job)
			}
		}
		if strings.Contains(text, "pull_request_target") {
			t.Errorf("%s runs code of a pull request with the rights of the repository", name)
		}
		for _, script := range regexp.MustCompile(`(?:^|\s)((?:scripts|\.ci)/[a-z-]+)`).FindAllStringSubmatch(text, -1) {
			read(t, script[1])
		}
	}
}
