package wire

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/turn"
)

// Turn is an event of an agent's turn whose members are those of its type in
// package turn: [turn.Start], [turn.UserMessage], [turn.AssistantMessage],
// [turn.ToolCall], [turn.ToolResult], [turn.Usage], [turn.Compacted],
// [turn.Restarted], [turn.Sealed], [turn.TextDelta] or [turn.ReasoningDelta].
type Turn struct {
	ConversationID string
	TurnID         string
	Event          turn.Event
}

// Type gives the event's type.
func (t Turn) Type() string { return t.Event.Type() }

func (t Turn) turn() string { return t.TurnID }

// ids is whose a Turn is, as JSON.
type ids struct {
	ConversationID string `json:"conversationId"`
	TurnID         string `json:"turnId"`
}

// MarshalJSON writes the ids and the event's members as one object.
func (t Turn) MarshalJSON() ([]byte, error) { return join(ids{t.ConversationID, t.TurnID}, t.Event) }

// OfTurn gives a turn's event as it goes over the wire. Of the call only whose
// it is counts; the event knows who was asked.
func OfTurn(c Call, e turn.Event) Body {
	switch e := e.(type) {
	case turn.Retry:
		return retryOf(c.to(e.Name), e)
	case turn.Waiting:
		return ProviderWaiting{Call: c.to(e.Name), Attempt: e.Attempt, RemainingMs: e.Remaining.Milliseconds()}
	case turn.Recovered:
		return ProviderRecovered{Call: c.to(e.Name), Retries: e.Retries, WaitedMs: e.Waited.Milliseconds()}
	case turn.Switched:
		return ProviderSwitched{Call: c, From: e.From, To: e.To, Why: e.Why}
	case turn.Error:
		return Error{
			Call: c.to(e.Name), Message: e.Message, Kind: e.Kind, Code: e.Code, RequestID: e.RequestID,
			Retries: e.Retries, WaitedMs: e.WaitedMs, Committed: e.Committed,
		}
	}
	return Turn{c.ConversationID, c.TurnID, e}
}

// ToTurn gives the turn's event that a body tells; false: it tells none. A fault
// in it is as much of one as goes over the wire.
func ToTurn(b Body) (turn.Event, bool) {
	switch b := b.(type) {
	case Turn:
		return b.Event, true
	case ProviderRetry:
		return b.toTurn(), true
	case ProviderWaiting:
		return turn.Waiting{Name: b.name(), Attempt: b.Attempt, Remaining: ms(b.RemainingMs)}, true
	case ProviderRecovered:
		return turn.Recovered{Name: b.name(), Retries: b.Retries, Waited: ms(b.WaitedMs)}, true
	case ProviderSwitched:
		return turn.Switched{From: b.From, To: b.To, Why: b.Why}, true
	case Error:
		return turn.Error{
			Name: b.name(), Message: b.Message, Kind: b.Kind, Code: b.Code, RequestID: b.RequestID,
			Retries: b.Retries, WaitedMs: b.WaitedMs, Committed: b.Committed, Fault: faultOf(b.Kind, b.Code, b.Message),
		}, true
	}
	return nil, false
}

// Kept tells whether an event of a conversation lasts, so that its number is
// its own. One that passes by bears the number of the kept one before it.
func Kept(b Body) bool {
	switch b.(type) {
	case InputQueued, InputRemoved, ConversationChanged:
		return true
	}
	e, ok := ToTurn(b)
	return ok && turn.Kept(e)
}

// toTurn gives a retry as a turn tells it.
func (e ProviderRetry) toTurn() turn.Retry {
	limit := e.MaxRetries
	if limit == 0 {
		limit = policy.Unlimited
	}
	f := faultOf(e.Kind, e.Code, e.Message)
	f.RequestID = e.RequestID
	return turn.Retry{
		Name: e.name(), Fault: f, Attempt: e.Attempt, Delay: ms(e.DelayMs),
		Hinted: e.Reason == "hint", Limit: limit, Deadline: e.Deadline,
	}
}

// faultOf gives a fault of which only this is known. What it says is told by
// Error as it was on the wire.
func faultOf(kind, code, message string) *fault.Error {
	f := &fault.Error{Kind: fault.KindOf(kind), Code: code, Message: message}
	if status, err := strconv.Atoi(code); err == nil {
		f.Status, f.Code = status, ""
		f.Message = strings.TrimPrefix(message, "HTTP "+code+": ")
	}
	return f
}

func (c Call) name() llm.Name { return llm.Name{Provider: c.Provider, Model: c.Model} }

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// to gives the call as one to a model.
func (c Call) to(n llm.Name) Call {
	c.Provider, c.Model = n.Provider, n.Model
	return c
}

func retryOf(c Call, e turn.Retry) ProviderRetry {
	return newRetry(c, e.Fault, e.Attempt, policy.Verdict{Wait: e.Delay, Hinted: e.Hinted}, e.Limit, e.Deadline)
}

// turns has a reader for each type of a Turn.
func turns(kind string) func([]byte) (turn.Event, error) {
	switch kind {
	case turn.Start{}.Type():
		return member[turn.Start]
	case turn.UserMessage{}.Type():
		return member[turn.UserMessage]
	case turn.AssistantMessage{}.Type():
		return member[turn.AssistantMessage]
	case turn.ToolCall{}.Type():
		return member[turn.ToolCall]
	case turn.ToolResult{}.Type():
		return member[turn.ToolResult]
	case turn.Usage{}.Type():
		return member[turn.Usage]
	case turn.Compacted{}.Type():
		return member[turn.Compacted]
	case turn.Restarted{}.Type():
		return member[turn.Restarted]
	case turn.Sealed{}.Type():
		return member[turn.Sealed]
	case turn.TextDelta{}.Type():
		return member[turn.TextDelta]
	case turn.ReasoningDelta{}.Type():
		return member[turn.ReasoningDelta]
	}
	return nil
}

// member reads an event's own members.
func member[E turn.Event](text []byte) (turn.Event, error) {
	var e E
	err := json.Unmarshal(text, &e)
	return e, err
}

// readTurn reads the body of an event of a turn; false: the type is none of them.
func readTurn(kind string, text []byte) (b Body, known bool, err error) {
	reader := turns(kind)
	if reader == nil {
		return nil, false, nil
	}
	var whose ids
	if err := json.Unmarshal(text, &whose); err != nil {
		return nil, true, err
	}
	e, err := reader(text)
	return Turn{whose.ConversationID, whose.TurnID, e}, true, err
}
