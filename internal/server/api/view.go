package api

import (
	"time"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// Of returns a conversation as its JSON.
func Of(v conversation.View, now time.Time) Conversation {
	c := Conversation{
		ID: v.ID, Settings: v.Settings, Created: Time(v.Created), Changed: Time(v.Changed),
		Seq: v.Last, TurnID: v.Turn, Queue: QueueOf(v.Inputs),
	}
	if w := v.Wait; w != nil {
		c.Wait = &Wait{
			Until: Time(w.Due), RemainingMs: RemainingMs(w.Due, now), Retry: wire.Ordinal(w.Run.Tries),
			Kind: w.Fault.Kind.String(), Message: w.Fault.Redacted(),
		}
	}
	if v.Approval != nil {
		c.Approval = &ApprovalsOf([]conversation.Approval{*v.Approval})[0]
	}
	return c
}

// ApprovalsOf returns calls that wait for approval as their JSON.
func ApprovalsOf(all []conversation.Approval) []Approval {
	made := make([]Approval, len(all))
	for i, a := range all {
		made[i] = Approval{a.Conversation, a.Title, a.Turn, Time(a.Since), a.ApprovalRequested}
	}
	return made
}

// View returns the conversation of its JSON.
func (c Conversation) View() conversation.View {
	v := conversation.View{ID: c.ID, Settings: c.Settings, Created: c.Created, Changed: c.Changed, Last: c.Seq, Turn: c.TurnID}
	if w := c.Wait; w != nil {
		v.Wait = &conversation.Wait{Conversation: v.ID, Title: v.Settings.Title, Turn: v.Turn, Retry: turn.Retry{Wait: policy.Wait{
			Run: policy.Run{Tries: int(w.Retry)}, Fault: &fault.Error{Kind: fault.KindOf(w.Kind), Message: w.Message}, Due: w.Until,
		}}}
	}
	if a := c.Approval; a != nil {
		v.Approval = &conversation.Approval{Conversation: v.ID, Title: v.Settings.Title, Turn: v.Turn, Since: a.Since, ApprovalRequested: a.ApprovalRequested}
	}
	for _, in := range c.Queue {
		v.Inputs = append(v.Inputs, conversation.Input(in))
	}
	return v
}

// SummaryOf returns a conversation as it is in lists.
func SummaryOf(v conversation.View) Summary {
	return Summary{ID: v.ID, Title: v.Settings.Title, Model: v.Settings.Model, Created: Time(v.Created), Changed: Time(v.Changed)}
}

// View returns the conversation of a list, with what the list has of it.
func (s Summary) View() conversation.View {
	return conversation.View{
		ID: s.ID, Settings: conversation.Settings{Title: s.Title, Model: s.Model}, Created: s.Created, Changed: s.Changed,
	}
}

// RestoredOf returns the answer to the import of a conversation.
func RestoredOf(added int, v conversation.View) Restored {
	return Restored{Added: added, InProgress: v.Turn != "" || len(v.Inputs) > 0}
}

// QueueOf returns inputs as their JSON.
func QueueOf(inputs []conversation.Input) []Input {
	queue := make([]Input, len(inputs))
	for i, in := range inputs {
		queue[i] = Input(in)
		queue[i].At = Time(in.At)
	}
	return queue
}

// Time returns a time as the API shows it: UTC, in milliseconds. Zero stays zero.
func Time(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC().Truncate(time.Millisecond)
}

// RemainingMs returns the milliseconds from now until t, at least 0; 0 for the zero time.
func RemainingMs(t, now time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return max(0, t.Sub(now).Milliseconds())
}

// Percent returns a share in whole percent, rounded down: only all of it is 100.
func Percent(share float64) int { return int(100*share + 1e-9) }

// Credential returns how a credential is named that the gateway knows by a digest: by its first characters, which
// tell a few of them apart.
func Credential(digest string) string {
	const own, shown = "own", 5
	if digest == own {
		return own
	}
	return digest[:min(len(digest), shown)] + "…"
}
