package lab

import (
	"encoding/json"
	"io"
	"time"
)

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

// milliseconds returns d in milliseconds, or nil for 0.
func milliseconds(d time.Duration) *int64 {
	if d == 0 {
		return nil
	}
	ms := d.Milliseconds()
	return &ms
}
