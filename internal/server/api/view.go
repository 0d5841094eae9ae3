package api

import (
	"time"

	"github.com/ridethrough/ridethrough/conversation"
)

// Of returns a conversation as its JSON.
func Of(v conversation.View, now time.Time) Conversation {
	c := Conversation{
		ID: v.ID, Settings: v.Settings, Created: Time(v.Created), Changed: Time(v.Changed),
		Seq: v.Last, TurnID: v.Turn, Queue: QueueOf(v.Inputs),
	}
	if w := v.Waits; w != nil {
		c.Wait = &Wait{Until: Time(w.Until), RemainingMs: RemainingMs(w.Until, now), Attempt: w.Attempt, Kind: w.Kind, Message: w.Message}
	}
	return c
}

// View returns the conversation of its JSON.
func (c Conversation) View() conversation.View {
	v := conversation.View{ID: c.ID, Settings: c.Settings, Created: c.Created, Changed: c.Changed, Last: c.Seq, Turn: c.TurnID}
	if w := c.Wait; w != nil {
		v.Waits = &conversation.Wait{Until: w.Until, Attempt: w.Attempt, Kind: w.Kind, Message: w.Message}
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
