package cursor

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/ridethrough/ridethrough/internal/dialect"
)

// The errors of a stored answer.
var (
	ErrOther  = errors.New("the stored answer is not the one that has broken off") // it does not go on with what the client has
	ErrFailed = errors.New("it has failed at the provider")
)

// noteAdded is the event of an annotation.
const noteAdded = "response.output_text.annotation.added"

// textEvents are the events of a text in an item, and where a whole item has it.
type textEvents struct {
	kind                      string // the type of the part; for a member of the item its name
	index                     string // the member with the index of the part; "": the item has one
	added, delta, ended, done string // "": there is none
	member                    string // of the part, or of the item, that has the text; so has the event that ends it
}

// texts are all texts of items.
var texts = []textEvents{
	{"output_text", "content_index", partAdded, "response.output_text.delta", "response.output_text.done", partDone, "text"},
	{"refusal", "content_index", partAdded, "response.refusal.delta", "response.refusal.done", partDone, "refusal"},
	{"reasoning_text", "content_index", partAdded, "response.reasoning_text.delta", "response.reasoning_text.done", partDone, "text"},
	{
		"summary_text", "summary_index", "response.reasoning_summary_part.added", "response.reasoning_summary_text.delta",
		"response.reasoning_summary_text.done", "response.reasoning_summary_part.done", "text",
	},
	{"arguments", "", "", "response.function_call_arguments.delta", "response.function_call_arguments.done", "", "arguments"},
	{"input", "", "", "response.custom_tool_call_input.delta", "response.custom_tool_call_input.done", "", "input"},
}

// The events of a part of an item's content.
const (
	partAdded = "response.content_part.added"
	partDone  = "response.content_part.done"
)

// Status returns the status of a stored answer, such as "in_progress".
func Status(response []byte) string { return text(dialect.Member(response, "status")) }

// Rest returns the events that the client lacks of a stored answer that is complete. They are to be given to Add.
func (a *Answer) Rest(response []byte) ([]byte, error) {
	var line bytes.Buffer // of which an event's data is
	if json.Compact(&line, response) != nil || text(dialect.Member(line.Bytes(), "id")) != a.id {
		return nil, ErrOther
	}
	response = line.Bytes()
	w := writer{answer: a, number: a.last}
	index := 0
	for whole := range dialect.Elements(dialect.Member(response, "output")) {
		w.item(index, whole)
		index++
	}
	if w.other || index < len(a.items) {
		return nil, ErrOther
	}
	w.send("response."+Status(response), members{{"response", inForegroundResponse(response)}})
	return w.out, nil
}

// writer writes the events that are missing.
type writer struct {
	answer *Answer
	number int
	out    []byte
	other  bool // it is another answer
}

// member is a member of an event.
type member struct {
	name  string
	value []byte
}

type members []member

// send writes an event.
func (w *writer) send(kind string, rest members) {
	w.number++
	data := append([]byte(`{"type":`), quote(kind)...)
	for _, m := range append(members{{"sequence_number", numeral(w.number)}}, rest...) {
		if m.value != nil {
			data = append(append(append(append(data, `,"`...), m.name...), `":`...), m.value...)
		}
	}
	w.out = append(w.out, event([]byte(kind), append(data, '}'))...)
}

// item writes what the client lacks of an item.
func (w *writer) item(index int, whole []byte) {
	has := w.answer.items[index]
	if has != nil && has.done {
		return
	}
	where := members{{"item_id", dialect.Member(whole, "id")}, {"output_index", numeral(index)}}
	if has == nil {
		has = newItem()
		w.send("response.output_item.added", members{where[1], {"item", begun(whole)}})
	}
	for _, list := range [...]struct{ name, index string }{{"summary", "summary_index"}, {"content", "content_index"}} {
		n := 0
		for part := range dialect.Elements(dialect.Member(whole, list.name)) {
			w.part(has, append(where[:2:2], member{list.index, numeral(n)}), n, part)
			n++
		}
	}
	for _, t := range texts {
		if value := dialect.Member(whole, t.kind); t.index == "" && value != nil {
			w.text(has.part(partKey{t.kind, 0}), where, t, value)
		}
	}
	w.send("response.output_item.done", members{where[1], {"item", whole}})
}

