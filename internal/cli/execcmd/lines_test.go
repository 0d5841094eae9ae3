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

// outage is 90 s in which two calls wait, with another cause from the 50th second on. One call is lost.
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
	l.show(nil, held{calls: 2, lost: 1}, noon.Add(90*time.Second))
}

func TestLines_SayWhatChangesAndThatTheProgramLives(t *testing.T) {
	var out bytes.Buffer
	l := &lines{to: &out}
	l.show(nil, held{}, noon)
	outage(l)
	l.show(nil, held{calls: 2, lost: 1}, noon.Add(91*time.Second))
	l.show(map[int64]running.Wait{3: {Upstream: "x\n", OpensAt: noon.Add(3 * time.Hour), Cause: "usage limit\nreached"}}, held{calls: 2, lost: 1}, noon.Add(time.Hour))
	l.show(nil, held{calls: 3, lost: 2}, noon.Add(2*time.Hour))
	want := []string{
		"anthropic: server overloaded — retrying in 12s…",
		"anthropic: server overloaded — retrying in 12s… (2 calls), waiting for 30s",
		"anthropic: rate limit — retrying in 12s… (2 calls), waiting for 50s",
		"anthropic: rate limit — retrying in 12s… (2 calls), waiting for 1m20s",
		"anthropic answers again after 1m30s",
		"x: usage limit reached — opens again at " + noon.Add(3*time.Hour).Local().Format("15:04"),
		"1 call ended without an answer after 1h: usage limit reached",
		"",
	}
	got := strings.Split(strings.ReplaceAll("\n"+out.String(), "\nridethrough: ", "\n")[1:], "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
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
