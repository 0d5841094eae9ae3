package history

import (
	"fmt"
	"strings"
	"time"
)

// Text returns a report of the incident. Times are in UTC.
func (in Incident) Text(now time.Time) string {
	var b strings.Builder
	title := "Incident at " + in.Upstream
	fmt.Fprintf(&b, "%s\n%s\n\n", title, strings.Repeat("=", len(title)))
	row := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-10s"+format+"\n", append([]any{name}, args...)...)
	}
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
	for _, c := range in.Clients {
		row("", "%s, %d of the calls", anonymous(c.Name), c.Calls)
	}
	b.WriteString("\nCauses\n------\n\n")
	for _, k := range in.Kinds {
		fmt.Fprintf(&b, "%6d  %s (%s)\n", k.Count, k.Cause(), k.Kind)
	}
	if in.Message != "" {
		fmt.Fprintf(&b, "\nThe provider's first message:\n\n    %s\n", strings.ReplaceAll(in.Message, "\n", "\n    "))
	}
	return b.String()
}

// anonymous returns the name of a client, or a text for one without a name.
func anonymous(name string) string {
	if name == "" {
		return "unnamed client"
	}
	return name
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

func span(d time.Duration) string { return d.Round(time.Second).String() }
