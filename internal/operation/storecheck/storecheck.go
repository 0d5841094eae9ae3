// Package storecheck checks the store of conversations, its disk and its logs. It changes nothing. Its findings are
// those of package doctor.
package storecheck

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/operation/archive"
	"github.com/ridethrough/ridethrough/internal/operation/doctor"
	"github.com/ridethrough/ridethrough/internal/plural"
	"github.com/ridethrough/ridethrough/store"
)

// slowSync is the time that a disk needs for a write at which it delays every write.
const slowSync = 5 * time.Millisecond

// Store checks a store's health.
func Store(ctx context.Context, e store.Store) []doctor.Finding {
	h, err := e.Health(ctx)
	if err != nil {
		return []doctor.Finding{doctor.Find("store", doctor.Problem, "%v", err)}
	}
	contents := fmt.Sprintf("%s, %s; %s waiting, %d due", conversations(int(h.Logs)), size(h.Bytes), plural.Count(int(h.Scheduled), "turn", "turns"), h.Due+h.Leased)
	if h.Mode == "remote" {
		return append([]doctor.Finding{
			doctor.Find("store", doctor.OK, "NATS servers of version %s, stored on %s: %s", h.Server, servers(h.Replicas), contents),
			doctor.Find("sync", doctor.Warning, "cannot see whether the servers have sync_interval: always; without it, a power failure loses acknowledged writes"),
		}, warnings(h)...)
	}
	all := []doctor.Finding{doctor.Find("store", doctor.OK, "%s, used by one process, with NATS %s embedded: %s", h.Dir, h.Server, contents)}
	if !h.Full && h.FreeBytes > 0 {
		all = append(all, doctor.Find("disk", doctor.OK, "%s free", size(h.FreeBytes)))
	}
	if h.SyncLatency > 0 && h.SyncLatency <= slowSync {
		all = append(all, doctor.Find("sync", doctor.OK, "the disk takes %v to sync a write", h.SyncLatency.Round(10*time.Microsecond)))
	}
	all = append(all, Losses(h.Losses)...)
	if len(h.Losses) > 0 {
		all = append(all, doctor.Find("store", doctor.Warning, "losses are reported until %s is deleted", filepath.Join(h.Dir, "losses")))
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
func Losses(all []store.Loss) (found []doctor.Finding) {
	for _, l := range all[:min(len(all), lossesShown)] {
		found = append(found, doctor.Find("store", doctor.Problem, "%s", l))
	}
	if more := len(all) - lossesShown; more > 0 {
		found = append(found, doctor.Find("store", doctor.Problem, "and %s", plural.Count(more, "more loss", "more losses")))
	}
	return found
}

// Files reports damaged files of a store that was not opened, and what they have lost.
func Files(damaged []string, losses []store.Loss) []doctor.Finding {
	found := Losses(losses)
	for _, name := range damaged {
		found = append(found, doctor.Find("store", doctor.Problem, "%s is damaged", name))
	}
	if len(found) > 0 {
		found = append(found, doctor.Find("store", doctor.Warning, "the store was not opened, and its logs were not read; `ridethrough serve` opens it without what was lost, "+
			"and keeps damaged files as they are in the directory damaged"))
	}
	return found
}

// warnings returns the store's own warnings, which are problems if it is full.
func warnings(h store.Health) (all []doctor.Finding) {
	state := doctor.Warning
	if h.Full {
		state = doctor.Problem
	}
	for _, text := range h.Warnings {
		all = append(all, doctor.Find("store", state, "%s", text))
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
func Logs(ctx context.Context, e store.Store, now time.Time) (all []doctor.Finding) {
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
			all = append(all, doctor.Find("logs", doctor.Problem, "%v", err))
		case errors.Is(err, conversation.ErrNotFound), errors.Is(err, store.ErrDeleted):
		case err != nil:
			return append(all, doctor.Find("logs", doctor.Problem, "%v", err))
		case len(v.Lost) > 0:
			for _, d := range v.Lost {
				all = append(all, doctor.Find("logs", doctor.Problem, "%v", &d))
			}
		default:
			logs, records = logs+1, records+v.Last
			if v.Turn != "" || len(v.Inputs) > 0 {
				active++
			}
			if v.Changed.After(now.Add(doctor.MaxSkew)) {
				future = fmt.Sprintf("conversation %s was written at %s", v.ID, v.Changed.Format(time.RFC3339))
			}
		}
	}
	if future != "" {
		all = append(all, doctor.Find("clock", doctor.Warning, "%s, in the future: the clock has been set back, or was wrong", future))
	}
	return append(all, doctor.Find("logs", doctor.OK, "%s with %s intact; %d active", conversations(int(logs)), plural.Count(int(records), "record", "records"), active))
}
