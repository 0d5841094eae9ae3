package classify_test

import (
	_ "embed"
	"hash/fnv"
	"slices"
	"testing"
)

// reports are errors that people reported, or that relays and servers have in their sources: money, windows and
// entitlements in a relay's words, causes behind a relay's own status, conflicts of a moment and waits in words.
// "trap" marks those that look final and pass, or look as if they pass and are final.
//
//go:embed testdata/reports.jsonl
var reports []byte

// keptAside reports whether a case was not looked at while the rules were written that its half was to test.
func keptAside(s specimen) bool {
	h := fnv.New32a()
	h.Write([]byte(s.ID))
	return h.Sum32()%2 == 1
}

func readReports(t *testing.T, aside bool) []specimen {
	t.Helper()
	return slices.DeleteFunc(readSpecimens(t, reports), func(s specimen) bool { return keptAside(s) != aside })
}

func TestClassifier_Reports(t *testing.T) {
	score(t, readReports(t, false), wellKnown)
}

func TestClassifier_ReportsKeptAside(t *testing.T) {
	score(t, readReports(t, true), floor{retry: 91, class: 87, wait: 100})
}

func TestReports_AThirdAreTraps(t *testing.T) {
	traps, all := 0, readSpecimens(t, reports)
	for _, s := range all {
		traps += one(s.Trap)
		if len(s.Source) < len("RFC 1") || s.Why == "" {
			t.Errorf("%s: source %q, why %q", s.ID, s.Source, s.Why)
		}
	}
	if len(all) < 150 || traps*3 < len(all) {
		t.Errorf("%d cases, of which %d are traps; want a third of at least 150", len(all), traps)
	}
}
