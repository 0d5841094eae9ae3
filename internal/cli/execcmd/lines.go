package execcmd

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/internal/cli/configflags"
	"github.com/ridethrough/ridethrough/internal/cli/running"
	"github.com/ridethrough/ridethrough/internal/terminal/display"
	"github.com/ridethrough/ridethrough/internal/terminal/printable"
	"github.com/ridethrough/ridethrough/internal/text"
)

// lines reports waits on standard error where there is no terminal. CI systems end jobs that are silent.
type lines struct {
	to     io.Writer
	bounds map[string]time.Duration // the longest that a call may wait in all, by upstream; left out: unknown, or none
	past   []episode
	bound  time.Duration // that was said last
	limit  time.Duration // how long a call should wait at most in this job; 0: the gateway keeps to it, or there is no job

	episode                      // while calls wait
	last    time.Time            // when the last line was written
	said    map[string]time.Time // when each cause was written last
	until   held                 // the calls that had waited before
}

// episode is a period in which calls wait without a break.
type episode struct {
	began    time.Time
	upstream string
	cause    string // the last one; "": nothing waits
	lasted   time.Duration
	held     held
}

// A cause is said again after lineEvery, and in an episode that has lasted for longWait after longEvery.
const (
	lineEvery = 30 * time.Second
	longWait  = 5 * time.Minute
	longEvery = 5 * time.Minute
)

// show writes a line at the first wait, at each other cause, from time to time, and at the end.
func (l *lines) show(waits map[int64]running.Wait, over held, now time.Time) {
	if len(waits) == 0 {
		l.over(over, now)
		return
	}
	first := running.Soonest(slices.Collect(maps.Values(waits)))
	first.Upstream, first.Cause = printable.Line(first.Upstream), printable.Line(cause(first))
	if l.cause == "" {
		l.began, l.until, l.said = now, over, map[string]time.Time{}
	}
	what, every := first.Upstream+": "+first.Cause, lineEvery
	if l.last.Sub(l.began).Round(time.Second) >= longWait {
		every = longEvery
	}
	if said, known := l.said[what]; known && now.Sub(said).Round(time.Second) < every {
		return // calls with several causes take turns
	}
	l.upstream, l.cause, l.last, l.said[what] = first.Upstream, first.Cause, now, now
	line := first.Upstream + ": " + title(first, len(waits), now)
	if waited := now.Sub(l.began).Round(time.Second); waited > 0 {
		line += ", waiting for " + display.Duration(waited.Truncate(text.Unit(waited)))
	}
	if bound := l.bounds[first.Upstream]; bound > 0 && bound != l.bound && first.OpensAt.IsZero() {
		l.bound = bound
		line += "; a call waits for at most " + display.Duration(bound)
		flag := "--max-wait"
		if l.limit > 0 && bound > l.limit {
			line, flag = line+" at this gateway, and the job may end before that", "exec --max-wait "+configflags.Duration(l.limit)
		}
		line += " (" + flag + ")"
	}
	l.say(line)
}

func (l *lines) over(over held, now time.Time) {
	if l.cause == "" {
		return
	}
	l.held = over.since(l.until)
	l.end(now)
	e := l.past[len(l.past)-1]
	after, lost := " after "+display.Duration(max(time.Second, e.lasted)), text.Count(e.held.lost, "call", "calls")+" ended without an answer"
	if e.held.tries > 0 {
		after += " and " + text.Count(e.held.tries, "failed try", "failed tries")
	}
	switch {
	case e.held.lost == 0:
		l.say(e.upstream + " answers again" + after)
	case e.held.lost < e.held.calls:
		l.say(e.upstream + " answers again" + after + "; " + lost)
	default:
		l.say(lost + after + ": " + e.upstream + ": " + e.cause)
	}
}

// end records the episode that is over, or that still lasts as its program ends.
func (l *lines) end(now time.Time) {
	if l.cause != "" {
		l.lasted = now.Sub(l.began)
		l.past, l.episode = append(l.past, l.episode), episode{}
	}
}

func (l *lines) say(line string) { fmt.Fprintln(l.to, "ridethrough: "+line) }

// job is the CI job in which a program runs; zero: none.
type job struct {
	limit   time.Duration // the longest that a call may wait
	summary string        // the file to which the job's summary is added; "": none
	section bool          // its log has sections that can be folded, as GitLab's has
}

const (
	jobWait    = 45 * time.Minute // where the system does not say when it ends a job; many do after an hour
	jobReserve = 10               // a tenth of what is left stays for what follows a wait
)

// ciVariables are set in jobs of CI systems that may not set CI.
var ciVariables = []string{"GITHUB_ACTIONS", "GITLAB_CI", "CIRCLECI", "JENKINS_URL", "BUILDKITE", "TF_BUILD", "TEAMCITY_VERSION", "CODEBUILD_BUILD_ID", "BITBUCKET_BUILD_NUMBER"}

func jobOf(env func(string) string, now time.Time) job {
	ci := env("CI")
	set := ci != "" && ci != "0" && !strings.EqualFold(ci, "false")
	if !set && !slices.ContainsFunc(ciVariables, func(name string) bool { return env(name) != "" }) {
		return job{}
	}
	j := job{limit: jobWait, summary: env("GITHUB_STEP_SUMMARY"), section: env("GITLAB_CI") != ""}
	seconds, err := strconv.Atoi(env("CI_JOB_TIMEOUT")) // GitLab's
	began, other := time.Parse(time.RFC3339, env("CI_JOB_STARTED_AT"))
	if err == nil && other == nil && seconds > 0 {
		left := began.Add(time.Duration(seconds) * time.Second).Sub(now)
		j.limit = max(time.Second, (left - left/jobReserve).Truncate(time.Second))
	}
	return j
}

// summarize adds the waits to the job's summary, or to its log as a section. It ignores a summary that cannot be
// written: the program's result counts.
func (j job) summarize(l *lines, said string) {
	if len(l.past) == 0 {
		return
	}
	if j.section {
		now := time.Now().Unix()
		fmt.Fprintf(l.to, "\x1b[0Ksection_start:%d:ridethrough[collapsed=true]\r\x1b[0KWhat ridethrough waited for\n%s\x1b[0Ksection_end:%d:ridethrough\r\x1b[0K\n", now, table(l.past), now)
	}
	if j.summary == "" {
		return
	}
	file, err := os.OpenFile(j.summary, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return
	}
	_, _ = fmt.Fprintf(file, "### ridethrough\n\n%s\n\n%s\n", said, table(l.past))
	_ = file.Close()
}

func table(past []episode) string {
	var b strings.Builder
	b.WriteString("| since | for | provider | cause | calls | lost |\n|---|---|---|---|---|---|\n")
	for _, e := range past {
		calls := max(1, e.held.calls)
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %d | %d |\n", e.began.UTC().Format("15:04:05 UTC"), display.Duration(max(time.Second, e.lasted)),
			cell(e.upstream), cell(e.cause), calls, e.held.lost)
	}
	return b.String()
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
