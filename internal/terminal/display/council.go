package display

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ridethrough/ridethrough/council"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
)

// MemberNames are what the members of a council are called: their models, with a
// number where the same one is there again.
func MemberNames(members []llm.Name) []string {
	names, seen := make([]string, len(members)), map[llm.Name]int{}
	for i, m := range members {
		names[i] = OneLine(m.String())
		if seen[m]++; seen[m] > 1 {
			names[i] += fmt.Sprintf(" #%d", seen[m])
		}
	}
	return names
}

// MemberLine is the line about a member of a council: state, name, time, budget.
// width is the columns there are, of which the last stays free: where they are
// few, it is put shortly, then the name is, then it is shed from the right.
func MemberLine(name string, v council.Voice, width int) string {
	glyph, forms := voice(v)
	line := func(name string, form []string) string { return glyph + " " + name + strings.Join(form, "") }
	for _, form := range forms {
		if utf8.RuneCountInString(line(name, form)) < width {
			return line(name, form)
		}
	}
	form := forms[len(forms)-1]
	if room := width - 1 - utf8.RuneCountInString(line("", form)); room >= nameBound {
		return line(Truncate(name, room), form)
	}
	for len(form) > 1 && utf8.RuneCountInString(line(name, form)) >= width {
		form = form[:len(form)-1]
	}
	return fitting(width, line(name, form))
}

// nameBound is how short a name may be cut.
const nameBound = 12

// voice gives what stands before a member's name and what stands behind it, in
// parts of which the first matters most, and in forms that grow shorter.
func voice(v council.Voice) (glyph string, forms [][]string) {
	switch v.State {
	case council.Waiting:
		on := " waiting on " + OneLine(v.Name.Provider)
		return "▲", [][]string{{on + why(v), next(v, " — next try "), budget(v)}, {on, next(v, " — next try "), budget(v)}, {on, next(v, " — "), budget(v)}}
	case council.Answered:
		return "✓", [][]string{{" answered", " in " + Duration(max(1, v.Took)), tries(v)}}
	case council.Failed:
		return "✗", [][]string{{failure(v), tries(v)}}
	case council.CutOff:
		return "·", [][]string{{" cut off", " after " + Duration(max(1, v.Took)), ": " + OneLine(v.Why.Error())}}
	}
	return "·", [][]string{{again(v), sofar(v), budget(v)}}
}

func again(v council.Voice) string {
	if v.Tries > 1 {
		return " asked again"
	}
	return " asked"
}

// sofar is for how long a member has been at it.
func sofar(v council.Voice) string {
	if v.Took < time.Second {
		return ""
	}
	return " — " + Duration(v.Took)
}

// why tells what a wait is for, where that is known.
func why(v council.Voice) string {
	if v.Fault == nil {
		return ""
	}
	return " (" + v.Fault.Label() + ")"
}

func next(v council.Voice, when string) string {
	if v.Wait == 0 {
		return " — another call goes first"
	}
	return when + Duration(v.Wait)
}

func budget(v council.Voice) string { return " (budget " + Duration(max(1, v.Left)) + " left)" }

func failure(v council.Voice) string {
	if v.Fault.Kind == fault.Timeout {
		return " timed out after " + Duration(v.Took)
	}
	return " failed: " + v.Fault.Label()
}

func tries(v council.Voice) string {
	if v.Tries < 2 {
		return ""
	}
	return " (" + several(v.Tries, "try", "tries") + ")"
}

// SharedWaitLines is the line about several members of a council that wait on the
// same provider, for each that there is.
func SharedWaitLines(voices []council.Voice, width int) (lines []string) {
	soonest, waiting := map[string]time.Duration{}, map[string]int{}
	var order []string
	for _, v := range voices {
		if v.State != council.Waiting {
			continue
		}
		at := v.Name.Provider
		if waiting[at]++; waiting[at] == 1 {
			order = append(order, at)
		}
		if soonest[at] == 0 || v.Wait > 0 && v.Wait < soonest[at] {
			soonest[at] = v.Wait
		}
	}
	for _, at := range order {
		if waiting[at] > 1 {
			all := council.Voice{Wait: soonest[at]}
			lines = append(lines, fitting(width,
				fmt.Sprintf("▲ %d of %d members waiting on %s%s", waiting[at], len(voices), OneLine(at), next(all, " — next try ")),
				fmt.Sprintf("▲ %d of %d waiting on %s%s", waiting[at], len(voices), OneLine(at), next(all, " — "))))
		}
	}
	return lines
}

// GraceLine is the line about members that still have a while, once enough have
// answered.
func GraceLine(members []council.Voice, left time.Duration, width int) string {
	answered, rest := council.Result{Members: members}.Count(council.Answered), Duration(max(1, left))
	return fitting(width,
		fmt.Sprintf("· %d of %d members answered — the rest have %s", answered, len(members), rest),
		fmt.Sprintf("· %d of %d answered — %s", answered, len(members), rest))
}

// fitting gives the first line that fits the columns; the last one is cut to
// them.
func fitting(width int, lines ...string) string {
	for _, line := range lines {
		if utf8.RuneCountInString(line) < width {
			return line
		}
	}
	return Truncate(lines[len(lines)-1], max(2, min(width-1, lineBound)))
}

// ShortfallHeadline is the headline of a council in which too few have answered.
func ShortfallHeadline(s *council.Shortfall) string {
	r := council.Result{Members: s.Members}
	return fmt.Sprintf("Failed: %d of %d members answered, and %d are needed.", r.Count(council.Answered), len(s.Members), s.Quorum)
}
