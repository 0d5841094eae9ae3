// Package wire is the public vocabulary of events as JSON, the same on every
// surface: server-sent events, NDJSON, the web page, the terminal.
//
// Names are in camelCase, types in kebab-case, durations in whole milliseconds
// and instants in RFC 3339. There will be more types and more members: a reader
// ignores those that it does not know. The package has no clock: whoever makes
// an event knows when it happened. Packages server and cli write events, and
// programs of others read them.
package wire

import (
	"encoding/json"
	"time"
)

// version is of the vocabulary. It changes when a reader that follows the
// rules above would misread an event.
const version = 1

// Event is one event in its envelope. It is one JSON object: the members of
// the envelope, then those of the body.
type Event struct {
	Seq  int64     // numbers the events of one stream, upwards; not every number need be there
	Time time.Time // when it happened
	Body Body
}

// Body is what an event tells: one of [ProviderRetry], [ProviderWaiting],
// [ProviderRecovered], [ProviderSwitched], [Error], [Turn], [Reset],
// [Exit], [InputQueued], [InputRemoved], [ConversationChanged],
// [ConnectionLost], [ConnectionBack], [CouncilStart], [CouncilMember],
// [CouncilQuorum], [CouncilEnd] and [Unknown].
type Body interface {
	// Type gives the event's type in kebab-case.
	Type() string
}

// head is the envelope as JSON.
type head struct {
	V    int       `json:"v"`
	Seq  int64     `json:"seq"`
	TS   time.Time `json:"ts"`
	Type string    `json:"type"`
}

// MarshalJSON writes the event as one object.
func (e Event) MarshalJSON() ([]byte, error) {
	return join(head{V: version, Seq: e.Seq, TS: e.Time.UTC().Truncate(time.Millisecond), Type: e.Body.Type()}, e.Body)
}

// join writes the members of two structs as one object. The first has some.
func join(first, second any) ([]byte, error) {
	front, err := json.Marshal(first)
	if err != nil {
		return nil, err
	}
	back, err := json.Marshal(second)
	if err != nil || string(back) == "{}" {
		return front, err
	}
	front[len(front)-1] = ','
	return append(front, back[1:]...), nil
}

// UnmarshalJSON reads an event. One whose type is not known here has the body
// [Unknown].
func (e *Event) UnmarshalJSON(text []byte) error {
	var h head
	if err := json.Unmarshal(text, &h); err != nil {
		return err
	}
	body, err := Decode(h.Type, text)
	if err != nil {
		return err
	}
	*e = Event{Seq: h.Seq, Time: h.TS, Body: body}
	return nil
}

// Decode reads the body of an event of a type from an object that has its
// members among others.
func Decode(kind string, text []byte) (Body, error) {
	switch kind {
	case typeRetry:
		return decode[ProviderRetry](text)
	case typeWaiting:
		return decode[ProviderWaiting](text)
	case typeRecovered:
		return decode[ProviderRecovered](text)
	case typeSwitched:
		return decode[ProviderSwitched](text)
	case typeError:
		return decode[Error](text)
	case typeReset:
		return decode[Reset](text)
	case typeExit:
		return decode[Exit](text)
	case typeQueued:
		return decode[InputQueued](text)
	case typeRemoved:
		return decode[InputRemoved](text)
	case typeChanged:
		return decode[ConversationChanged](text)
	case typeLost:
		return decode[ConnectionLost](text)
	case typeBack:
		return decode[ConnectionBack](text)
	}
	if b, known, err := readTurn(kind, text); known {
		return b, err
	}
	if b, err := readCouncil(kind, text); b != nil {
		return b, err
	}
	return Unknown{kind}, nil
}

// decode reads a body's own members; the envelope's are not among them.
func decode[B Body](text []byte) (Body, error) {
	var b B
	err := json.Unmarshal(text, &b)
	return b, err
}

// TurnOf gives the turn that an event is about; "": none.
func TurnOf(b Body) string {
	if t, ok := b.(interface{ turn() string }); ok {
		return t.turn()
	}
	return ""
}

// Unknown is an event of a type that this package does not know: a reader
// skips it. Its members are not kept.
type Unknown struct {
	Name string `json:"-"`
}

// Type gives the type that the event says it has.
func (u Unknown) Type() string { return u.Name }
