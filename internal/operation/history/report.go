package history

import (
	"fmt"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/internal/text"
)

// Report returns the incident as Markdown, for an issue or a page. Times are in UTC.
func (in *Incident) Report(now time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Incident at %s\n\n", in.Upstream)
	row := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "- **%s:** %s\n", name, fmt.Sprintf(format, args...))
	}
	row("id", "%s", in.ID)
	row("began", "%s", stamp(in.Began))
	switch lasted := text.Duration(in.lasted(now).Round(time.Second)); {
	case in.Open:
		row("ended", "not yet, after %s", lasted)
	case in.RecoveredMs > 0:
		row("ended", "%s, with an answer", stamp(in.Ended))
		row("lasted", "%s, the time to recovery", lasted)
	default:
		row("ended", "%s or later: no request since", stamp(in.Ended))
		row("lasted", "%s or longer", lasted)
	}
	if models := strings.Join(in.Models, ", "); in.Partial {
		row("models", "%s; others were answered meanwhile", models)
	} else if models != "" {
		row("models", "%s", models)
	}
	row("tries", "%d, of which %d failed", in.Tries, in.Failures)
	row("calls", "%d had to wait: %d answered, %d not answered, %d waiting", in.Calls, in.Held, in.Lost, max(0, in.Calls-in.Held-in.Lost))
	row("callers", "%d", in.Callers)
	for _, c := range in.Clients {
		if c.Name == "" {
			c.Name = "unnamed client"
		}
		row("program", "%s, %d of the calls", c.Name, c.Calls)
	}
	for _, e := range in.Elsewhere {
		row("also at", "%s since %s, %s", e.Replica, stamp(e.Began), text.Count(e.Calls, "call", "calls"))
	}
	b.WriteString("\n## Faults by kind\n\n| cause | kind | faults | share |\n|---|---|---|---|\n")
	for _, k := range in.Kinds {
		fmt.Fprintf(&b, "| %s | %s | %d | %d %% |\n", k.Cause, k.Kind, k.Count, (100*k.Count+in.Failures/2)/max(1, in.Failures))
	}
	if in.Message != "" {
		fmt.Fprintf(&b, "\n## The provider's first message\n\n    %s\n", strings.ReplaceAll(in.Message, "\n", "\n    "))
	}
	return b.String()
}

func (in *Incident) lasted(now time.Time) time.Duration {
	if in.Open {
		return now.Sub(in.Began)
	}
	return in.Ended.Sub(in.Began)
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }
