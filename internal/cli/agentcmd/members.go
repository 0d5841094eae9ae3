package agentcmd

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ridethrough/ridethrough/council"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/terminal/display"
	"github.com/ridethrough/ridethrough/internal/terminal/printable"
	"github.com/ridethrough/ridethrough/internal/text"
	"github.com/ridethrough/ridethrough/llm"
)

// MemberNames are the names of a council's members: their models, numbered if one repeats.
func MemberNames(members []llm.Name) []string {
	names, seen := make([]string, len(members)), map[llm.Name]int{}
	for i, m := range members {
		names[i] = printable.Line(m.String())
		if seen[m]++; seen[m] > 1 {
			names[i] += fmt.Sprintf(" #%d", seen[m])
		}
	}
	return names
}

// MemberLine is the line about a member of a council: state, name, time, budget. It takes fewer than width columns:
// first it uses the short form, then it truncates the name, then it drops parts from the right.
func MemberLine(name string, m council.Member, width int) string {
	glyph, forms := formsOf(m)
	line := func(name string, form []string) string { return glyph + " " + name + strings.Join(form, "") }
	for _, form := range forms {
		if utf8.RuneCountInString(line(name, form)) < width {
			return line(name, form)
		}
	}
	form := forms[len(forms)-1]
	if room := width - 1 - utf8.RuneCountInString(line("", form)); room >= minName {
		return line(printable.Truncate(name, room), form)
	}
	for len(form) > 1 && utf8.RuneCountInString(line(name, form)) >= width {
		form = form[:len(form)-1]
	}
	return firstFitting(width, line(name, form))
}

const minName = 12

// formsOf returns the glyph of a member's state and its line in ever shorter forms, each with its most important
// part first.
func formsOf(m council.Member) (glyph string, forms [][]string) {
	switch m.State {
	case council.Waiting:
		on := " waiting on " + printable.Line(m.Name.Provider)
		long, short := nextTry(m.Wait, " — next try "), nextTry(m.Wait, " — ")
		return "▲", [][]string{{on + reason(m), long, budgetLeft(m)}, {on, long, budgetLeft(m)}, {on, short, budgetLeft(m)}}
	case council.Answered:
		return "✓", [][]string{{" answered", " in " + text.Passed(m.Took), tries(m)}}
	case council.Failed:
		return "✗", [][]string{{failed(m), tries(m)}}
	case council.CutOff:
		return "·", [][]string{{" cut off", " after " + text.Passed(m.Took), ": " + printable.Line(m.Why.Error())}}
	}
	return "·", [][]string{{asked(m), elapsed(m), budgetLeft(m)}}
}

func asked(m council.Member) string {
	if m.Tries > 1 {
		return " asked again"
	}
	return " asked"
}

func elapsed(m council.Member) string {
	if m.Took < time.Second {
		return ""
	}
	return " — " + text.Passed(m.Took)
}

func reason(m council.Member) string {
	if m.Fault == nil {
		return ""
	}
	return " (" + m.Fault.Label() + ")"
}

// nextTry says when the next try is made; wait is 0 while another call is the probe.
func nextTry(wait time.Duration, prefix string) string {
	if wait == 0 {
		return " — another call goes first"
	}
	return prefix + display.Duration(wait)
}

func budgetLeft(m council.Member) string {
	return " (budget " + display.Duration(max(1, m.Left)) + " left)"
}

func failed(m council.Member) string {
	if m.Fault.Kind == fault.Timeout {
		return " timed out after " + text.Passed(m.Took)
	}
	return " failed: " + m.Fault.Label()
}

func tries(m council.Member) string {
	if m.Tries < 2 {
		return ""
	}
	return " (" + text.Count(m.Tries, "try", "tries") + ")"
}

// SharedWaitLines are the lines about members that wait on the same provider, one for each provider
// with several.
func SharedWaitLines(members []council.Member, width int) (lines []string) {
	soonest, waiting := map[string]time.Duration{}, map[string]int{}
	var providers []string
	for _, m := range members {
		if m.State != council.Waiting {
			continue
		}
		p := m.Name.Provider
		if waiting[p]++; waiting[p] == 1 {
			providers = append(providers, p)
		}
		if soonest[p] == 0 || m.Wait > 0 && m.Wait < soonest[p] {
			soonest[p] = m.Wait
		}
	}
	for _, p := range providers {
		if waiting[p] > 1 {
			lines = append(lines, firstFitting(width,
				fmt.Sprintf("▲ %d of %d members waiting on %s%s", waiting[p], len(members), printable.Line(p), nextTry(soonest[p], " — next try ")),
				fmt.Sprintf("▲ %d of %d waiting on %s%s", waiting[p], len(members), printable.Line(p), nextTry(soonest[p], " — "))))
		}
	}
	return lines
}

// GraceLine is the line about the time left for the other members once enough have answered.
func GraceLine(members []council.Member, left time.Duration, width int) string {
	answered, rest := answered(members), display.Duration(max(1, left))
	return firstFitting(width,
		fmt.Sprintf("· %d of %d members answered — the rest have %s", answered, len(members), rest),
		fmt.Sprintf("· %d of %d answered — %s", answered, len(members), rest))
}

func firstFitting(width int, lines ...string) string {
	for _, line := range lines {
		if utf8.RuneCountInString(line) < width {
			return line
		}
	}
	return printable.Truncate(lines[len(lines)-1], max(2, min(width-1, printable.MaxLine)))
}

// ShortfallHeadline is the headline of a council with fewer answers than its quorum.
func ShortfallHeadline(members []council.Member, quorum int) string {
	return fmt.Sprintf("Failed: %d of %d members answered, and %d are needed.", answered(members), len(members), quorum)
}

func answered(members []council.Member) (n int) {
	for _, m := range members {
		if m.State == council.Answered {
			n++
		}
	}
	return n
}
