package api

import "bytes"

// Repeats recognizes frames that repeat: an answer streams a text in frames that differ in the text only, and in a
// number where the API counts its events. What was found out about one of them holds for the next, which need not be
// parsed. The zero Repeats recognizes none.
type Repeats struct {
	last   []byte // the last frame that was parsed
	fields []repeatField
}

// repeatField is a place where the frames differ, in the last one that was parsed.
type repeatField struct {
	begin, end int
	kind       fieldKind
}

// fieldKind is what frames that repeat may differ in.
type fieldKind uint8

const (
	noField     fieldKind = iota
	numberField           // the number of the event
	textField             // the inside of a string
	fillerField           // the same, and it is no part of the answer
)

// Repeat is a frame that repeats.
type Repeat struct {
	Len    int    // 0: it does not
	Text   []byte // as it stands between the quotes
	Number []byte // nil: the frames have none
	Texts  int    // in how many texts the frames differ; Text is the last
}

// Forget has the next frame be parsed.
func (r *Repeats) Forget() { r.fields = r.fields[:0] }

// Clear has it recognize none.
func (r *Repeats) Clear() { r.last, r.fields = r.last[:0], r.fields[:0] }

// Learn notes a frame that was parsed, and where it differs from the one before.
func (r *Repeats) Learn(frame []byte) {
	r.Forget()
	at, before := 0, 0
	for {
		same := commonPrefix(frame[at:], r.last[before:])
		at, before = at+same, before+same
		if at == len(frame) && before == len(r.last) {
			break
		}
		here, there := fieldAt(frame, at), fieldAt(r.last, before)
		if here.kind == noField || here.kind != there.kind {
			r.Forget()
			break
		}
		r.fields = append(r.fields, here)
		at, before = here.end, there.end
	}
	r.last = append(r.last[:0], frame...)
}

// Next returns the frame with which b begins, if it repeats the last one that was learned.
func (r *Repeats) Next(b []byte) (next Repeat) {
	if len(r.fields) == 0 {
		return Repeat{}
	}
	at, from := 0, 0
	for _, f := range r.fields {
		if !bytes.HasPrefix(b[at:], r.last[from:f.begin]) {
			return Repeat{}
		}
		at, from = at+f.begin-from, f.end
		size := 0
		switch f.kind {
		case numberField:
			size = digitsLen(b[at:])
			next.Number = b[at : at+size]
		case textField:
			size = insideLen(b[at:])
			next.Text = b[at : at+size]
			next.Texts++
		default:
			size = insideLen(b[at:])
		}
		if size == 0 {
			return Repeat{}
		}
		at += size
	}
	if !bytes.HasPrefix(b[at:], r.last[from:]) {
		return Repeat{}
	}
	next.Len = at + len(r.last) - from
	return next
}

// NextLen returns the length of the frame with which b begins, if it repeats the last one that was learned, or is the
// same; 0: it is neither. That is for those to whom a frame means the same wherever it stands.
func (r *Repeats) NextLen(b []byte) int {
	if len(r.last) > 0 && bytes.HasPrefix(b, r.last) {
		return len(r.last)
	}
	return r.Next(b).Len
}

// fieldAt returns the field that includes a place or ends there, or the zero field if frames may not differ in it.
func fieldAt(frame []byte, at int) repeatField {
	begin := at
	for begin > 0 && isDigit(frame[begin-1]) {
		begin--
	}
	if bytes.HasSuffix(frame[:begin], []byte(`"sequence_number":`)) {
		return repeatField{begin, begin + digitsLen(frame[begin:]), numberField}
	}
	if begin = bytes.LastIndex(frame[:at], []byte(`:"`)); begin < 0 {
		return repeatField{}
	}
	kind := kindOfMember(frame[:begin])
	begin += len(`:"`)
	if end := begin + insideLen(frame[begin:]); kind != noField && end >= at && end > begin {
		return repeatField{begin, end, kind}
	}
	return repeatField{}
}

// textMembers are the members that have a text in parts, which says nothing about its frame.
var textMembers = [...]string{
	`"delta"`, `"content"`, `"text"`, `"thinking"`, `"reasoning_content"`, `"reasoning"`, `"reasoning_text"`, `"partial_json"`,
	`"arguments"`, `"input"`,
}

// fillerMembers differ from frame to frame.
var fillerMembers = [...]string{`"obfuscation"`, `"created_at"`}

// kindOfMember returns the kind of the field whose name ends what stands before it.
func kindOfMember(before []byte) fieldKind {
	for _, name := range textMembers {
		if bytes.HasSuffix(before, []byte(name)) {
			return textField
		}
	}
	for _, name := range fillerMembers {
		if bytes.HasSuffix(before, []byte(name)) {
			return fillerField
		}
	}
	return noField
}

// insideLen returns the length of the inside of a string that has begun; 0: it is empty, or has no end in its line.
func insideLen(b []byte) int {
	escaped := false
	n := max(0, stringEnd(b, &escaped)-1)
	if bytes.IndexByte(b[:n], '\n') >= 0 || bytes.IndexByte(b[:n], '\r') >= 0 {
		return 0
	}
	return n
}

// digitsLen returns how many digits b begins with.
func digitsLen(b []byte) (n int) {
	for n < len(b) && isDigit(b[n]) {
		n++
	}
	return n
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// commonPrefix returns how many bytes a and b have in common at their beginning.
func commonPrefix(a, b []byte) (n int) {
	for most := min(len(a), len(b)); n < most && a[n] == b[n]; {
		n++
	}
	return n
}
