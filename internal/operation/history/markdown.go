package history

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// Markdown returns a report of the incident and its course, to be put into an issue or a page. Times are in UTC.
func (in Incident) Markdown(c Course, now time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Incident at %s\n\n", in.Upstream)
	for _, f := range in.facts(now) {
		fmt.Fprintf(&b, "- **%s:** %s\n", cmp.Or(f.name, "program"), f.text)
	}
	b.WriteString("\n## Faults by kind\n\n| cause | kind | faults | share |\n|---|---|---|---|\n")
	for _, k := range in.Kinds {
		fmt.Fprintf(&b, "| %s | %s | %d | %d %% |\n", k.Cause(), k.Kind, k.Count, percent(k.Count, in.Failures))
	}
	fmt.Fprintf(&b, "\n## Course, in steps of %s\n\n| from | faults | calls waiting |\n|---|---|---|\n", span(c.Step))
	for i, p := range c.Points {
		if i > 0 && len(p.Faults) == 0 && p.Waiting == c.Points[i-1].Waiting {
			continue // as before
		}
		sum := 0
		for _, n := range p.Faults {
			sum += n
		}
		fmt.Fprintf(&b, "| %s | %d | %d |\n", stamp(in.Began.Add(time.Duration(i)*c.Step)), sum, p.Waiting)
	}
	if in.Message != "" {
		fmt.Fprintf(&b, "\n## The provider's first message\n\n    %s\n", strings.ReplaceAll(in.Message, "\n", "\n    "))
	}
	return b.String()
}

// percent returns how much of a whole a part is, in percent.
func percent(part, whole int) int {
	if whole == 0 {
		return 0
	}
	return (100*part + whole/2) / whole
}

// fact is a line of a report.
type fact struct{ name, text string }

// facts returns what is known of the incident.
func (in Incident) facts(now time.Time) []fact {
	var all []fact
	row := func(name, format string, args ...any) { all = append(all, fact{name, fmt.Sprintf(format, args...)}) }
	row("id", "%s", in.ID)
	row("began", "%s", stamp(in.Began))
	switch {
	case in.Ended.IsZero():
		row("ended", "not yet, after %s", span(now.Sub(in.Began)))
	case in.Recovered:
		row("ended", "%s, with an answer", stamp(in.Ended))
		row("lasted", "%s, the time to recovery", span(in.Ended.Sub(in.Began)))
	default:
		row("ended", "%s or later: no request since", stamp(in.Ended))
		row("lasted", "%s or longer", span(in.Ended.Sub(in.Began)))
	}
	if models := strings.Join(in.Models, ", "); in.Partial {
		row("models", "%s; others were answered meanwhile", models)
	} else if models != "" {
		row("models", "%s", models)
	}
	row("tries", "%d, of which %d failed", in.Tries, in.Failures)
	row("calls", "%d had to wait: %d answered, %d not answered, %d waiting", in.Calls, in.Held, in.Lost, max(0, in.Calls-in.Held-in.Lost))
	row("callers", "%d", in.Callers)
	if len(in.Replicas) > 0 {
		row("gateways", "%s", strings.Join(in.Replicas, ", "))
	}
	for _, c := range in.Clients {
		row("", "%s, %d of the calls", anonymous(c.Name), c.Calls)
	}
	return all
}
