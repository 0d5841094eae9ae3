// Package doctor checks what the program depends on: the store, its disk and its
// logs, the clock, and the providers' addresses. It changes nothing and describes
// its findings in sentences. The command chooses what to check.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/operation/archive"
	"github.com/ridethrough/ridethrough/internal/plural"
	"github.com/ridethrough/ridethrough/store"
)

// State is the severity of a finding.
type State string

const (
	OK      State = "ok"      // nothing to do
	Warning State = "warning" // works, but needs attention
	Problem State = "problem" // does not work
)

// Finding is the result of one check.
type Finding struct {
	Check string `json:"check"` // what was checked
	State State  `json:"state"`
	Text  string `json:"text"`
}

// Well reports whether no finding is a problem.
func Well(all []Finding) bool {
	return !slices.ContainsFunc(all, func(f Finding) bool { return f.State == Problem })
}

// find formats a finding.
func find(check string, state State, format string, args ...any) Finding {
	return Finding{check, state, fmt.Sprintf(format, args...)}
}

const (
	slowSync = 5 * time.Millisecond // a disk that is slower delays every write
	maxSkew  = time.Minute          // between two clocks
	maxJump  = 2 * time.Second      // of the clock during a check
)

// Store checks a store's health.
func Store(ctx context.Context, e store.Store) []Finding {
	h, err := e.Health(ctx)
	if err != nil {
		return []Finding{find("store", Problem, "%v", err)}
	}
	contents := fmt.Sprintf("%s, %s; %s waiting, %d due", conversations(int(h.Logs)), size(h.Bytes), plural.Count(int(h.Scheduled), "turn", "turns"), h.Due+h.Leased)
	if h.Mode == "remote" {
		return append([]Finding{
			find("store", OK, "NATS servers of version %s, stored on %s: %s", h.Server, servers(h.Replicas), contents),
			find("sync", Warning, "cannot see whether the servers have sync_interval: always; without it, a power failure loses acknowledged writes"),
		}, warnings(h)...)
	}
	all := []Finding{find("store", OK, "%s, used by one process, with NATS %s embedded: %s", h.Dir, h.Server, contents)}
	if !h.Full && h.FreeBytes > 0 {
		all = append(all, find("disk", OK, "%s free", size(h.FreeBytes)))
	}
	if h.SyncLatency > 0 && h.SyncLatency <= slowSync {
		all = append(all, find("sync", OK, "the disk takes %v to sync a write", h.SyncLatency.Round(10*time.Microsecond)))
	}
	all = append(all, Losses(h.Losses)...)
	if len(h.Losses) > 0 {
		all = append(all, find("store", Warning, "losses are reported until %s is deleted", filepath.Join(h.Dir, "losses")))
	}
	return append(all, warnings(h)...)
}

func conversations(n int) string { return plural.Count(n, "conversation", "conversations") }

// servers counts servers.
func servers(n int) string {
	if n == 1 {
		return "one server"
	}
	return fmt.Sprintf("%d servers", n)
}

// lossesShown is how many losses are reported one by one.
const lossesShown = 20

// Losses reports what a store has lost.
func Losses(all []store.Loss) (found []Finding) {
	for _, l := range all[:min(len(all), lossesShown)] {
		found = append(found, find("store", Problem, "%s", l))
	}
	if more := len(all) - lossesShown; more > 0 {
		found = append(found, find("store", Problem, "and %s", plural.Count(more, "more loss", "more losses")))
	}
	return found
}

// Files reports damaged files of a store that was not opened, and what they have lost.
func Files(damaged []string, losses []store.Loss) []Finding {
	found := Losses(losses)
	for _, name := range damaged {
		found = append(found, find("store", Problem, "%s is damaged", name))
	}
	if len(found) > 0 {
		found = append(found, find("store", Warning, "the store was not opened, and its logs were not read; `ridethrough serve` opens it without what was lost, "+
			"and keeps damaged files as they are in the directory damaged"))
	}
	return found
}

// warnings returns the store's own warnings, which are problems if it is full.
func warnings(h store.Health) (all []Finding) {
	state := Warning
	if h.Full {
		state = Problem
	}
	for _, text := range h.Warnings {
		all = append(all, find("store", state, "%s", text))
	}
	return all
}

// size formats a number of bytes.
func size(n uint64) string {
	const units = "kMGT"
	if n < 1000 {
		return fmt.Sprintf("%d bytes", n)
	}
	f, i := float64(n)/1000, 0
	for ; f >= 1000 && i < len(units)-1; i++ {
		f /= 1000
	}
	return fmt.Sprintf("%.1f %cB", f, units[i])
}

// Logs reads all conversations and reports the damaged ones.
func Logs(ctx context.Context, e store.Store, now time.Time) (all []Finding) {
	h := conversation.New(conversation.Config{Store: e})
	var logs, records, active int64
	future := ""
	for head, err := range archive.All(ctx, e) {
		var v conversation.View
		if err == nil {
			v, err = h.Get(ctx, head.ID)
		}
		_, damaged := errors.AsType[*store.Damage](err)
		switch {
		case damaged:
			all = append(all, find("logs", Problem, "%v", err))
		case errors.Is(err, conversation.ErrNotFound), errors.Is(err, store.ErrDeleted):
		case err != nil:
			return append(all, find("logs", Problem, "%v", err))
		case len(v.Lost) > 0:
			for _, d := range v.Lost {
				all = append(all, find("logs", Problem, "%v", &d))
			}
		default:
			logs, records = logs+1, records+v.Last
			if v.Turn != "" || len(v.Inputs) > 0 {
				active++
			}
			if v.Changed.After(now.Add(maxSkew)) {
				future = fmt.Sprintf("conversation %s was written at %s", v.ID, v.Changed.Format(time.RFC3339))
			}
		}
	}
	if future != "" {
		all = append(all, find("clock", Warning, "%s, in the future: the clock has been set back, or was wrong", future))
	}
	return append(all, find("logs", OK, "%s with %s intact; %d active", conversations(int(logs)), plural.Count(int(records), "record", "records"), active))
}

// Clock checks the wall clock: its year, its jump during the checks, and its
// difference from the clocks of servers.
func Clock(now time.Time, jump time.Duration, skews []Skew) Finding {
	if jump.Abs() > maxJump {
		return find("clock", Warning, "the clock jumped by %v during the checks: waits that ended meanwhile retry at once", jump.Round(time.Second))
	}
	if y := now.Year(); y < 2025 || y > 2100 {
		return find("clock", Problem, "the clock is wrong: %s; waits and certificates depend on it", now.Format(time.RFC3339))
	}
	for _, s := range skews {
		if d := s.Ahead.Abs().Round(time.Second); d > maxSkew {
			return find("clock", Warning, "the clock differs by %v from that of %s", d, s.Server)
		}
	}
	if len(skews) == 0 {
		return find("clock", OK, "%s; not compared, because no server answered", now.Format(time.RFC3339))
	}
	return find("clock", OK, "%s, in agreement with the servers that answered", now.Format(time.RFC3339))
}

// Jump returns the time by which the wall clock has gone ahead of the monotonic
// clock. Both arguments must come from time.Now.
func Jump(began, now time.Time) time.Duration {
	return now.Round(0).Sub(began.Round(0)) - now.Sub(began)
}

// Skew is the difference of a server's clock from ours.
type Skew struct {
	Server string
	Ahead  time.Duration
}
