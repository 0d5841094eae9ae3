package lab

import (
	"context"
	"fmt"
	"strings"

	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/internal/text"
)

// GalleryFiles simulates the gallery and returns its page in the docs, outages.md, and a picture of each scenario,
// outages/NAME.svg, by their names.
func GalleryFiles(ctx context.Context) (map[string]string, error) {
	files := map[string]string{}
	var page strings.Builder
	page.WriteString(preface)
	for _, s := range Gallery() {
		r, err := GalleryReport(ctx, s)
		if err != nil {
			return nil, err
		}
		files["outages/"+s.Name+".svg"] = r.SVG()
		r.writeSection(&page)
	}
	writeSources(&page)
	files["outages.md"] = page.String()
	return files, nil
}

// reports has the reports of the gallery that are made, by the names of their scenarios.
var reports = map[string]*Report{}

// GalleryReport simulates a scenario of the gallery with all its policies, once for all tests.
func GalleryReport(ctx context.Context, s config.Scenario) (*Report, error) {
	if r := reports[s.Name]; r != nil {
		return r, nil
	}
	all, err := Choose(s.Policies)
	if err != nil {
		return nil, err
	}
	r, err := Run(ctx, s, all, nil)
	if err == nil {
		reports[s.Name] = r
	}
	return r, err
}

const preface = `# Outages: what does each policy do in an outage?

These are the figures of ` + "`ridethrough lab`" + ` for its gallery, as ` + "`go test ./internal/lab -update`" + ` writes them.
Nothing here is edited by hand: the test reproduces this page to the byte.

The same callers meet the same outage once with each policy. The policies of ridethrough run in the retrier
and the circuit breaker of the release, in virtual time. The others run in the same retrier, with the
numbers that their projects publish (see [the policies](#the-policies)). ` + "`patient+breaker`" + ` is the default of
` + "`ridethrough serve`" + `: its callers share a circuit breaker. ` + "`patient`" + ` is the same policy without a shared
breaker, as in a program of your own. Where the provider states its limits, requests that would exceed them
wait for room too, by default: ` + "`patient+breaker+admission`" + `. ` + "`patient+breaker+7d`" + ` waits for a usage window of
up to a week (` + "`quota: {max: 7d}`" + `), the default for one of five hours.
` + "`patient+breaker+fleet`" + ` has [several gateways](fleet.md) act as one, as they do by default with NATS.

A caller makes one call at a time, and the next one some time after the previous one has ended. So a policy
that gives up early makes more calls, and a policy that waits makes fewer. *answered* and *gave up* are about
all calls. The waits (*median*, *95 %*, *longest*) are those of calls that met a fault and were answered, so
they are short where only lucky calls are answered. *at once* is the greatest number of calls in progress,
*in vain* are requests that brought no answer, *peak/s* is the number of requests in the busiest second of the
ten minutes after the recovery, and *last* is the time from the recovery to the last answer to a call that had
waited for it. Of a limit of tokens per minute, *used* is the share that was used. Of a second group of
callers, *others* is the wait that 95 % of its answered calls did not exceed, those that met no fault
included.

`

// writeSection writes the page's section of one scenario.
func (r *Report) writeSection(b *strings.Builder) {
	s := r.Scenario
	fmt.Fprintf(b, "## %s\n\n%s\n\n", s.Title, text.Wrap(s.About, text.Columns))
	b.WriteString(text.Wrap(callersText(s)+"; `ridethrough lab "+s.Name+"` simulates it.", text.Columns) + "\n\n")
	fmt.Fprintf(b, "![%s: requests and answers per minute for each policy; the figures are in the table below](outages/%s.svg)\n\n", s.Title, s.Name)
	figures := r.Figures()
	b.WriteString("| policy |")
	for _, f := range figures {
		b.WriteString(" " + f.Name + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---:|", len(figures)) + "\n")
	for _, one := range r.Results {
		fmt.Fprintf(b, "| `%s` |", one.Strategy.Name)
		for _, f := range figures {
			b.WriteString(" " + f.Of(one) + " |")
		}
		b.WriteString("\n")
	}
	b.WriteString("\n" + text.Wrap(r.comparison(), text.Columns) + "\n\n")
}

// callersText says how many callers there are, and how often they call.
func callersText(s config.Scenario) string {
	said := fmt.Sprintf("%d callers, each a call every %s", s.Callers.Number, text.Duration(s.Callers.Every))
	if o := s.Others; o.Number > 0 {
		said += fmt.Sprintf(", and a second group of %d, every %s", o.Number, text.Duration(o.Every))
	}
	return said
}

// comparison returns a sentence with the figures in which another strategy is
// better than the recommended one.
func (r *Report) comparison() string {
	own := r.recommended()
	var better []string
	for _, f := range r.Figures() {
		best, name := own, ""
		for _, one := range r.Results {
			if hasFigure(f, one) && f.Of(one) != f.Of(own) && f.score(one) > f.score(best) {
				best, name = one, one.Strategy.Name
			}
		}
		if name != "" {
			better = append(better, fmt.Sprintf("*%s* (`%s`: %s, with %s answered)", f.Name, name, f.Of(best), share(best.Answered, best.Calls)))
		}
	}
	if len(better) == 0 {
		return "No other policy does better than `" + own.Strategy.Name + "` in any of these figures."
	}
	return "Others do better than `" + own.Strategy.Name + "` in " + strings.Join(better, ", ") + "."
}

// recommended returns the result of the recommended strategy.
func (r *Report) recommended() (own *Result) {
	own = &Result{}
	for _, name := range []string{recommended, recommended + withAdmission} {
		for _, one := range r.Results {
			if one.Strategy.Name == name {
				own = one
			}
		}
	}
	return own
}

// hasFigure reports whether a result has the figure at all.
func hasFigure(f Figure, one *Result) bool { return f.Of(one) != "-" }

// writeSources writes the sources of the third-party strategies.
func writeSources(b *strings.Builder) {
	b.WriteString("## The policies\n\n" +
		text.Wrap("The presets of ridethrough are in [the configuration](configuration.md), and `ridethrough policy show NAME` draws them. "+
			"The others are in `internal/lab/strategies.yaml`. Corrections with a source are welcome.", text.Columns) + "\n\n" +
		"| policy | description | retries | source | version | not verified |\n|---|---|---:|---|---|---|\n")
	for _, s := range ThirdParty() {
		fmt.Fprintf(b, "| `%s` | %s | %d | %s | %s | %s |\n", s.Name, strings.TrimSpace(s.Title+". "+s.Note), s.Policy.Retries, s.Source, s.Seen, s.Doubt)
	}
}
