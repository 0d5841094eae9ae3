package execcmd

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/internal/cli/running"
)

// outage is 90 s in which two calls wait, with another cause from the 50th second on. One call is lost. 9 tries fail.
func outage(l *lines) {
	for second := range 90 {
		one := running.Wait{ID: 1, Upstream: "anthropic", Cause: "server overloaded", RemainingMs: 12_000, Heard: noon}
		if second >= 50 {
			one.Cause = "rate limit"
		}
		one.Heard = noon.Add(time.Duration(second) * time.Second)
		waits := map[int64]running.Wait{1: one}
		if second >= 10 {
			waits[2] = one
		}
		l.show(waits, held{}, one.Heard)
	}
	l.show(nil, held{calls: 2, lost: 1, tries: 9}, noon.Add(90*time.Second))
}

func TestLines_SayWhatChangesAndThatTheProgramLives(t *testing.T) {
	var out bytes.Buffer
	l := &lines{to: &out, bounds: map[string]time.Duration{"anthropic": 45 * time.Minute, "x": time.Hour}}
	l.show(nil, held{}, noon)
	outage(l)
	before := held{calls: 2, lost: 1, tries: 9}
	l.show(nil, before, noon.Add(91*time.Second))
	l.show(map[int64]running.Wait{3: {Upstream: "x\n", OpensAt: noon.Add(3 * time.Hour), Cause: "usage limit\nreached"}}, before, noon.Add(time.Hour))
	l.show(nil, held{calls: 3, lost: 2, tries: 10}, noon.Add(2*time.Hour))
	last := running.Wait{Upstream: "anthropic", Cause: "server overloaded", RemainingMs: 5_000, Heard: noon.Add(3 * time.Hour)}
	l.show(map[int64]running.Wait{4: last}, held{calls: 3, lost: 2, tries: 10}, last.Heard)
	l.show(nil, held{calls: 4, lost: 2, tries: 10}, last.Heard.Add(time.Second))
	want := []string{
		"anthropic: server overloaded — retrying in 12s…; a call waits for at most 45m (--max-wait)",
		"anthropic: server overloaded — retrying in 12s… (2 calls), waiting for 30s",
		"anthropic: rate limit — retrying in 12s… (2 calls), waiting for 50s",
		"anthropic: rate limit — retrying in 12s… (2 calls), waiting for 1m20s",
		"anthropic answers again after 1m30s and 9 failed tries; 1 call ended without an answer",
		"x: usage limit reached — opens again at " + noon.Add(3*time.Hour).Local().Format("15:04"),
		"1 call ended without an answer after 1h and 1 failed try: x: usage limit reached",
		"anthropic: server overloaded — retrying in 5s…",
		"anthropic answers again after 1s",
		"",
	}
	got := strings.Split(strings.ReplaceAll("\n"+out.String(), "\nridethrough: ", "\n")[1:], "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestLines_SayThatAGatewayWaitsForLongerThanTheJobMayLast(t *testing.T) {
	for _, c := range []struct {
		bound, limit time.Duration
		want         string
	}{
		{8 * time.Hour, 45 * time.Minute, "a call waits for at most 8h at this gateway, and the job may end before that (exec --max-wait 45m)"},
		{30 * time.Minute, 45 * time.Minute, "a call waits for at most 30m (--max-wait)"},
		{8 * time.Hour, 0, "a call waits for at most 8h (--max-wait)"},
	} {
		var out bytes.Buffer
		l := &lines{to: &out, bounds: map[string]time.Duration{"anthropic": c.bound}, limit: c.limit}
		l.show(map[int64]running.Wait{1: {Upstream: "anthropic", Cause: "server overloaded", RemainingMs: 1_000, Heard: noon}}, held{}, noon)
		if want := "ridethrough: anthropic: server overloaded — retrying in 1s…; " + c.want + "\n"; out.String() != want {
			t.Errorf("a bound of %s in a job of %s: wrote %q, want %q", c.bound, c.limit, out.String(), want)
		}
	}
}

// Two calls wait for different upstreams, each of which is due first in turn. The clock's ticks come a little early or
// late.
func TestLines_BecomeRarerAndEachCauseIsSaidOnceInATime(t *testing.T) {
	var out bytes.Buffer
	l := &lines{to: &out}
	var last string
	began := map[string][]string{}
	for second := range 20 * 60 {
		now := noon.Add(time.Duration(second)*time.Second + time.Duration(second%7-3)*time.Millisecond)
		one := running.Wait{Upstream: []string{"anthropic", "openai"}[second%2], Cause: "server overloaded", RemainingMs: 1_000, Heard: now}
		out.Reset()
		if l.show(map[int64]running.Wait{1: one}, held{}, now); out.Len() > 0 {
			last = strings.TrimSpace(out.String())
			began[one.Upstream] = append(began[one.Upstream], now.Sub(noon).Round(time.Second).String())
		}
	}
	want := map[string][]string{
		"anthropic": {"0s", "30s", "1m0s", "1m30s", "2m0s", "2m30s", "3m0s", "3m30s", "4m0s", "4m30s", "5m0s", "10m0s", "15m0s"},
		"openai":    {"1s", "31s", "1m1s", "1m31s", "2m1s", "2m31s", "3m1s", "3m31s", "4m1s", "4m31s", "9m31s", "14m31s", "19m31s"},
	}
	if diff := cmp.Diff(want, began); diff != "" {
		t.Errorf("when lines are written (-want +got):\n%s", diff)
	}
	if want := "ridethrough: openai: server overloaded — retrying in 1s…, waiting for 19m"; last != want {
		t.Errorf("the last line is %q, want %q", last, want)
	}
}

func TestJob_SystemsOfCI(t *testing.T) {
	started := noon.Add(-20 * time.Minute).Format(time.RFC3339)
	for _, c := range []struct {
		name string
		env  map[string]string
		want job
	}{
		{"none", nil, job{}},
		{"none, said so", map[string]string{"CI": "false"}, job{}},
		{"any", map[string]string{"CI": "true"}, job{limit: jobWait}},
		{"Jenkins", map[string]string{"JENKINS_URL": "https://ci.example"}, job{limit: jobWait}},
		{"GitHub", map[string]string{"CI": "true", "GITHUB_STEP_SUMMARY": "/tmp/s"}, job{limit: jobWait, summary: "/tmp/s"}},
		{"GitLab", map[string]string{"GITLAB_CI": "true", "CI_JOB_TIMEOUT": "3600", "CI_JOB_STARTED_AT": started}, job{limit: 36 * time.Minute, section: true}},
		{"GitLab, of another clock", map[string]string{"GITLAB_CI": "true", "CI_JOB_TIMEOUT": "60", "CI_JOB_STARTED_AT": started}, job{limit: time.Second, section: true}},
		{"GitLab, unreadable", map[string]string{"GITLAB_CI": "true", "CI_JOB_TIMEOUT": "1h", "CI_JOB_STARTED_AT": started}, job{limit: jobWait, section: true}},
	} {
		if diff := cmp.Diff(c.want, jobOf(variables(c.env), noon), cmp.AllowUnexported(job{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestJob_SummaryIsATable(t *testing.T) {
	var log bytes.Buffer
	file := filepath.Join(t.TempDir(), "summary")
	l := &lines{to: &log}
	j := job{summary: file, section: true}
	j.summarize(l, "")
	if _, err := os.Stat(file); err == nil || log.Len() > 0 {
		t.Errorf("nothing was waited for: wrote a summary or %q", log.String())
	}
	outage(l)
	log.Reset()
	j.summarize(l, "held 2 calls, 1m30s; 1 lost")
	table := "| since | for | provider | cause | calls | lost |\n|---|---|---|---|---|---|\n| 12:00:00 UTC | 1m30s | anthropic | rate limit | 2 | 1 |\n"
	got, err := os.ReadFile(file)
	if want := "### ridethrough\n\nheld 2 calls, 1m30s; 1 lost\n\n" + table + "\n"; err != nil || string(got) != want {
		t.Errorf("summary %q, %v; want %q", got, err, want)
	}
	if text := log.String(); !strings.HasPrefix(text, "\x1b[0Ksection_start:") || !strings.Contains(text, table) || !strings.Contains(text, "section_end:") {
		t.Errorf("log %q, want a section with the table", text)
	}
}
