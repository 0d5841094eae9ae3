package conversation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// A store may lose a part of a log: a file was cut or a block was damaged. The rest of the conversation can be
// read and continues. What cannot be known is how far the turns have come that were not over before: their tools
// may have run. So these turns are sealed as failed, and the user decides.

// lose notes that records are missing or were changed. What has happened since the store has noticed is not
// in doubt; zero: everything before is.
func (l *log) lose(d store.Damage, noticed time.Time) {
	l.lost = append(l.lost, d)
	if d.Next == d.N { // changed: none is missing
		return
	}
	before := func(t time.Time) bool { return noticed.IsZero() || t.Before(noticed) }
	l.gap = true
	l.now.lost = l.now.lost || !l.idle() && before(l.now.claimed)
	for _, in := range l.inputs {
		if before(in.At) {
			l.doubt = append(l.doubt, in.ID)
		}
	}
}

// passGap is called with the records behind a gap. The first one of a worker says which turn it has: inputs
// that came before that one have had their turn.
func (l *log) passGap(r store.Record) {
	if l.born.IsZero() && len(l.lost) > 0 { // without its first record
		l.born = r.Time
	}
	if !l.gap || aside(r.Type) {
		return
	}
	if i := slices.IndexFunc(l.inputs, func(in Input) bool { return in.ID == r.Turn }); i >= 0 {
		l.inputs = l.inputs[i:]
		if r.Type != running {
			l.take(r.Turn)
		}
	}
	l.open(r.Turn, r.Time)
	l.gap = false
}

// incomplete reports whether a part of a turn's record was lost, or may have been.
func (l *log) incomplete(turnID string) bool {
	return l.now.id == turnID && l.now.lost || l.input(turnID) != nil && slices.Contains(l.doubt, turnID)
}

// failIncomplete claims a turn of whose record a part was lost, and seals it.
func (w *worker) failIncomplete(ctx context.Context) error {
	input, err := w.claim(ctx)
	if err != nil {
		return err
	}
	l := w.log
	why := turn.Error{Message: "part of this conversation's record was lost: " + lostPart(l.lost[len(l.lost)-1]), Kind: fault.Unknown.String(), Code: "record-lost"}
	w.runner.Log.Error("turn failed: part of its record was lost", "conversation", l.id, "turn", w.turn)
	return w.seal(ctx, turn.Failed, append(input, why)...)
}

// lostPart says which records are lost.
func lostPart(d store.Damage) string {
	const doubt = ", and with them how far this turn had come"
	switch {
	case d.Next > d.N+1:
		return fmt.Sprintf("its records %d to %d are missing", d.N, d.Next-1) + doubt
	case d.Next > 0:
		return fmt.Sprintf("its record %d is missing", d.N) + doubt
	}
	return fmt.Sprintf("its records from %d on are missing", d.N) + doubt
}

// healLosses takes up the turns that have lost records or jobs, as far as the store has noticed. It is called
// when a runner starts.
func (r *Runner) healLosses(ctx context.Context) error {
	h, err := r.Store.Health(ctx)
	if err != nil || len(h.Losses) == 0 {
		return err
	}
	last, jobs, records := time.Time{}, false, map[string]store.Loss{}
	for _, loss := range h.Losses { // the oldest first
		last = loss.Noticed
		if jobs = jobs || loss.Jobs; !loss.Jobs {
			records[loss.Conversation] = loss
		}
	}
	for head, err := range r.Store.Conversations(ctx, "") {
		if err != nil {
			return err
		}
		loss, lost := records[head.ID]
		if !jobs && !lost && head.Last.Type == turn.Type(turn.Sealed{}) {
			continue // nothing is in progress
		}
		err := r.heal(ctx, head.ID, loss, last)
		if err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, store.ErrDeleted) {
			r.Log.Error("conversation with lost records not taken up", "conversation", head.ID, "error", err)
		}
	}
	return nil
}

// heal notes in a conversation that the end of its record was lost, if it was, and enqueues what it has to
// do. noticed is when the last loss of records or jobs was: what was claimed before has no worker.
func (r *Runner) heal(ctx context.Context, conversation string, loss store.Loss, noticed time.Time) error {
	l, err := r.load(ctx, conversation)
	if err != nil {
		return err
	}
	defer r.cache.put(l)
	if loss.Conversation != "" && loss.First > 0 && loss.Noticed.After(l.noticed) {
		unknown := func(*log) error { return nil }
		lost := wire.RecordLost{ConversationID: l.id, First: cmp.Or(loss.N, l.at.N+1), Noticed: loss.Noticed}
		if err := r.append(ctx, l, "", unknown, one(lost)); err != nil {
			return err
		}
	}
	if l.idle() {
		return r.enqueueNext(ctx, l)
	}
	job := newJob(l, l.now.id, payload{Lost: noticed})
	if l.now.held || l.now.lost || l.now.abort || l.due().IsZero() {
		return r.enqueueAccepted(ctx, job)
	}
	return r.Store.Schedule(ctx, job, l.due())
}
