package lab

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/ridethrough/ridethrough/internal/operation/config"
)

type call struct {
	began, ended time.Duration
	sent         time.Duration // its latest request
	hit          bool          // it met a fault, its own or a shared one
	other        bool          // its caller is of the second group
	replica      int           // of its caller
}

type tally struct {
	result    Result
	recovery  time.Duration
	waits     []time.Duration // of calls that were hit and answered
	others    []time.Duration // of all answered calls of the second group
	perSecond map[int64]int   // requests after the recovery
	before    int             // requests before the first outage
	calls     int             // in progress
	at        []float64       // answered calls of each replica
	quiet     time.Duration   // the time before the first outage
}

// peakWindow is the time after the recovery in which the peak is measured.
const peakWindow = 10 * time.Minute

func newTally(s config.Scenario, strategy Strategy) tally {
	return tally{result: Result{Strategy: strategy}, recovery: recovery(s), quiet: firstOutage(s), perSecond: map[int64]int{}, at: make([]float64, max(1, s.Fleet.Number))}
}

func (t *tally) begin() {
	t.calls++
	t.result.AtOnce = max(t.result.AtOnce, t.calls)
}

func (t *tally) request(at time.Duration) {
	t.result.Requests++
	t.result.PerMinute = countMinute(t.result.PerMinute, at)
	if at < t.quiet {
		t.before++
	}
	if at >= t.recovery && at < t.recovery+peakWindow {
		t.perSecond[int64((at-t.recovery)/time.Second)]++
	}
}

func (t *tally) refuse(sent time.Duration) { t.result.Refused = countMinute(t.result.Refused, sent) }

func countMinute(series []int, at time.Duration) []int {
	minute := int(at / time.Minute)
	for len(series) <= minute {
		series = append(series, 0)
	}
	series[minute]++
	return series
}

// count counts a call that has ended, at the latest when the run ends.
func (t *tally) count(c call, err error) {
	t.calls--
	r := &t.result
	r.Calls++
	if c.hit {
		r.Hit++
	}
	switch {
	case errors.Is(err, errLeft):
		r.Left++
	case err != nil:
		r.GaveUp++
	default:
		r.Answered++
		t.at[c.replica]++
		if c.other {
			t.others = append(t.others, c.sent-c.began)
		}
		r.Answers = countMinute(r.Answers, c.ended)
		if c.hit {
			r.Recovered++
			t.waits = append(t.waits, c.sent-c.began)
		}
		if c.began < t.recovery && c.hit && c.ended > t.recovery {
			r.LastAnswer = max(r.LastAnswer, c.ended-t.recovery)
		}
	}
}

// Result is the outcome of a scenario with one strategy. A call is hit when it meets a fault, its own or a shared
// one. Its wait is the time from its first request to the one that was answered.
type Result struct {
	Strategy  Strategy
	Calls     int
	Answered  int
	GaveUp    int // ended with an error, or without an answer a day after the last call began
	Left      int // the caller ran out of patience
	Hit       int // met a fault
	Recovered int // met a fault and were answered
	AtOnce    int // in progress at the same time, at most

	Median, P95, Longest time.Duration // the waits of recovered calls
	OthersP95            time.Duration // the waits of all answered calls of the second group
	Used                 float64       // the used share of the tokens that limits per minute allow; 0 without a limit

	Fairness float64 // Jain's index of the answers of each gateway: 1, all have as many

	Requests   int           // at the upstream
	InVain     int           // requests that brought no answer
	LastAnswer time.Duration // from the recovery to the last answer to a call hit before it; 0: none
	Peak       int           // requests in the busiest second of the ten minutes after the recovery
	Usual      float64       // requests per second before the first outage; 0: it begins at the start

	PerMinute []int // requests at the upstream
	Answers   []int // per minute
	Refused   []int // requests without an answer, by the minute in which they were sent
}

func (t *tally) sum() *Result {
	slices.Sort(t.waits)
	r := &t.result
	r.Median, r.P95, r.Longest = quantile(t.waits, 0.5), quantile(t.waits, 0.95), quantile(t.waits, 1)
	slices.Sort(t.others)
	r.OthersP95 = quantile(t.others, 0.95)
	r.InVain = r.Requests - r.Answered
	for _, n := range t.perSecond {
		r.Peak = max(r.Peak, n)
	}
	r.Fairness = jain(t.at)
	if t.quiet > 0 {
		r.Usual = float64(t.before) / t.quiet.Seconds()
	}
	return r
}

