package council

import (
	"errors"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// Body gives an event as it goes over the wire, of the council with that id.
func Body(id string, e Event) wire.Body {
	ref := wire.Ref{TurnID: id}
	switch e := e.(type) {
	case Opened:
		return e.body(ref)
	case Changed:
		return e.body(ref)
	case Quorate:
		return wire.CouncilQuorum{
			Ref: ref, Answered: count(e.Members, Answered), Asking: count(e.Members, Asking),
			Waiting: count(e.Members, Waiting), GraceMs: ms(e.Grace),
		}
	case Judging:
		return wire.Turn{Ref: ref, Event: e.Event}
	case Closed:
		return e.body(ref)
	}
	return wire.Unknown{}
}

func (o Opened) body(ref wire.Ref) wire.Body {
	t := o.Terms
	b := wire.CouncilStart{
		Ref: ref, Judge: o.Aggregator.String(), Quorum: t.Quorum, BudgetMs: ms(t.Budget), ReserveMs: ms(t.Reserve),
		GraceMs: ms(t.Grace), JudgeBudgetMs: ms(t.AggregatorBudget), CapMs: ms(t.Cap),
	}
	for _, name := range o.Members {
		b.Members = append(b.Members, name.String())
	}
	return b
}

func (c Changed) body(ref wire.Ref) wire.Body { return c.Voice.body(ref, c.Member) }

// body gives a voice as the event of a member.
func (v Voice) body(ref wire.Ref, number int) wire.CouncilMember {
	b := wire.CouncilMember{
		Ref: ref, Name: v.Name, Member: number, State: string(v.State), Tries: v.Tries, TookMs: ms(v.Took), RemainingMs: ms(v.Left),
		DelayMs: ms(v.Wait), Reason: v.reason(), Answer: v.Text,
	}
	if f := v.Fault; f != nil {
		b.Kind, b.Code, b.Message = f.Kind.String(), f.ShortCode(), f.Redacted()
	}
	return b
}

// reason tells in a word what a member waits for, or what has cut it off.
func (v Voice) reason() string {
	switch {
	case v.State == Waiting && v.Wait == 0:
		return "breaker"
	case v.State == Waiting && v.Hinted:
		return "hint"
	case v.State == Waiting:
		return "schedule"
	case v.State != CutOff:
		return ""
	case errors.Is(v.Why, errGrace):
		return "grace"
	case errors.Is(v.Why, errCap):
		return "cap"
	}
	return "stopped"
}

func (c Closed) body(ref wire.Ref) wire.Body {
	b := wire.CouncilEnd{
		Ref: ref, Status: string(c.Status()), Answered: c.Count(Answered), Failed: c.Count(Failed), CutOff: c.Count(CutOff),
		TookMs: ms(c.Took),
	}
	if c.Status() == turn.Failed {
		b.Message = fault.Scrub(c.Err.Error())
	}
	return b
}

func ms(d time.Duration) int64 { return d.Milliseconds() }
