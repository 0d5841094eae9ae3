// Package doctor looks whether what the program depends on is as it should be:
// the store and its disk, the logs in it, the clock, the providers' addresses.
// It changes nothing, and says in sentences what it has found. What there is to
// be looked at, package cli knows.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/operation/archive"
	"github.com/ridethrough/ridethrough/store"
)

// State is how bad it is.
type State string

const (
	OK      State = "ok"
	Warning State = "warning" // it works, and somebody should look after it
	Problem State = "problem" // something does not work
)

// Finding is what one check has found.
type Finding struct {
	Check string `json:"check"` // what was looked at
	State State  `json:"state"`
	Text  string `json:"text"`
}

// Well reports whether there is no problem among findings.
func Well(all []Finding) bool {
	return !slices.ContainsFunc(all, func(f Finding) bool { return f.State == Problem })
}

// find returns a finding.
func find(check string, state State, format string, args ...any) Finding {
	return Finding{check, state, fmt.Sprintf(format, args...)}
}

const (
	slow   = 5 * time.Millisecond // from when on a disk makes everybody wait
	ahead  = time.Minute          // how far another clock may be away
	jumped = 2 * time.Second
)

// Store tells how a store does.
func Store(ctx context.Context, e store.Store) []Finding {
	h, err := e.Health(ctx)
	if err != nil {
		return []Finding{find("store", Problem, "%v", err)}
	}
	held := fmt.Sprintf("%d conversations, %s; %d turns wait, %d are due", h.Logs, size(h.Bytes), h.Scheduled, h.Due+h.Leased)
	if h.Mode == "remote" {
		return append([]Finding{
			find("store", OK, "NATS servers of version %s: %s", h.Server, held),
			find("sync", Warning, "whether the servers have sync_interval: always cannot be seen from here; without it, a power failure takes back what was acknowledged"),
		}, troubles(h)...)
	}
	all := []Finding{find("store", OK, "%s, for one process (NATS %s is inside): %s", h.Dir, h.Server, held)}
	if !h.Full && h.FreeBytes > 0 {
		all = append(all, find("disk", OK, "%s are free", size(h.FreeBytes)))
	}
	if h.SyncLatency > 0 && h.SyncLatency <= slow {
		all = append(all, find("sync", OK, "the disk takes %v to make a write last", h.SyncLatency.Round(10*time.Microsecond)))
	}
	return append(all, troubles(h)...)
}

// troubles tells what a store complains of.
func troubles(h store.Health) (all []Finding) {
	state := Warning
	if h.Full {
		state = Problem
	}
	for _, text := range h.Warnings {
		all = append(all, find("store", state, "%s", text))
	}
	return all
}

// size writes a number of bytes for people.
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

// Logs reads all conversations and tells of those that are damaged.
func Logs(ctx context.Context, e store.Store, now time.Time) (all []Finding) {
	h := conversation.New(conversation.Config{Store: e})
	var logs, records, underWay int64
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
		default:
			logs, records = logs+1, records+v.Last
			if v.Turn != "" || len(v.Inputs) > 0 {
				underWay++
			}
			if v.Changed.After(now.Add(ahead)) {
				future = fmt.Sprintf("%s was written to at %s", v.ID, v.Changed.Format(time.RFC3339))
			}
		}
	}
	if future != "" {
		all = append(all, find("clock", Warning, "%s, which is still to come: the clock has been set back, or was wrong", future))
	}
	return append(all, find("logs", OK, "%d conversations with %d records are whole; something is under way in %d", logs, records, underWay))
}

// Clock judges the clock by what it says, by how far it has gone beside what
// has really passed since, and by the times that others have told.
func Clock(now time.Time, beside time.Duration, told []Told) Finding {
	if beside.Abs() > jumped {
		return find("clock", Warning, "it has jumped by %v while it was looked at: what has waited through that tries at once", beside.Round(time.Second))
	}
	if y := now.Year(); y < 2025 || y > 2100 {
		return find("clock", Problem, "it says %s; waits end at instants, and certificates hold until one", now.Format(time.RFC3339))
	}
	for _, t := range told {
		if off := t.Off.Abs().Round(time.Second); off > ahead {
			return find("clock", Warning, "it is %v off what %s says", off, t.Who)
		}
	}
	if len(told) == 0 {
		return find("clock", OK, "it says %s; nobody was there to compare it with", now.Format(time.RFC3339))
	}
	return find("clock", OK, "it says %s, as do those who were asked", now.Format(time.RFC3339))
}

// Beside tells how far the clock has gone beside what has really passed since
// a moment that time.Now gave.
func Beside(began, now time.Time) time.Duration {
	return now.Round(0).Sub(began.Round(0)) - now.Sub(began)
}

// Told is how far the clock of somebody else is ahead of ours.
type Told struct {
	Who string
	Off time.Duration
}
