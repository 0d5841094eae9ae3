package wire

// InputQueued tells that the user has said something that waits for its turn,
// or that what waits has been put into other words. TurnID is that of the turn
// that it will be.
type InputQueued struct {
	Call
	Text string `json:"text"` // "": nothing, a model is to be asked again what it has left unanswered
}

// InputRemoved tells that an input will not have a turn of its own: somebody
// has taken it back, or it steers the turn under way.
type InputRemoved struct {
	Call
	Steers bool `json:"steers,omitzero"`
}

// Type gives "input-queued".
func (InputQueued) Type() string { return typeQueued }

// Type gives "input-removed".
func (InputRemoved) Type() string { return typeRemoved }
