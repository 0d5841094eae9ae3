package history

import (
	"fmt"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/internal/brief"
)

// Text returns a report of the incident. Times are in UTC.
func (in Incident) Text(now time.Time) string {
	var b strings.Builder
	title := "Incident at " + in.Upstream
	fmt.Fprintf(&b, "%s\n%s\n\n", title, strings.Repeat("=", len(title)))
	for _, f := range in.facts(now) {
		fmt.Fprintf(&b, "%-10s%s\n", f.name, f.text)
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

func span(d time.Duration) string { return brief.Duration(d.Round(time.Second)) }
