package wire

import "github.com/ridethrough/ridethrough/llm"

// InputQueued means that a user's input waits for its turn, or that the text of
// a waiting input has changed. TurnID is that of the turn that it will begin.
type InputQueued struct {
	Ref
	Text    string      `json:"text"`                 // "": none, a model is asked again for what it has left unanswered
	Images  []llm.Image `json:"images,omitzero"`      // what the user shows with it; their files are kept beside the event
	Compact bool        `json:"compact,omitzero"`     // the history is to be made smaller; Text is what the user asks of the summary
	Parent  string      `json:"traceparent,omitzero"` // of the request that the input came with (W3C Trace Context)

	UntilReset bool `json:"untilReset,omitzero"` // its turn waits for a usage window that is spent, whatever the policy says
}

// InputRemoved means that an input will not have a turn of its own: the user has
// removed it, or its request was cut off before it was accepted. One that steers
// the turn in progress is in a user message of that.
type InputRemoved struct{ Ref }

func (InputQueued) kind() string  { return "input-queued" }
func (InputRemoved) kind() string { return "input-removed" }
