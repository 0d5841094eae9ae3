package lab

import (
	"encoding/json"
	"io"
	"time"
)

// WriteJSON writes the report as one JSON object. Times are in milliseconds.
func (r Report) WriteJSON(w io.Writer) error {
	type result struct {
		Policy         string  `json:"policy"`
		Title          string  `json:"title"`
		Source         string  `json:"source,omitzero"`
		Doubt          string  `json:"doubt,omitzero"`
		Calls          int     `json:"calls"`
		Answered       int     `json:"answered"`
		GaveUp         int     `json:"gaveUp"`
		Left           int     `json:"left"`
		Hit            int     `json:"hit"`
		Ridden         int     `json:"ridden"`
		MedianMs       int64   `json:"medianWaitMs"`
		P95Ms          int64   `json:"p95WaitMs"`
		LongestMs      int64   `json:"longestWaitMs"`
		Requests       int     `json:"requests"`
		InVain         int     `json:"requestsInVain"`
		LastMs         *int64  `json:"lastAnswerMs"` // null: nobody had waited for the recovery, or was answered
		Peak           int     `json:"peakPerSecond"`
		Usual          float64 `json:"usualPerSecond"`
		PerMinute      []int   `json:"requestsPerMinute"`
		AnswersMinutes []int   `json:"answersPerMinute"`
	}
	out := struct {
		Scenario   string   `json:"scenario"`
		Title      string   `json:"title"`
		Seed       uint64   `json:"seed"`
		Callers    int      `json:"callers"`
		LastsMs    int64    `json:"lastsMs"`
		RecoveryMs int64    `json:"recoveryMs"`
		Results    []result `json:"results"`
	}{r.Scenario.Name, r.Scenario.Title, r.Scenario.Seed, r.Scenario.Callers.Number, ms(r.Scenario.Lasts), ms(r.Recovery), nil}
	for i, one := range r.Results {
		to := result{
			one.Strategy.Name, one.Strategy.Title, one.Strategy.Source, one.Strategy.Doubt,
			one.Calls, one.Answered, one.GaveUp, one.Left, one.Hit, one.Ridden,
			ms(one.Median), ms(one.P95), ms(one.Longest),
			one.Requests, one.Extra, nil, one.Peak, one.Usual, r.Series(i), padded(one.Answers, r.minutes()),
		}
		if one.Last > 0 {
			last := ms(one.Last)
			to.LastMs = &last
		}
		out.Results = append(out.Results, to)
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(out)
}

func ms(d time.Duration) int64 { return d.Milliseconds() }
