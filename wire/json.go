package wire

import (
	"encoding/json"
	"time"

	"github.com/ridethrough/ridethrough/turn"
)

// envelope is the members of every event.
type envelope struct {
	V    int       `json:"v"`
	Seq  int64     `json:"seq"`
	TS   time.Time `json:"ts"`
	Type string    `json:"type"`
}

// MarshalJSON writes the event as one object.
func (e Event) MarshalJSON() ([]byte, error) {
	body, err := Marshal(e.Body)
	if err != nil {
		return nil, err
	}
	return join(envelope{V: version, Seq: e.Seq, TS: e.Time.UTC().Truncate(time.Millisecond), Type: e.Body.kind()}, body)
}

// UnmarshalJSON reads an event. One whose type is not known here has the body [Unknown].
func (e *Event) UnmarshalJSON(text []byte) error {
	var h envelope
	if err := json.Unmarshal(text, &h); err != nil {
		return err
	}
	body, err := Unmarshal(h.Type, text)
	if err != nil {
		return err
	}
	*e = Event{Seq: h.Seq, Time: h.TS, Body: body}
	return nil
}

// Marshal returns a body's members as a JSON object, without its type.
func Marshal(b Body) ([]byte, error) {
	t, ok := b.(Turn)
	if !ok {
		return json.Marshal(b)
	}
	event, err := turn.Marshal(t.Event)
	if err != nil {
		return nil, err
	}
	return join(t.Ref, event)
}

// join writes the members of a struct, which has some, and then those of an object.
func join(first any, second []byte) ([]byte, error) {
	text, err := json.Marshal(first)
	if err != nil || string(second) == "{}" {
		return text, err
	}
	text[len(text)-1] = ','
	return append(text, second[1:]...), nil
}

// Unmarshal reads a body of a type from a JSON object that has its members, perhaps among others.
func Unmarshal(kind string, text []byte) (Body, error) {
	switch kind {
	case InputQueued{}.kind():
		return decode[InputQueued](text)
	case InputRemoved{}.kind():
		return decode[InputRemoved](text)
	case ConversationChanged{}.kind():
		return decode[ConversationChanged](text)
	case ConversationPaused{}.kind():
		return decode[ConversationPaused](text)
	case ConversationResumed{}.kind():
		return decode[ConversationResumed](text)
	case RecordLost{}.kind():
		return decode[RecordLost](text)
	case CouncilStart{}.kind():
		return decode[CouncilStart](text)
	case CouncilMember{}.kind():
		return decode[CouncilMember](text)
	case CouncilQuorum{}.kind():
		return decode[CouncilQuorum](text)
	case CouncilEnd{}.kind():
		return decode[CouncilEnd](text)
	case LimitUsed{}.kind():
		return decode[LimitUsed](text)
	case LimitWaiting{}.kind():
		return decode[LimitWaiting](text)
	case LimitWaited{}.kind():
		return decode[LimitWaited](text)
	case Reset{}.kind():
		return decode[Reset](text)
	case Exit{}.kind():
		return decode[Exit](text)
	case ConnectionLost{}.kind():
		return decode[ConnectionLost](text)
	case ConnectionBack{}.kind():
		return decode[ConnectionBack](text)
	}
	return unmarshalTurn(kind, text)
}

// unmarshalTurn reads the body of an event of a turn, or returns [Unknown].
func unmarshalTurn(kind string, text []byte) (Body, error) {
	e, err := turn.Unmarshal(kind, text)
	if e == nil || err != nil {
		return Unknown{kind}, err
	}
	r, err := decode[Ref](text)
	return Turn{r, e}, err
}

func decode[T any](text []byte) (v T, err error) {
	err = json.Unmarshal(text, &v)
	return v, err
}
