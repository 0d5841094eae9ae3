package cli_test

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestPolicyShow_TimelineAndEnd(t *testing.T) {
	code, out, errs := run(t, nil, "policy", "show", "simple", "--now", "2026-11-02T21:00:00Z")
	want := `simple: 3 retries, 7s of waiting

retry       wait       total  clock
    1         1s          1s  21:00:01  ████████
    2         2s          3s  21:00:03  ████████████████
    3         4s          7s  21:00:07  ████████████████████████████████

It gives up when retry 3 fails, 7s after the first try: that is its last retry. It ends at a failure without a name, and at a 409.
`
	if code != 0 || errs != "" || out != want {
		t.Errorf("code %d, %s\n%s", code, errs, out)
	}
	_, out, _ = run(t, []string{"LC_ALL=C"}, "policy", "show", "worker", "--retries", "2", "--now", "2026-11-02T21:00:00Z")
	for _, want := range []string{"    1         3s          3s  21:00:03  3s to 3.3s           ###################\n", "... and 8 more\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	for i, r := range out {
		if r > '~' {
			t.Fatalf("%q is no letter of ASCII's, at %d", r, i)
		}
	}
}

func TestPolicyShow_EndOfEachPolicy(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct{ name, file, want string }{
		{"patient", "", "another wait of 30m would exceed its total of 8h."},
		{"patient", "", "It retries failures without a name, too: for as long, but a 409 only twice."},
		{"worker", "", "It ends at a failure without a name, and at a 409."},
		{"council", "", "It gives up when retry 1 fails, 1.5s after the first try: that is its last retry."},
		{"none", "", "It gives up at the first failure."},
		{"codex", "", "codex: 29 retries, 24.2s of waiting"},
		{"", "backoff: [10s]\ndeadline: 1m", "another one would exceed its deadline of 1m."},
		{"", "backoff: [10s]", "It never gives up."},
		{"", "backoff: [10s]\nretry-on: [quota]", "It gives up at once (final): it only retries faults with a stated reset time."},
	} {
		if tt.file != "" {
			tt.name = write(t, dir, "p.yaml", tt.file)
		}
		if code, out, errs := run(t, nil, "policy", "show", tt.name); code != 0 || !strings.Contains(out, tt.want) {
			t.Errorf("%s%s: code %d, %s\n%s", tt.name, tt.file, code, errs, out)
		}
	}
}

func TestPolicyShow_JSON(t *testing.T) {
	_, out, _ := run(t, nil, "policy", "show", "simple", "--json", "--now", "2026-11-02T21:00:00Z")
	want := `{"policy":"simple","retries":[` +
		`{"retry":1,"waitMs":1000,"leastMs":1000,"mostMs":1000,"atMs":1000,"at":"2026-11-02T21:00:01Z"},` +
		`{"retry":2,"waitMs":2000,"leastMs":2000,"mostMs":2000,"atMs":3000,"at":"2026-11-02T21:00:03Z"},` +
		`{"retry":3,"waitMs":4000,"leastMs":4000,"mostMs":4000,"atMs":7000,"at":"2026-11-02T21:00:07Z"}],` +
		`"count":3,"totalMs":7000,"stop":"exhausted","unnamed":false}` + "\n"
	if out != want {
		t.Errorf("got\n%s\nwant\n%s", out, want)
	}
	_, out, _ = run(t, nil, "policy", "show", write(t, t.TempDir(), "p.yaml", "backoff: [10s]"), "--json")
	var endless struct {
		Retries []any
		Count   *int
	}
	if err := json.Unmarshal([]byte(out), &endless); err != nil || endless.Count != nil || len(endless.Retries) != 100 {
		t.Errorf("without end: %v, %v, %d", err, endless.Count, len(endless.Retries))
	}
}

func TestPolicyList_IncludesConfiguration(t *testing.T) {
	file := write(t, t.TempDir(), "c.yaml", "policy: mine\npolicies:\n  mine: {backoff: [2s], retries: 4}\n")
	code, out, errs := run(t, []string{"RIDETHROUGH_CONFIG=" + file}, "policy", "list")
	for _, want := range []string{
		"patient      21 retries, 7h31m45s of waiting\n", "council      1 retry, 1.5s of waiting\n",
		"none         never retries\n", "mine         4 retries, 8s of waiting\n",
	} {
		if code != 0 || errs != "" || !strings.Contains(out, want) {
			t.Errorf("code %d, %s, no %q in\n%s", code, errs, want, out)
		}
	}
}

func TestPolicyCheck_ReportsEveryMistakeWithItsLine(t *testing.T) {
	dir := t.TempDir()
	wrong := write(t, dir, "wrong.yaml", "preset: patient\nbackof: [5s]\nretries: x\n")
	code, out, errs := run(t, nil, "policy", "check", wrong)
	want := "ridethrough: 2 mistakes in the policy\n" +
		wrong + ":2:1: unknown field \"backof\"; did you mean backoff?\n    2 | backof: [5s]\n      | ^\n" +
		wrong + ":3:10: \"x\"; want a number from 0, or unlimited\n    3 | retries: x\n      |          ^\n"
	if code != 78 || out != "" || errs != want {
		t.Errorf("code %d, %s\n%s", code, out, errs)
	}
	right := write(t, dir, "right.yaml", "backoff: [5s]")
	code, out, errs = run(t, nil, "policy", "check", right)
	if want := right + ": warning: this policy never gives up; set retries, max-total-wait or deadline\n" + right + " is valid: retries forever\n"; code != 0 || errs != "" || out != want {
		t.Errorf("code %d, %s\n%s", code, errs, out)
	}
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"policy", "check", dir + "/nope.yaml"}, 78, "no such file"},
		{[]string{"policy", "show", "patent"}, 2, `unknown policy "patent"; want patient, `},
		{[]string{"policy", "show", "patient", "--retries", "0"}, 2, "--retries 0: want a number from 1"},
		{[]string{"policy", "show", "patient", "--now", "noon"}, 2, `--now "noon": want a time such as`},
	} {
		if code, _, errs := run(t, nil, tt.args...); code != tt.code || !strings.Contains(errs, tt.want) {
			t.Errorf("%q: code %d, %s", tt.args, code, errs)
		}
	}
}

func TestPolicyShow_ReasonForNoRetry(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"backoff: [10m]\ndeadline: 5m", "never retries\n\nIt gives up at the first failure: its first wait of 10m is longer than its limit of 5m. It ends at a failure without a name, and at a 409.\n"},
		{"backoff: [10m]\nmax-total-wait: 5m\ndeadline: 1h", "never retries\n\nIt gives up at the first failure: its first wait of 10m is longer than its limit of 5m. It ends at a failure without a name, and at a 409.\n"},
		{"backoff: [1s]\ndeadline: 5m\nmin-remaining: 10m", "never retries\n\nIt gives up at the first failure: a retry needs more than 10m of the deadline of 5m. It ends at a failure without a name, and at a 409.\n"},
		{"backoff: [1s]\nretries: 0", "never retries\n\nIt gives up at the first failure. It ends at a failure without a name, and at a 409.\n"},
	} {
		file := write(t, t.TempDir(), "p.yaml", tt.text)
		if code, out, errs := run(t, nil, "policy", "show", file); code != 0 || out != file+": "+tt.want {
			t.Errorf("%q: code %d, %s\n%s", tt.text, code, errs, out)
		}
		if code, out, _ := run(t, nil, "policy", "check", file); code != 0 || !strings.Contains(out, "warning: this policy never retries") {
			t.Errorf("%q: code %d\n%s", tt.text, code, out)
		}
	}
}
