package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/internal/cli"
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/lab"
	"github.com/ridethrough/ridethrough/internal/operation/config"
)

const blip = `lasts: 20m
callers: {number: 30, every: 1m}
outages: [{kind: total, from: 5m, for: 2m, status: 503}]
`

func TestLab_FileWithSeveralPolicies(t *testing.T) {
	dir := t.TempDir()
	file := write(t, dir, "blip.yaml", blip)
	own := write(t, dir, "own.yaml", "backoff: [1s]\nretries: 300\n")
	picture := filepath.Join(dir, "blip.svg")
	args := []string{"lab", file, "--policy", "patient+breaker", "--policy", "codex", "--policy", own + "+breaker", "--svg", picture}
	code, out, errs := run(t, nil, args...)
	for _, want := range []string{
		"blip\n30 callers, a call every 1m each, for 20m; seed 1\n",
		"requests  in vain  peak/s  last\n",
		"patient+breaker   ", "codex   ", "own+breaker   ",
		"last      from the recovery to the last answer to a call that had waited for it\n",
		"requests per minute; each line is scaled to its maximum",
	} {
		if code != 0 || errs != "" || !strings.Contains(out, want) {
			t.Errorf("code %d, %s, no %q in\n%s", code, errs, want, out)
		}
	}
	if svg, err := os.ReadFile(picture); err != nil || !strings.HasPrefix(string(svg), "<svg ") {
		t.Errorf("the picture is %.40q, %v", svg, err)
	}
	if _, again, _ := run(t, nil, args...); again != out {
		t.Error("the second simulation says something else")
	}
	if _, other, _ := run(t, nil, append(args, "--seed", "5")...); other == out {
		t.Error("another seed says the same")
	}
	if _, zero, _ := run(t, nil, append(args, "--seed", "0")...); !strings.Contains(zero, "; seed 0\n") {
		t.Error("seed 0 is another")
	}
	_, ascii, _ := run(t, []string{"LANG=C"}, args...)
	if i := strings.IndexFunc(ascii, func(r rune) bool { return r > '~' }); i >= 0 {
		t.Errorf("no letters of ASCII's: %.30q", ascii[i:])
	}
}

func TestLab_PoliciesAreInColumns(t *testing.T) {
	_, out, _ := run(t, nil, "lab", "--policies")
	column, rows := 0, 0
	for line := range strings.Lines(out) {
		name, rest, _ := strings.Cut(line, " ")
		if name == "" {
			continue // about the policy above
		}
		at := len(line) - len(strings.TrimLeft(rest, " "))
		if column == 0 {
			column = at
		}
		if rows++; at != column || !strings.HasPrefix(rest, " ") {
			t.Errorf("the title of %s is in column %d, want %d after two spaces", name, at, column)
		}
	}
	if want := len(lab.All()); rows != want {
		t.Errorf("%d policies, want %d", rows, want)
	}
}

func TestLab_JSON(t *testing.T) {
	_, out, errs := run(t, nil, "lab", write(t, t.TempDir(), "blip.yaml", blip), "--policy", "simple", "--callers", "7", "--json")
	var report struct {
		Scenario   string
		Callers    int
		RecoveryMs int
		Results    []struct {
			Policy             string
			Calls, Answered    int
			Requests           int
			RequestsPerMinute  []int
			LastAnswerMs       *int
			MedianWaitMs, Left int
		}
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatalf("unmarshal report: %v\n%s", err, errs)
	}
	if report.Scenario != "blip" || report.Callers != 7 || report.RecoveryMs != 420_000 || len(report.Results) != 1 {
		t.Fatalf("report: got %+v, want one result of blip with 7 callers and 420000 ms until it is over", report)
	}
	sum := 0
	for _, n := range report.Results[0].RequestsPerMinute {
		sum += n
	}
	if r := report.Results[0]; r.Policy != "simple" || sum != r.Requests || r.Answered > r.Calls || r.Answered == 0 {
		t.Errorf("%d requests in the minutes; %+v", sum, r)
	}
}

func TestLab_ListsAndSources(t *testing.T) {
	_, out, _ := run(t, nil, "lab", "--list")
	for _, s := range lab.Gallery() {
		if !strings.Contains(out, s.Name) || !strings.Contains(out, s.Title) {
			t.Errorf("no %s in\n%s", s.Name, out)
		}
	}
	_, out, _ = run(t, nil, "lab", "--policies")
	for _, s := range lab.All() {
		if !strings.Contains(out, "\n"+s.Name+" ") && !strings.HasPrefix(out, s.Name+" ") || s.Doubt != "" && !strings.Contains(out, "not verified: "+s.Doubt[:20]) {
			t.Errorf("no %s in\n%s", s.Name, out)
		}
	}
	if _, out, _ = run(t, nil, "lab", "--schema"); out != string(config.ScenarioSchema()) {
		t.Error("the schema is another")
	}
	if _, out, _ = run(t, nil, "lab", "--show", "four-hours-529"); out != lab.ScenarioFile("four-hours-529") {
		t.Error("the file is another")
	}
}

func TestLab_BadScenario(t *testing.T) {
	dir := t.TempDir()
	wrong := write(t, dir, "wrong.yaml", strings.Replace(blip, "total", "totally", 1))
	unknown := write(t, dir, "unknown.yaml", blip+"policies: [patent]\n")
	file := write(t, dir, "blip.yaml", blip)
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"lab"}, 2, "name a scenario from the gallery (--list), or a file"},
		{[]string{"lab", "nope"}, 2, `unknown scenario "nope", and no such file; the gallery has four-hours-529, `},
		{[]string{"lab", wrong}, 78, `wrong.yaml:3:18: "totally"; want a kind of outage: total, `},
		{[]string{"lab", unknown}, 78, `unknown: unknown policy "patent"; want one of patient+breaker, `},
		{[]string{"lab", file, "--policy", "patent"}, 2, `unknown policy "patent", and no such file; want one of patient+breaker, `},
		{[]string{"lab", file, "--policy", wrong}, 78, "4 mistakes in the policy\n"},
		{[]string{"lab", file, "--callers", "20001"}, 2, "--callers 20001: 20001 callers are more than the limit of 20000"},
		{[]string{"lab", file, "--callers", "0"}, 2, "--callers 0: want a number from 1"},
		{[]string{"lab", file, "--callers", "-1"}, 2, "--callers -1: want a number from 1"},
		{[]string{"lab", file, "--policy", "codex+breaker"}, 2, "codex is the policy of another program, without a circuit breaker; leave +breaker out"},
		{[]string{"lab", file, "--policy", "simple+admission"}, 2, "--policy simple+admission: want simple+breaker+admission: "},
		{[]string{"lab", file, "--list"}, 2, file + " and --list cannot be combined"},
		{[]string{"lab", "--show", "nope"}, 2, "--show nope: the gallery has four-hours-529, "},
		{[]string{"lab", file, "--policy", "simple", "--svg", dir + "/no/x.svg"}, 1, "no such file"},
	} {
		if code, out, errs := run(t, nil, tt.args...); code != tt.code || out != "" || !strings.Contains(errs, tt.want) {
			t.Errorf("%q: code %d, %s%s", tt.args, code, out, errs)
		}
	}
}

func TestLab_Interrupt(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(context.Canceled)
	var out, errs bytes.Buffer
	code := cli.Run(ctx, []string{"lab", "four-hours-529", "--callers", "20000"}, command.Streams{Out: &out, Err: &errs, Env: lookup(nil)})
	if code == 0 || out.Len() > 0 {
		t.Errorf("code %d\n%s", code, out.String())
	}
}
