package gatewaycmd

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/ridethrough/ridethrough/fault"
)

// classes are the names that corpora of labelled errors use for our kinds.
var classes = map[fault.Kind]string{
	fault.RateLimited: "transient", fault.Overloaded: "transient",
	fault.Unavailable: "transient", fault.Truncated: "transient",
	fault.UpstreamTimeout: "timeout", fault.Timeout: "timeout",
	fault.Quota: "quota_exhausted", fault.TooLong: "context_overflow",
	fault.Auth: "permanent", fault.Invalid: "permanent", fault.Refused: "permanent",
	fault.Canceled: "canceled", fault.Unknown: "unknown",
}

// label is the output for one line.
type label struct {
	ID     string `json:"id"`
	Kind   string `json:"kind"`
	Class  string `json:"class"`
	Retry  bool   `json:"retry"` // a bounded policy that retries unknown faults would retry
	WaitMs *int64 `json:"wait_ms"`
	Rule   string `json:"rule"`
}

// labelled returns the label of a fault.
func labelled(id string, f *fault.Error, now time.Time) label {
	again := fault.Transient.With(fault.Unknown)
	return label{
		ID: id, Kind: f.Kind.String(), Class: classes[f.Kind],
		Retry: again.Has(f.Kind) && !f.Final, WaitMs: waitMs(f, now), Rule: f.Rule,
	}
}

// each reads one error per line and writes its label.
func (c *explainCmd) each(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 16*errorBound)
	w := bufio.NewWriter(out)
	for n := 1; lines.Scan(); n++ {
		if len(lines.Bytes()) == 0 {
			continue
		}
		var e sample
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return fmt.Errorf("line %d: want a JSON object with where, status, headers and body: %w", n, err)
		}
		if err := writeJSON(w, labelled(e.ID, c.faults.Classify(e.evidence(c.now)), c.now)); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return w.Flush()
}
