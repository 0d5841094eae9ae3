package redact

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// quoteLen is how many letters and digits in a row make a quote, in bytes: fewer are words of any text.
const quoteLen = 12

// maxName is the length of the longest name, such as that of a parameter, that is no quote.
const maxName = 40

// quoteMark stands in place of a quote.
const quoteMark = "…"

// Quotes finds in a text what it quotes of a source, which may be far longer and comes in parts. Only letters
// and digits are compared, in lower case: escapes, quotation marks and line breaks make no difference.
type Quotes struct {
	text    string
	letters []byte // of the text
	spans   []span // of the letters, in the text
	quoted  []bool // by letter

	first [tableSize]uint16 // the run of letters that has a hash, by 1 + its place; 0: none
	next  []uint16          // the next run with the hash of this one
	runs  []run             // by place

	source letters
	latest run // of the source
	n      int // how many letters of the source are in it, up to quoteLen
}

// span is where a letter is in the text.
type span struct{ from, to int }

// run is quoteLen letters.
type run struct {
	head uint32
	tail uint64
}

// with returns the run that ends with the next letter.
func (r run) with(c byte) run {
	return run{r.head<<8 | uint32(r.tail>>56), r.tail<<8 | uint64(c)}
}

const (
	hashBits  = 13
	tableSize = 1 << hashBits
	maxText   = 1<<16 - 1 // as places are a uint16
)

func (r run) hash() uint64 { return r.tail * 0x9E3779B97F4A7C15 >> (64 - hashBits) }

// MayQuote reports whether a text is long enough for a quote.
func MayQuote(text string) bool {
	var l letters
	length := 0
	for i := range len(text) {
		_, n := l.next(text[i])
		length += n
	}
	return length >= quoteLen
}

// NewQuotes returns what finds quotes in a text. A name in it, such as that of a model, is no quote.
func NewQuotes(text, name string) *Quotes {
	q := &Quotes{text: text[:min(len(text), maxText)]}
	var l letters
	from := 0
	for i := range len(q.text) {
		if !l.inside() {
			from = i
		}
		out, n := l.next(q.text[i])
		for _, c := range out[:n] {
			q.letters, q.spans = append(q.letters, c), append(q.spans, span{from, i + 1})
		}
	}
	q.quoted = make([]bool, len(q.letters))
	q.addRuns(name)
	return q
}

// addRuns adds the runs of letters in which nothing belongs to the name.
func (q *Quotes) addRuns(name string) {
	q.next, q.runs = make([]uint16, len(q.letters)), make([]run, len(q.letters))
	var r run
	free := 0 // so many letters up to this one are no part of the name
	for i, c := range q.letters {
		r = r.with(c)
		if free++; q.isNamed(i, name) {
			free = 0
		}
		if place := i - quoteLen + 1; free >= quoteLen {
			at := &q.first[r.hash()]
			q.runs[place], q.next[place], *at = r, *at, uint16(place+1)
		}
	}
}

// isNamed reports whether a letter is part of the name.
func (q *Quotes) isNamed(i int, name string) bool {
	if name == "" {
		return false
	}
	from, to := max(0, q.spans[i].to-len(name)), min(len(q.text), q.spans[i].from+len(name))
	return strings.Contains(q.text[from:to], name)
}

// Source compares the text with the next part of the source.
func (q *Quotes) Source(part []byte) {
	for _, b := range part {
		if c := lowerCase[b]; c != 0 && !q.source.inside() {
			q.compare(c)
			continue
		}
		out, n := q.source.next(b)
		for _, c := range out[:n] {
			q.compare(c)
		}
	}
}

// compare compares the run that ends with the next letter of the source.
func (q *Quotes) compare(c byte) {
	q.latest = q.latest.with(c)
	if q.n < quoteLen-1 {
		q.n++
		return
	}
	for at := q.first[q.latest.hash()]; at != 0; at = q.next[at-1] {
		if q.runs[at-1] == q.latest {
			for i := range quoteLen {
				q.quoted[int(at-1)+i] = true
			}
		}
	}
}

// Text returns the text without what it quotes of the source so far.
func (q *Quotes) Text() string {
	var b strings.Builder
	done := 0
	for i := 0; i < len(q.quoted); i++ {
		if !q.quoted[i] {
			continue
		}
		from := q.spans[i].from
		for i+1 < len(q.quoted) && q.quoted[i+1] {
			i++
		}
		if to := q.spans[i].to; !isName(q.text[from:to]) {
			b.WriteString(q.text[done:from])
			b.WriteString(quoteMark)
			done = to
		}
	}
	b.WriteString(q.text[done:])
	return b.String()
}

// isName reports whether a quote is a single name, such as max_completion_tokens: what a request is made of,
// not what is said in it.
func isName(quote string) bool {
	return len(quote) <= maxName && strings.Trim(quote, "abcdefghijklmnopqrstuvwxyz_.") == ""
}

// letters reads the letters and digits of a text, in which JSON may have escaped some. Characters beyond the
// basic plane are left out, as JSON may have them in two parts.
type letters struct {
	escaped bool // behind a backslash
	digits  int  // that are missing of \uXXXX
	code    rune // what these are so far
	skip    int  // bytes of a character that is left out
}

// inside reports whether the next byte belongs to an escape that has begun.
func (l *letters) inside() bool { return l.escaped || l.digits > 0 }

// next returns the letters that are complete with a byte of the text, as UTF-8.
func (l *letters) next(c byte) (out [3]byte, n int) {
	if l.digits > 0 {
		if d := digit(c); d < 16 {
			l.code = l.code<<4 | rune(d)
			if l.digits--; l.digits == 0 {
				return encode(l.code)
			}
			return out, 0
		}
		l.digits = 0
	}
	if l.escaped {
		switch c {
		case '\\':
			return out, 0
		case 'u':
			l.escaped, l.digits, l.code = false, 4, 0
			return out, 0
		}
		if l.escaped = false; strings.IndexByte("nrtbf", c) >= 0 {
			return out, 0
		}
	}
	return l.plain(c)
}

// plain is next for a byte that is part of no escape.
func (l *letters) plain(c byte) (out [3]byte, n int) {
	switch {
	case c == '\\':
		l.escaped = true
	case isAlphanumeric(c):
		return [3]byte{lowerCase[c]}, 1
	case c >= 0xF0:
		l.skip = 3
	case c >= 0xC0, c >= 0x80 && l.skip == 0:
		l.skip = 0
		return [3]byte{c}, 1
	case c >= 0x80:
		l.skip--
	}
	return out, 0
}

// lowerCase has the letters and digits of ASCII, in lower case.
var lowerCase = func() (table [256]byte) {
	for c := range table {
		if isAlphanumeric(byte(c)) {
			table[c] = byte(c) | 0x20 // which digits have anyway
		}
	}
	return table
}()

// encode returns a letter or digit as UTF-8, in lower case if it is ASCII.
func encode(r rune) (out [3]byte, n int) {
	switch {
	case r < utf8.RuneSelf && lowerCase[r] == 0, utf16.IsSurrogate(r):
		return out, 0
	case r < utf8.RuneSelf:
		return [3]byte{lowerCase[r]}, 1
	}
	n = utf8.EncodeRune(out[:], r)
	return out, n
}
