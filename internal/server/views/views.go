// Package views writes conversations in the JSON of the HTTP API, package api, and reads them: the server and its
// client import it. Their errors become problems, and problems these errors.
package views

import (
	"time"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/server/api"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// Of returns a conversation as its JSON.
func Of(v conversation.View, now time.Time) api.Conversation {
	c := api.Conversation{
		ID: v.ID, Settings: v.Settings, Created: api.Time(v.Created), Changed: api.Time(v.Changed),
		Seq: v.Last, TurnID: v.Turn, Queue: QueueOf(v.Inputs), Paused: api.Time(v.Paused),
	}
	if w := v.Wait; w != nil {
		c.Wait = &api.Wait{
			Until: api.Time(w.Due), RemainingMs: api.RemainingMs(w.Due, now), Retry: wire.Ordinal(w.Run.Tries),
			Kind: w.Fault.Kind.String(), Code: w.Fault.ShortCode(), Message: w.Fault.Redacted(),
		}
	}
	if v.Approval != nil {
		c.Approval = &ApprovalsOf([]conversation.Approval{*v.Approval})[0]
	}
	return c
}

// ApprovalsOf returns calls that wait for approval as their JSON.
func ApprovalsOf(all []conversation.Approval) []api.Approval {
	made := make([]api.Approval, len(all))
	for i, a := range all {
		made[i] = api.Approval{ConversationID: a.Conversation, Title: a.Title, TurnID: a.Turn, Since: api.Time(a.Since), ApprovalRequested: a.ApprovalRequested}
	}
	return made
}

// From returns the conversation of its JSON.
func From(c api.Conversation) conversation.View {
	v := conversation.View{ID: c.ID, Settings: c.Settings, Created: c.Created, Changed: c.Changed, Last: c.Seq, Turn: c.TurnID, Paused: c.Paused}
	if w := c.Wait; w != nil {
		v.Wait = &conversation.Wait{Conversation: v.ID, Title: v.Settings.Title, Turn: v.Turn, Retry: turn.Retry{Wait: policy.Wait{
			Run: policy.Run{Tries: int(w.Retry)}, Fault: &fault.Error{Kind: fault.KindOf(w.Kind), Code: w.Code, Message: w.Message}, Due: w.Until,
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
func SummaryOf(v conversation.View) api.Summary {
	return api.Summary{ID: v.ID, Title: v.Settings.Title, Model: v.Settings.Model, Turns: v.Turns, Created: api.Time(v.Created), Changed: api.Time(v.Changed), Paused: api.Time(v.Paused)}
}

// FromSummary returns the conversation of a list, with the fields that a list has.
func FromSummary(s api.Summary) conversation.View {
	return conversation.View{
		ID: s.ID, Settings: conversation.Settings{Title: s.Title, Model: s.Model}, Turns: s.Turns, Created: s.Created, Changed: s.Changed, Paused: s.Paused,
	}
}

// RestoredOf returns the answer to the import of a conversation.
func RestoredOf(added int, v conversation.View) api.Restored {
	return api.Restored{Added: added, InProgress: v.Turn != "" || len(v.Inputs) > 0}
}

// ImagesOf returns the images of a body. The runner checks them.
func ImagesOf(images []api.NewImage) (all []llm.Image) {
	for _, i := range images {
		all = append(all, llm.Image{Name: i.Name, Data: i.Data})
	}
	return all
}

// NewImages returns images in the form of the API.
func NewImages(images []llm.Image) (all []api.NewImage) {
	for _, i := range images {
		all = append(all, api.NewImage{Name: i.Name, Data: i.Data})
	}
	return all
}

// QueueOf returns inputs as their JSON.
func QueueOf(inputs []conversation.Input) []api.Input {
	queue := make([]api.Input, len(inputs))
	for i, in := range inputs {
		queue[i] = api.Input(in)
		queue[i].At = api.Time(in.At)
	}
	return queue
}
