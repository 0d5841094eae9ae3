package classify_test

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"testing"
)

// gathered holds errors that were gathered and labelled apart from the corpus and
// from the classifier: one JSON object per line, in the corpus's fields and by
// its rules. The source is where an error of this form is reported or documented. Reset instants count from start, 2026-11-02T21:00:00Z.
//
//go:embed testdata/shapes.jsonl
var gathered []byte

// unseen are 72 wordings that were written without reading the rules. They tell what the rules are worth beyond
// the collections that they were made with: none is written for one of these.
//
//go:embed testdata/wordings.jsonl
var unseen []byte

// floor is the lowest score that passes, in percent.
type floor struct{ retry, class, wait float64 }

// wellKnown is the floor of the errors that the rules have been written with, or have been measured by for long.
var wellKnown = floor{retry: 98, class: 97, wait: 97}

// readShapes returns the cases of testdata/shapes.jsonl.
func readShapes(t *testing.T) []specimen { return readSpecimens(t, gathered) }

func readSpecimens(t *testing.T, file []byte) []specimen {
	t.Helper()
	var all []specimen
	lines := json.NewDecoder(bytes.NewReader(file))
	for {
		var s specimen
		switch err := lines.Decode(&s); {
		case errors.Is(err, io.EOF):
			return all
		case err != nil:
			t.Fatalf("line %d: %v", len(all)+1, err)
		}
		all = append(all, s)
	}
}

func TestClassifier_Shapes(t *testing.T) { score(t, readShapes(t), wellKnown) }

func TestClassifier_UnseenWordings(t *testing.T) { score(t, readSpecimens(t, unseen), wellKnown) }

// score classifies specimens and wants the floor of them right.
func score(t *testing.T, all []specimen, floor floor) {
	t.Helper()
	scores := map[string]*tally{}
	for _, s := range all {
		f := s.classify()
		for _, group := range []string{"total", "class " + s.Class, s.Provider} {
			if scores[group] == nil {
				scores[group] = &tally{}
			}
			scores[group].count(s, f)
		}
		passes := again.Has(f.Kind) && !f.Final
		if classes[f.Kind] != s.Class || passes != s.Retry || !s.waits(f) {
			t.Logf("%s is %s (again %v, wait %v ms), classified as %v by %s (again %v, hint %v): %d %.200s",
				s.ID, s.Class, s.Retry, s.WaitMs, f.Kind, f.Rule, passes, f.RetryAfter(start), s.Status, s.Body)
		}
	}
	for _, group := range slices.Sorted(maps.Keys(scores)) {
		n := scores[group]
		t.Logf("%-24s %3d cases  retry %5.1f %%  class %5.1f %%  wait %d of %d",
			group, n.cases, percent(n.retry, n.cases), percent(n.class, n.cases), n.wait, n.waits)
	}
	n := scores["total"]
	retry, class, wait := percent(n.retry, n.cases), percent(n.class, n.cases), percent(n.wait, n.waits)
	if retry < floor.retry || class < floor.class || wait < floor.wait {
		t.Errorf("retry %.1f %%, class %.1f %%, wait %.1f %%; the floor is %+v", retry, class, wait, floor)
	}
}

func TestShapes_LabelsAreConsistent(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range readShapes(t) {
		if seen[s.ID] {
			t.Errorf("id %s occurs twice", s.ID)
		}
		seen[s.ID] = true
		if len(s.Source) < len("RFC 1") || s.Why == "" {
			t.Errorf("%s: source %q, why %q", s.ID, s.Source, s.Why)
		}
		if !slices.Contains(slices.Collect(maps.Values(classes)), s.Class) {
			t.Errorf("%s: no class is called %q", s.ID, s.Class)
		}
		if passes := s.Class == "transient" || s.Class == "timeout"; s.Class != "unknown" && passes != s.Retry {
			t.Errorf("%s: %s with retry %v", s.ID, s.Class, s.Retry)
		}
		if s.Class == "transient" && s.WaitMs > 15*60*1000 {
			t.Errorf("%s: a wait of %v ms is above the quota threshold of 15 minutes", s.ID, s.WaitMs)
		}
		if (s.Where == "network") != (s.Status == 0) {
			t.Errorf("%s: status %d from %s", s.ID, s.Status, s.Where)
		}
	}
}