// jain returns Jain's index of fairness: 1 if all are equal, 1/n if one has everything.
func jain(of []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, x := range of {
		sum, squares = sum+x, squares+x*x
	}
	if squares == 0 {
		return 1
	}
	return sum * sum / (float64(len(of)) * squares)
}

// quantile returns the least value that at least a share of the sorted values does not exceed; 0 without values.
func quantile(sorted []time.Duration, share float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(0, min(len(sorted)-1, int(float64(len(sorted))*share+0.5)-1))]
}

// reportJSON is a report as JSON. Times are in milliseconds.
type reportJSON struct {
	Scenario   string       `json:"scenario"`
	Title      string       `json:"title"`
	Seed       uint64       `json:"seed"`
	Callers    int          `json:"callers"`
	LastsMs    int64        `json:"lastsMs"`
	RecoveryMs int64        `json:"recoveryMs"`
	Results    []resultJSON `json:"results"`
}

type resultJSON struct {
	Policy           string  `json:"policy"`
	Title            string  `json:"title"`
	Source           string  `json:"source,omitzero"`
	Doubt            string  `json:"doubt,omitzero"`
	Calls            int     `json:"calls"`
	Answered         int     `json:"answered"`
	GaveUp           int     `json:"gaveUp"`
	Left             int     `json:"left"`
	Hit              int     `json:"hit"`
	Recovered        int     `json:"recovered"`
	MedianMs         int64   `json:"medianWaitMs"`
	P95Ms            int64   `json:"p95WaitMs"`
	LongestMs        int64   `json:"longestWaitMs"`
	OthersP95Ms      int64   `json:"othersP95WaitMs,omitzero"`
	LimitUsed        float64 `json:"limitUsed,omitzero"`
	AtOnce           int     `json:"callsAtOnce"`
	Requests         int     `json:"requests"`
	InVain           int     `json:"requestsInVain"`
	LastMs           *int64  `json:"lastAnswerMs"` // null: no call from before the recovery was answered after it
	Peak             int     `json:"peakPerSecond"`
	Usual            float64 `json:"usualPerSecond"`
	PerMinute        []int   `json:"requestsPerMinute"`
	AnswersPerMinute []int   `json:"answersPerMinute"`
	RefusedPerMinute []int   `json:"refusedPerMinute"`
}

// WriteJSON writes the report as one JSON object.
func (r *Report) WriteJSON(w io.Writer) error {
	s := r.Scenario
	out := reportJSON{
		Scenario: s.Name, Title: s.Title, Seed: s.Seed, Callers: s.Callers.Number,
		LastsMs: s.Lasts.Milliseconds(), RecoveryMs: r.Recovery.Milliseconds(), Results: []resultJSON{},
	}
	for i := range r.Results {
		out.Results = append(out.Results, r.json(i))
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(out)
}

func (r *Report) json(i int) resultJSON {
	one := r.Results[i]
	return resultJSON{
		Policy: one.Strategy.Name, Title: one.Strategy.Title, Source: one.Strategy.Source, Doubt: one.Strategy.Doubt,
		Calls: one.Calls, Answered: one.Answered, GaveUp: one.GaveUp, Left: one.Left, Hit: one.Hit, Recovered: one.Recovered,
		MedianMs: one.Median.Milliseconds(), P95Ms: one.P95.Milliseconds(), LongestMs: one.Longest.Milliseconds(),
		AtOnce: one.AtOnce, Requests: one.Requests, InVain: one.InVain, LastMs: milliseconds(one.LastAnswer), Peak: one.Peak, Usual: one.Usual,
		PerMinute: r.Series(i), AnswersPerMinute: padded(one.Answers, r.minutes()),
		RefusedPerMinute: padded(one.Refused, r.minutes()), OthersP95Ms: one.OthersP95.Milliseconds(), LimitUsed: one.Used,
	}
}

func milliseconds(d time.Duration) *int64 {
	if d == 0 {
		return nil
	}
	ms := d.Milliseconds()
	return &ms
}
