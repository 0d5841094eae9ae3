package classify_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
)

// specimen is one labelled case of the corpus.
type specimen struct {
	ID       string
	Provider string
	Where    string
	Status   int
	Headers  map[string]string
	Body     string
	Class    string
	Retry    bool
	WaitMs   float64 `json:"wait_ms"`
	Trap     bool    // it looks final and passes, or looks as if it passes and is final
	Why      string
	Source   string
}

// classes are the corpus's words for our kinds.
var classes = map[fault.Kind]string{
	fault.Unknown: "unknown", fault.Canceled: "canceled",
	fault.RateLimited: "transient", fault.Overloaded: "transient", fault.Unavailable: "transient", fault.Truncated: "transient",
	fault.UpstreamTimeout: "timeout", fault.Timeout: "timeout",
	fault.Quota: "quota_exhausted", fault.TooLong: "context_overflow",
	fault.Auth: "permanent", fault.Invalid: "permanent", fault.Refused: "permanent",
}

// again are the kinds that the corpus wants to be tried again: what passes by
// itself, and the unknown, as a bounded policy that lists Unknown does.
// Quota is not, whatever it states: only a patient policy would wait for it.
var again = fault.Transient.With(fault.Unknown)

// classify classifies the case as retry would.
func (s specimen) classify() *fault.Error { return classify.Classifier{}.Classify(s.evidence()) }

// evidence returns the evidence of the case.
func (s specimen) evidence() classify.Evidence {
	header := http.Header{}
	for k, v := range s.Headers {
		header.Set(k, v)
	}
	switch {
	case s.Where == "network":
		return classify.Failure(errors.New(s.Body), start)
	case s.Where == "stream" && s.Status == http.StatusOK:
		return classify.Event([]byte(s.Body), start)
	}
	return classify.Response(s.Status, header, []byte(s.Body), start)
}

// waits reports whether the fault's wait is the one that the case states, within
// the rounding of its fields.
func (s specimen) waits(f *fault.Error) bool {
	want := time.Duration(s.WaitMs * float64(time.Millisecond))
	return want == 0 || (f.RetryAfter(start)-want).Abs() <= max(time.Second, want/1000)
}

// tally counts correct results.
type tally struct{ cases, retry, class, wait, waits int }

func (t *tally) count(s specimen, f *fault.Error) {
	t.cases++
	t.retry += one((again.Has(f.Kind) && !f.Final) == s.Retry)
	t.class += one(classes[f.Kind] == s.Class)
	if s.WaitMs > 0 {
		t.waits++
		t.wait += one(s.waits(f))
	}
}

// right returns the shares of right answers, in percent.
func (t *tally) right() (retry, class, wait float64) {
	return percent(t.retry, t.cases), percent(t.class, t.cases), percent(t.wait, t.waits)
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

func percent(n, of int) float64 { return 100 * float64(n) / float64(max(1, of)) }

// readCorpus returns the cases of the file named by RIDETHROUGH_CORPUS.
func readCorpus(t *testing.T) []specimen {
	t.Helper()
	name := os.Getenv("RIDETHROUGH_CORPUS")
	if name == "" {
		t.Skip("RIDETHROUGH_CORPUS names no file of labelled errors to score against")
	}
	file, err := os.Open(name)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	defer file.Close()
	var all []specimen
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var s specimen
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			t.Fatalf("unmarshal: %v", err)
		}
		all = append(all, s)
	}
	if err := lines.Err(); err != nil {
		t.Fatalf("err: %v", err)
	}
	return all
}

// floors are the lowest scores that pass, in percent.
// "total" is what the project promises.
var floors = map[string]floor{
	"total":     {97, 93, 100},
	"anthropic": {97, 97, 100},
	"openai":    {97, 97, 100},
	"gemini":    {97, 97, 100},
	"bedrock":   {97, 97, 100},
}

func TestClassifier_Corpus(t *testing.T) {
	scores := map[string]*tally{}
	for _, s := range readCorpus(t) {
		f := s.classify()
		for _, group := range []string{"total", "class " + s.Class, s.Provider} {
			if scores[group] == nil {
				scores[group] = &tally{}
			}
			scores[group].count(s, f)
		}
		if classes[f.Kind] != s.Class || !s.waits(f) {
			t.Logf("%s is %s, classified as %v by %s, hint %v of %v ms: %.160s", s.ID, s.Class, f.Kind, f.Rule, f.RetryAfter(start), s.WaitMs, s.Body)
		}
	}
	for _, group := range slices.Sorted(maps.Keys(scores)) {
		n := scores[group]
		retry, class, wait := n.right()
		t.Logf("%-24s %3d cases  retry %5.1f %%  class %5.1f %%  wait %d of %d", group, n.cases, retry, class, n.wait, n.waits)
		if floor := floors[group]; retry < floor.retry || class < floor.class || n.waits > 0 && wait < floor.wait {
			t.Errorf("%s: retry %.1f %%, class %.1f %%, wait %.1f %%; the floor is %v", group, retry, class, wait, floor)
		}
	}
}
