package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/internal/operation/config"
)

const someRows = `# mine
- kind: invalid
  provider: relay
  status: 503
  code: 1113
  type: server_error
  text: model * is not placed
  retry-after: 30s
  note: they say so
- {kind: overloaded, text: come back}
`

func TestParseFaults_ReadsRows(t *testing.T) {
	rows, err := config.ParseFaults("/etc/faults.yaml", []byte(someRows))
	want := []classify.Row{
		{
			Provider: "relay", Status: 503, Code: "1113", Type: "server_error", Text: "model * is not placed",
			Kind: fault.Invalid, Wait: 30 * time.Second, Rule: "faults.yaml:2", Note: "they say so",
		},
		{Text: "come back", Kind: fault.Overloaded, Rule: "faults.yaml:10"},
	}
	if diff := cmp.Diff(want, rows); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, empty := range []string{"", "# nothing\n", "---\n"} {
		if rows, err := config.ParseFaults("f", []byte(empty)); len(rows) > 0 || err != nil {
			t.Errorf("%q: %v, %v, want no rows", empty, rows, err)
		}
	}
}

func TestParseFaults_RefusesRows(t *testing.T) {
	for _, tt := range []struct{ text, says string }{
		{"- {status: 503}", "a row needs the field kind"},
		{"- {kind: invalid}", "needs a status, a code, a type or a text"},
		{"- {kind: invalid, provider: relay}", "needs a status, a code, a type or a text"},
		{"- {kind: invalid, status: 200}", "status 200 is that of answers"},
		{"- {kind: invalid, status: 200, text: hello there}", "status 200 is that of answers"},
		{"- {kind: canceled, status: 503}", "want a kind of fault"},
		{"- {kind: transient, status: 503}", "want a kind of fault"},
		{"- {kind: invalid, status: 42}", "want an HTTP status"},
		{`- {kind: invalid, text: "* *"}`, "want some words"},
		{"- {kind: invalid, status: 503, retry-after: -1s}", "want a time above zero"},
		{"- {kind: invalid, staus: 503}", `unknown field "staus"; did you mean status?`},
		{"rows: []", "want a list of rows"},
	} {
		rows, err := config.ParseFaults("faults.yaml", []byte(tt.text))
		if err == nil || !strings.Contains(err.Error(), tt.says) || !strings.HasPrefix(err.Error(), "faults.yaml:1:") {
			t.Errorf("%s: %v, %v, want an error with its place that says %q", tt.text, rows, err, tt.says)
		}
	}
}

func TestFaultsFile_FollowsTheFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "faults.yaml")
	f := config.OpenFaults(path, false, func(int, string) {})
	try := classify.Response(503, nil, []byte("come back when we are done"), time.Now())
	judged := func() string {
		r, ok := f.Judge(try)
		if !ok {
			return "nothing"
		}
		return r.Kind.String() + " by " + r.Rule
	}
	put := func(text string) {
		t.Helper()
		if err := os.Rename(write(t, dir, "new", text), path); err != nil {
			t.Fatalf("rename: %v", err)
		}
	}
	check := func(when, want string, warnings int) {
		t.Helper()
		if got := judged(); got != want || len(f.Warnings()) != warnings {
			t.Errorf("%s: %s, warnings %q, want %s and %d", when, got, f.Warnings(), want, warnings)
		}
	}
	check("without a file", "nothing", 0)
	put(someRows)
	check("with rows", "overloaded by faults.yaml:10", 0)
	put("- kind: nonsense")
	check("with a mistake", "overloaded by faults.yaml:10", 1)
	put("- {kind: quota, text: come back}")
	check("with others", "quota by faults.yaml:1", 0)
	f.Follow(filepath.Join(dir, "elsewhere.yaml"), true)
	check("with a named file that is missing", "quota by faults.yaml:1", 1)
	f.Follow(path, false)
	check("with the former again", "quota by faults.yaml:1", 0)
	if err := os.Remove(path); err != nil {
		t.Fatalf("remove: %v", err)
	}
	check("once it is deleted", "nothing", 0)
}

func FuzzParseFaults(f *testing.F) {
	f.Add([]byte(someRows))
	f.Add([]byte("- {kind: invalid, status: 200}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		rows, err := config.ParseFaults("f.yaml", text)
		if err != nil {
			return
		}
		judge := classify.Rows(rows)
		for _, e := range []classify.Evidence{
			classify.Response(503, nil, text, time.Time{}), classify.Event(text, time.Time{}), classify.Response(200, nil, nil, time.Time{}),
		} {
			if r, ok := judge(e); ok && (r.Kind >= fault.Canceled || r.Rule == "" || len(e.Body) == 0) {
				t.Errorf("%s: %+v", text, r)
			}
		}
	})
}
