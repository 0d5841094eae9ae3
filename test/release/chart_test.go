package release_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const chart = "charts/ridethrough/"

// templates returns the text of all templates of the chart.
func templates(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob(root + chart + "templates/*")
	if err != nil || len(files) == 0 {
		t.Fatalf("templates of the chart: %q, %v", files, err)
	}
	var all strings.Builder
	for _, file := range files {
		all.WriteString(read(t, strings.TrimPrefix(filepath.ToSlash(file), root)))
	}
	return all.String()
}

func TestChart_UsesTheValuesThatThereAre(t *testing.T) {
	values, text := parse[object](t, chart+"values.yaml"), templates(t)
	for _, path := range regexp.MustCompile(`\.Values((?:\.[A-Za-z]+)+)`).FindAllStringSubmatch(text, -1) {
		var v any = values
		for _, key := range strings.Split(path[1][1:], ".") {
			m, _ := v.(object)
			next, ok := m[key]
			if !ok {
				t.Errorf("a template uses .Values%s, and values.yaml has none", path[1])
			}
			v = next
		}
	}
	var walk func(path string, m object)
	walk = func(path string, m object) {
		for key, v := range m {
			// A template reads a value by its path, or by its name below one that it has entered.
			if !regexp.MustCompile(`\.`+key+`\b`).MatchString(text) && !strings.Contains(text, "toYaml .Values"+path) {
				t.Errorf("values.yaml has %s.%s, which no template uses", path, key)
			}
			if below, ok := v.(object); ok && key != "resources" && key != "labels" {
				walk(path+"."+key, below)
			}
		}
	}
	walk("", values)
}

// TestChart_QuotesTexts is about texts that YAML takes for something else: n, 1, on.
func TestChart_QuotesTexts(t *testing.T) {
	text := templates(t)
	texts := regexp.MustCompile(`\b(name|key|path|secretName|host|claimName|[a-zA-Z]+ClassName|storage|interval|type|imagePullPolicy): \{\{ ([^{}]*) \}\}`)
	found := texts.FindAllStringSubmatch(text, -1)
	if len(found) < 10 {
		t.Errorf("%d texts of values in the templates, want the test to find more", len(found))
	}
	for _, is := range found {
		if !strings.Contains(is[2], "quote") && !strings.HasPrefix(is[2], "include ") && is[2] != ".Chart.Name" {
			t.Errorf("not quoted: %s", is[0])
		}
	}
}

// TestChart_HasTheNATSThatIsTested is about servers of the chart: the tests run those of the module.
func TestChart_HasTheNATSThatIsTested(t *testing.T) {
	_, after, ok := strings.Cut(read(t, "go.mod"), "github.com/nats-io/nats-server/v2 v")
	if !ok {
		t.Fatal("go.mod has no version of nats-server")
	}
	version, _, _ := strings.Cut(after, "\n")
	values := parse[object](t, chart+"values.yaml")
	nats, _ := values["nats"].(object)
	servers, _ := nats["servers"].(object)
	if want := "nats:" + strings.Fields(version)[0] + "-alpine"; servers["image"] != want {
		t.Errorf("nats.servers.image: got %v, want %s as in go.mod", servers["image"], want)
	}
}

func TestChart_FitsTheProgram(t *testing.T) {
	text, values := templates(t), parse[object](t, chart+"values.yaml")
	variables(t, "the chart", text+read(t, chart+"values.yaml"))
	for _, want := range []string{"containerPort: " + port(t), "runAsUser: " + strings.Split(instructions(t)["USER"][0], ":")[0], "mountPath: /data}", "mountPath: /etc/ridethrough,"} {
		if !strings.Contains(text, want) {
			t.Errorf("no template has %q, as the image and the program have it", want)
		}
	}
	base := serve(t)
	for _, path := range regexp.MustCompile(`path: (/-/\w+)`).FindAllStringSubmatch(text, -1) {
		answer, err := http.Get(base + path[1])
		if err != nil {
			t.Fatalf("GET %s: %v", path[1], err)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			t.Errorf("a template asks %s, which the gateway answers with %d", path[1], answer.StatusCode)
		}
	}
	// preStop, then what systemd grants too, then the kill.
	var stop uint64
	if _, after, ok := strings.Cut(read(t, "packaging/ridethrough.service"), "TimeoutStopSec="); !ok {
		t.Error("the unit has no TimeoutStopSec")
	} else if _, err := fmt.Sscan(after, &stop); err != nil {
		t.Errorf("TimeoutStopSec of the unit: %v", err)
	}
	drain, _ := values["drainSeconds"].(uint64)
	if end, _ := values["terminationGracePeriodSeconds"].(uint64); end < drain+stop {
		t.Errorf("a pod has %d s to end, of which %d before it is told; a stop may take %d", end, drain, stop)
	}
	for file, want := range map[string]string{
		chart + "templates/_helpers.tpl": fmt.Sprintf(`(add (int .Values.drainSeconds) %d)`, stop),
		"deploy/compose/compose.yaml":    fmt.Sprintf("stop_grace_period: %ds", stop),
	} {
		if !strings.Contains(read(t, file), want) {
			t.Errorf("%s has no %q, as the unit has", file, want)
		}
	}
}
