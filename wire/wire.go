// Package wire is the public vocabulary of events as JSON, the same on every
// surface: server-sent events, NDJSON, the web page, the terminal.
//
// Names are in camelCase, types in kebab-case, durations in whole milliseconds and instants in RFC 3339. More
// types and members will be added: a reader ignores those that it does not know. The package has no clock:
// the caller knows when an event happened. Packages server and cli write events, and other programs read
// them.
package wire

import (
	"time"

	"github.com/ridethrough/ridethrough/turn"
)

// version is of the vocabulary. It changes when a reader that follows the rules above would misread an event.
const version = 1

// Event is one event in its envelope. It is one JSON object: the members of
// the envelope, then those of the body.
type Event struct {
	Seq  int64     // numbers the events of one stream, upwards; numbers may be missing
	Time time.Time // when it happened
	Body Body
}

// Body is the content of an event: one of [Turn], [InputQueued], [InputRemoved], [ConversationChanged],
// [ConversationPaused], [ConversationResumed], [RecordLost], [CouncilStart], [CouncilMember], [CouncilQuorum],
// [CouncilEnd], [LimitUsed], [LimitWaiting], [LimitWaited], [Reset], [Exit], [ConnectionLost], [ConnectionBack] and
// [Unknown]. Only this package has bodies.
type Body interface {
	kind() string
}

// Type returns a body's type on the wire, such as "turn-start".
func Type(b Body) string { return b.kind() }

// Ref names the conversation and the turn that an event is about.
type Ref struct {
	ConversationID string `json:"conversationId"` // on the gateway the session id that the client sent, or ""
	TurnID         string `json:"turnId"`         // on the gateway the request's number
}

func (r Ref) ref() Ref { return r }

// TurnOf returns the id of the turn that an event is about; "": none.
func TurnOf(b Body) string {
	if b, ok := b.(interface{ ref() Ref }); ok {
		return b.ref().TurnID
	}
	return ""
}

// Turn is an event of an agent's turn or of a call at the gateway.
type Turn struct {
	Ref
	Event turn.Event
}

func (t Turn) kind() string { return turn.Type(t.Event) }

// Kept reports whether an event of a conversation is stored, so that its
// number is its own. A transient one has the number of the stored one before.
func Kept(b Body) bool {
	switch b := b.(type) {
	case Turn:
		return turn.Kept(b.Event)
	case InputQueued, InputRemoved, ConversationChanged, ConversationPaused, ConversationResumed, RecordLost:
		return true
	}
	return false
}

// Reset tells a reader that asked for the events it has missed that some of
// them are gone: the events that follow are all there are.
type Reset struct {
	Reason string `json:"reason"` // "restarted": the id is of another process; "gap": too much has happened since; "unknown": the id is none
}

// Exit is the last event of a command that prints events.
type Exit struct {
	Status         string `json:"status"` // "done", "failed" or "aborted", as the turn's
	ExitCode       int    `json:"exitCode"`
	Message        string `json:"message,omitzero"`        // why it failed, where no other event says so
	Saved          string `json:"saved,omitzero"`          // the file with the conversation; left out: none stays
	Server         string `json:"server,omitzero"`         // the address of the server that has it instead
	ConversationID string `json:"conversationId,omitzero"` // its id there or in the file; left out: it is not stored
	TurnID         string `json:"turnId,omitzero"`         // of its latest turn
}

// Unknown is an event of a type that this package does not know: a reader skips it. Its members are not kept.
type Unknown struct {
	Name string `json:"-"`
}

func (Reset) kind() string     { return "reset" }
func (Exit) kind() string      { return "exit" }
func (u Unknown) kind() string { return u.Name }