// part writes what the client lacks of a part of an item.
func (w *writer) part(has *item, where members, n int, whole []byte) {
	kind := text(dialect.Member(whole, "type"))
	for _, t := range texts {
		if t.kind != kind || t.index == "" {
			continue
		}
		p := has.part(partKey{kind, n})
		if !p.added {
			w.send(t.added, append(where, member{"part", without(whole, t.member, "annotations")}))
		}
		w.text(p, where, t, dialect.Member(whole, t.member))
		w.notes(p, where, whole)
		if !p.done {
			w.send(t.done, append(where, member{"part", whole}))
		}
	}
}

// text writes what the client lacks of a text.
func (w *writer) text(p *part, where members, t textEvents, value []byte) {
	rest, same := p.rest(text(value))
	w.other = w.other || !same
	more := members{}
	if t.kind == "output_text" {
		more = members{{"logprobs", []byte("[]")}}
	}
	if rest != "" {
		w.send(t.delta, append(append(where[:len(where):len(where)], member{"delta", quote(rest)}), more...))
	}
	if !p.ended {
		w.send(t.ended, append(append(where[:len(where):len(where)], member{t.member, value}), more...))
	}
}

// begun returns an item as it was when it began.
func begun(whole []byte) []byte {
	return dialect.Edited(whole, func(key, value []byte) []byte {
		switch string(key) {
		case "status":
			return []byte(`"in_progress"`)
		case "content", "summary":
			return []byte("[]")
		case "arguments", "input":
			return []byte(`""`)
		}
		return value
	})
}

// without returns an object with empty values for some members: a text, and a list.
func without(object []byte, textMember, listMember string) []byte {
	return dialect.Edited(object, func(key, value []byte) []byte {
		switch string(key) {
		case textMember:
			return []byte(`""`)
		case listMember:
			return []byte("[]")
		}
		return value
	})
}

// notes writes the annotations that the client lacks.
func (w *writer) notes(p *part, where members, whole []byte) {
	n := 0
	for note := range dialect.Elements(dialect.Member(whole, "annotations")) {
		if n >= p.notes {
			w.send(noteAdded, append(where[:len(where):len(where)], member{"annotation_index", numeral(n)}, member{"annotation", note}))
		}
		n++
	}
}

// InBackground returns a request that has its answer generated in the background; false: that is not for this one,
// as its answer is not stored or not streamed, or its client has asked for the background.
func InBackground(request []byte) ([]byte, bool) {
	if !json.Valid(request) || !strings.HasPrefix(strings.TrimSpace(string(request[:min(len(request), 64)])), "{") {
		return nil, false
	}
	set, stored, streams := true, true, false
	out := dialect.Edited(request, func(key, value []byte) []byte {
		switch string(key) {
		case "background":
			set = set && (string(value) == "null" || string(value) == "false")
			return nil
		case "store":
			stored = string(value) != "false"
		case "stream":
			streams = string(value) == "true"
		}
		return value
	})
	if !set || !stored || !streams {
		return nil, false
	}
	return append(out[:len(out)-1], `,"background":true}`...), true
}

// inForeground returns an event whose response is not in the background.
func inForeground(data []byte) []byte {
	return dialect.Edited(data, func(key, value []byte) []byte {
		if string(key) == "response" {
			return inForegroundResponse(value)
		}
		return value
	})
}

func inForegroundResponse(response []byte) []byte {
	return dialect.Edited(response, func(key, value []byte) []byte {
		if string(key) == "background" {
			return []byte("false")
		}
		return value
	})
}

// event returns a server-sent event.
func event(name, data []byte) []byte {
	out := []byte{}
	if len(name) > 0 {
		out = append(append(append(out, "event: "...), name...), '\n')
	}
	return append(append(append(out, "data: "...), data...), "\n\n"...)
}

// at returns the raw value at a path of members; nil: there is none.
func at(value []byte, path ...string) []byte {
	for _, key := range path {
		value = dialect.Member(value, key)
	}
	return value
}

// text returns the text of a raw string; "": it is none.
func text(value []byte) (s string) {
	if len(value) > 1 && value[0] == '"' {
		_ = json.Unmarshal(value, &s) // else it is none
	}
	return s
}

// quote returns a text as JSON.
func quote(s string) []byte {
	value, _ := json.Marshal(s)
	return value
}

// numeral returns a number as JSON.
func numeral(n int) []byte { return strconv.AppendInt(nil, int64(n), 10) }
