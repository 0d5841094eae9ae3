package council

import (
	"errors"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// Body returns the wire form of an event of the council with that id.
func Body(id string, e Event) wire.Body {
	ref := wire.Ref{TurnID: id}
	switch {
	case e.Started != nil:
		return e.Started.body(ref)
	case e.Member != nil:
		return e.Member.body(ref)
	case e.Quorum != nil:
		return wire.CouncilQuorum{
			Ref: ref, Answered: count(e.Quorum, Answered), Asking: count(e.Quorum, Asking),
			Waiting: count(e.Quorum, Waiting), Grace: wire.Millis(e.Grace),
		}
	case e.Turn != nil:
		return wire.Turn{Ref: ref, Event: e.Turn}
	case e.Ended != nil:
		return e.Ended.body(ref, e.Err)
	}
	return wire.Unknown{}
}

func (c *Council) body(ref wire.Ref) wire.CouncilStart {
	b := wire.CouncilStart{
		Ref: ref, Judge: c.Aggregator.Model.Name().String(), Quorum: c.Quorum, Budget: wire.Millis(c.Budget),
		Reserve: wire.Millis(c.Reserve), Grace: wire.Millis(c.Grace), JudgeBudget: wire.Millis(c.AggregatorBudget), Cap: wire.Millis(c.Cap),
	}
	for _, m := range c.Members {
		b.Members = append(b.Members, m.Model.Name().String())
	}
	return b
}

func (m *Member) body(ref wire.Ref) wire.CouncilMember {
	b := wire.CouncilMember{
		Ref: ref, Name: m.Name, Member: m.Index, State: string(m.State), Tries: m.Tries, Took: wire.Millis(m.Took), Remaining: wire.Millis(m.Left),
		Delay: wire.Millis(m.Wait), Reason: m.reason(), Answer: m.Text,
	}
	if f := m.Fault; f != nil {
		b.Kind, b.Code, b.Message = f.Kind.String(), f.ShortCode(), f.Redacted()
	}
	return b
}

// reason is what a member waits for or was cut off by, as the wire names it.
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

func (r *Result) body(ref wire.Ref, err error) wire.CouncilEnd {
	b := wire.CouncilEnd{
		Ref: ref, Status: string(r.Status), Answered: count(r.Members, Answered), Failed: count(r.Members, Failed),
		CutOff: count(r.Members, CutOff), Took: wire.Millis(r.Took),
	}
	if r.Status == turn.Failed {
		b.Message = fault.Scrub(err.Error())
	}
	return b
}
