// Package cursor resumes an answer of OpenAI's Responses API that has broken off, at its next event.
//
// That is for an answer that the provider generates in the background and stores. Its events are numbered, and a
// client may ask for those after a number, or, once they are no longer streamed, for the whole answer. The package
// knows what the client has and writes what it lacks; it asks for nothing. Package gateway does.
package cursor

import (
	"hash/crc32"
	"slices"
	"strconv"
	"strings"

	"github.com/ridethrough/ridethrough/internal/dialect"
)

// Answer follows one answer as its client gets it. The zero Answer is ready. It is for one goroutine.
type Answer struct {
	id    string
	rest  []byte // the beginning of an event
	out   []byte // is to be sent
	last  int    // the number of the last event
	over  bool   // the answer has its end
	dead  bool   // it has failed at the provider
	raw   bool   // it has an event that is too large, and is not followed any more
	loose bool   // it has events without a number: which of them the client has is not known
	items map[int]*item
}

// item is an item of an answer, as far as it has come.
type item struct {
	done  bool
	parts map[partKey]*part
}

// partKey identifies a part of an item: what it has, such as "output_text", and which of these it is.
type partKey struct {
	kind  string
	index int
}

// part is a text that comes in deltas.
type part struct {
	size  int    // of the text, in bytes
	sum   uint32 // of the text
	notes int    // annotations
	added bool
	ended bool // its text is
	done  bool
}

// ID returns the id of the answer; "": it is not known.
func (a *Answer) ID() string { return a.id }

// Last returns the number of the last event.
func (a *Answer) Last() int { return a.last }

// Resumable reports whether the answer can be had from its next event on: it has begun, and not ended.
func (a *Answer) Resumable() bool { return a.id != "" && !a.over && !a.dead && !a.raw && !a.loose }

// Running reports whether the provider may be generating the answer.
func (a *Answer) Running() bool { return a.id != "" && !a.over && !a.dead }

// Add takes the next bytes of the answer and returns the events that the client is to be sent. They are valid until
// the next call. Events that it has are left out, and background is false, as in an answer that is not in the
// background. last says that no more follow: the last event may have no blank line.
func (a *Answer) Add(b []byte, last bool) []byte {
	if a.raw {
		return b
	}
	a.out = a.out[:0]
	if len(a.rest) > 0 {
		b = slices.Concat(a.rest, b)
	}
	for n := dialect.Events.FrameLen(b, 0); n > 0; n = dialect.Events.FrameLen(b, 0) {
		a.take(b[:n])
		b = b[n:]
	}
	if len(b) > dialect.MaxWithheld {
		a.raw, a.rest = true, nil
		return append(a.out, b...)
	}
	if last && len(b) > 0 {
		a.take(b)
		b = nil
	}
	a.rest = append(a.rest[:0], b...)
	return a.out
}

// Drop forgets the beginning of an event behind which the stream has broken off.
func (a *Answer) Drop() { a.rest = a.rest[:0] }

// Joins reports whether the beginning of a stream goes on behind the last event. known: that is decided. The error is
// ErrFailed or ErrOther.
func (a *Answer) Joins(stream []byte) (known bool, err error) {
	for n := dialect.Events.FrameLen(stream, 0); n > 0; n = dialect.Events.FrameLen(stream, 0) {
		_, data := dialect.Payload(dialect.Events, stream[:n])
		stream = stream[n:]
		number, numbered := integer(dialect.Member(data, "sequence_number"))
		switch kind := text(dialect.Member(data, "type")); {
		case kind == "response.failed":
			return true, ErrFailed
		case !strings.HasPrefix(kind, "response."):
		case !numbered, number > a.last+1:
			return true, ErrOther
		case number == a.last+1:
			return true, nil
		}
	}
	return false, nil
}

// take takes one event.
func (a *Answer) take(frame []byte) {
	name, data := dialect.Payload(dialect.Events, frame)
	kind := text(dialect.Member(data, "type"))
	if kind == "response.created" {
		a.begin(text(at(data, "response", "id")))
	}
	switch number, numbered := integer(dialect.Member(data, "sequence_number")); {
	case a.id == "" || !strings.HasPrefix(kind, "response."):
	case kind == "response.failed":
		a.dead = true
	case !numbered:
		a.loose = true
	case number <= a.last:
		return
	default:
		a.last = number
		a.note(kind, data)
	}
	if string(at(data, "response", "background")) == "true" {
		frame = event(name, inForeground(data))
	}
	a.out = append(a.out, frame...)
}

// begin begins to follow an answer, unless it is the one that is followed.
func (a *Answer) begin(id string) {
	if id == "" || id == a.id {
		return
	}
	*a = Answer{id: id, last: -1, items: map[int]*item{}, rest: a.rest, out: a.out}
}

// note notes what an event adds to the answer.
func (a *Answer) note(kind string, data []byte) {
	index, inItem := integer(dialect.Member(data, "output_index"))
	switch {
	case kind == "response.completed", kind == "response.incomplete":
		a.over = true
	case kind == "response.output_item.added":
		a.items[index] = newItem()
	case !inItem || a.items[index] == nil:
	case kind == "response.output_item.done":
		a.items[index].done = true
	default:
		a.items[index].note(kind, data)
	}
}

func newItem() *item { return &item{parts: map[partKey]*part{}} }

// note notes an event of an item.
func (i *item) note(kind string, data []byte) {
	if kind == partAdded || kind == partDone {
		p := i.part(partKey{text(at(data, "part", "type")), indexOf(data, "content_index")})
		p.added, p.done = true, kind == partDone
		return
	}
	for _, t := range texts {
		switch key := (partKey{t.kind, indexOf(data, t.index)}); kind {
		case t.added:
			i.part(key).added = true
		case t.delta:
			i.part(key).add(text(dialect.Member(data, "delta")))
		case t.ended:
			i.part(key).ended = true
		case t.done:
			i.part(key).done = true
		}
	}
	if kind == noteAdded {
		i.part(partKey{"output_text", indexOf(data, "content_index")}).notes++
	}
}

// part returns a part of an item.
func (i *item) part(key partKey) *part {
	if i.parts[key] == nil {
		i.parts[key] = new(part)
	}
	return i.parts[key]
}

// add adds to the text.
func (p *part) add(s string) {
	p.size += len(s)
	p.sum = crc32.Update(p.sum, crc32.IEEETable, []byte(s))
}

// rest returns what a text has behind the part that has come; false: it begins in another way.
func (p *part) rest(s string) (string, bool) {
	if len(s) < p.size || crc32.ChecksumIEEE([]byte(s[:p.size])) != p.sum {
		return "", false
	}
	return s[p.size:], true
}

// indexOf returns the index of a part in its item; 0: it is the only one.
func indexOf(data []byte, member string) int {
	if member == "" {
		return 0
	}
	n, _ := integer(dialect.Member(data, member))
	return n
}

// integer returns a raw whole number; false: it is none.
func integer(value []byte) (int, bool) {
	n, err := strconv.Atoi(string(value))
	return n, err == nil
}
