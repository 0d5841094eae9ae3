package council

import (
	"errors"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// Body returns an event of the council with that id as it goes over the wire.
func Body(id string, e Event) wire.Body {
	ref := wire.Ref{TurnID: id}
	switch e := e.(type) {
	case Started:
		return e.body(ref)
	case MemberChanged:
		return e.body(ref)
	case QuorumReached:
		return wire.CouncilQuorum{
			Ref: ref, Answered: count(e.Members, Answered), Asking: count(e.Members, Asking),
			Waiting: count(e.Members, Waiting), GraceMs: ms(e.Grace),
		}
	case AggregatorEvent:
		return wire.Turn{Ref: ref, Event: e.Event}
	case Ended:
		return e.body(ref)
	}
	return wire.Unknown{}
}

func (e Started) body(ref wire.Ref) wire.Body {
	t := e.Terms
	b := wire.CouncilStart{
		Ref: ref, Judge: e.Aggregator.String(), Quorum: t.Quorum, BudgetMs: ms(t.Budget), ReserveMs: ms(t.Reserve),
		GraceMs: ms(t.Grace), JudgeBudgetMs: ms(t.AggregatorBudget), CapMs: ms(t.Cap),
	}
	for _, name := range e.Members {
		b.Members = append(b.Members, name.String())
	}
	return b
}

func (e MemberChanged) body(ref wire.Ref) wire.Body { return e.Member.body(ref, e.Index) }

// body returns a member as its event.
func (m Member) body(ref wire.Ref, number int) wire.CouncilMember {
	b := wire.CouncilMember{
		Ref: ref, Name: m.Name, Member: number, State: string(m.State), Tries: m.Tries, TookMs: ms(m.Took), RemainingMs: ms(m.Left),
		DelayMs: ms(m.Wait), Reason: m.reason(), Answer: m.Text,
	}
	if f := m.Fault; f != nil {
		b.Kind, b.Code, b.Message = f.Kind.String(), f.ShortCode(), f.Redacted()
	}
	return b
}

// reason is what a member waits for, or what has cut it off, in a word.
func (m Member) reason() string {
	switch {
	case m.State == Waiting && m.Wait == 0:
		return "breaker"
	case m.State == Waiting && m.Hinted:
		return "hint"
	case m.State == Waiting:
		return "schedule"
	case m.State != CutOff:
		return ""
	case errors.Is(m.Why, errGrace):
		return "grace"
	case errors.Is(m.Why, errCap):
		return "cap"
	}
	return "stopped"
}

func (e Ended) body(ref wire.Ref) wire.Body {
	b := wire.CouncilEnd{
		Ref: ref, Status: string(e.Status()), Answered: e.Count(Answered), Failed: e.Count(Failed), CutOff: e.Count(CutOff),
		TookMs: ms(e.Took),
	}
	if e.Status() == turn.Failed {
		b.Message = fault.Scrub(e.Err.Error())
	}
	return b
}

func ms(d time.Duration) int64 { return d.Milliseconds() }
