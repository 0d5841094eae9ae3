package api

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The bounds of what identifies a place, in characters unless they say otherwise.
const (
	anchorLength  = 40       // that the model is asked to repeat
	longestAnchor = 160      // where fewer occur more than once
	leastBytes    = 24       // that must agree
	leastLength   = 8        // that must agree, in scripts with several bytes for each
	wordLength    = 24       // an anchor is lengthened by at most so much to begin with a word
	maxUnfound    = 240      // of the second answer
	headLength    = 40       // of the answer's beginning, in which a model that starts over is recognized
	maxFenceLine  = 32       // bytes, with which a model opens a block of code again
	halfCharacter = "\ufffd" // half of a character
)

// A finder finds where the text of a second answer continues after the text that was shown. The second answer
// has to begin with the end of the first: nothing but white space may stand before it, and it must be long
// enough to occur once. Or it repeats the first from its beginning, each byte of it, as a server does that answers alike
// to the same question. What follows is then the rest, byte by byte. Anything else is no seam.
//
// A server that continues the model's turn repeats nothing but white space at its end, which it is not sent, as
// templates remove it. All that follows is the rest, unless the server starts over.
type finder struct {
	whole  string // the original, without the white space at its end
	shown  string // normal, without the white space at its end
	starts []int  // of the ends of shown that a second answer may begin with, the shortest first
	space  string // the white space at the end of the original
	anchor string // what the model is asked to repeat, in the original
	Closed bool   // the text is whole: what follows is no text
	fenced bool   // the text ends inside a block of code
	direct bool   // the second answer is the rest, without a repetition
	exact  bool   // it begins with whole, byte by byte, and the rest follows
	text   string // of the second answer, withheld
	other  bool   // the text is not the beginning of whole
}

// verdict is what a finder says about a second answer.
type verdict uint8

const (
	seamUndecided verdict = iota
	seamFound
	seamLost
)

// newFinder returns the finder for a text that was shown. prefill says that the server continues the model's turn.
// It returns an [Obstacle] if the text's end must identify it and does not.
func newFinder(shown string, closed, prefill bool) (finder, error) {
	core := strings.TrimRightFunc(shown, unicode.IsSpace)
	n := normalize(core).trimmed()
	f := finder{whole: core, shown: n.text, space: shown[len(core):], Closed: closed, fenced: inFence(shown)}
	last := f.setStarts()
	f.direct = prefill && core != "" && !closed
	switch {
	case f.direct:
		f.anchor = core
	case last < 0:
		return f, Obstacle("the end of its text is too short, or occurs more than once")
	default:
		f.anchor = shown[n.start[last]:]
	}
	if strings.Contains(f.anchor, halfCharacter) || !utf8.ValidString(f.anchor) {
		return f, Obstacle("it broke off inside a character")
	}
	return f, nil
}

// setStarts sets where the ends that identify the text begin. It returns where the anchor begins; negative:
// nothing identifies the text.
func (f *finder) setStarts() (anchor int) {
	anchor = -1
	unique, enough := false, anchorLength
	for at, length := len(f.shown), 0; at > 0 && length < maxUnfound; {
		_, size := utf8.DecodeLastRuneInString(f.shown[:at])
		at, length = at-size, length+1
		end := f.shown[at:]
		if len(end) < leastBytes || length < leastLength || f.shown[at] == ' ' {
			continue
		}
		if unique = unique || strings.Index(f.shown, end) == at; !unique {
			if length >= longestAnchor {
				return -1
			}
			continue
		}
		f.starts = append(f.starts, at)
		if anchor < 0 {
			enough = max(enough, length)
		}
		if length <= enough || length <= enough+wordLength && !f.beginsWord(anchor) && f.beginsWord(at) {
			anchor = at
		}
	}
	return anchor
}

// beginsWord reports whether a word begins at a place.
func (f *finder) beginsWord(at int) bool { return at == 0 || f.shown[at-1] == ' ' }

// add takes a part of the second answer's text. Once the seam is found it returns what follows it.
func (f *finder) add(part string) (rest string, v verdict) {
	if f.other = f.other || !strings.HasPrefix(f.whole[len(f.text):], part); !f.other {
		f.text = f.whole[:len(f.text)+len(part)] // a long text is neither copied nor read again with each part
		if f.exact && len(f.text) == len(f.whole) {
			return "", seamFound
		}
		return "", seamUndecided
	}
	f.text += part
	if f.exact {
		return f.behindWhole()
	}
	rest, _, v = f.locate()
	switch {
	case v == seamFound:
		return rest, seamFound
	case utf8.RuneCountInString(strings.TrimPrefix(f.text, f.whole)) > maxUnfound:
		return "", seamLost
	}
	return "", v
}

// behindWhole returns what follows whole, where nothing else can be the seam.
func (f *finder) behindWhole() (rest string, v verdict) {
	if rest, ok := strings.CutPrefix(f.text, f.whole); ok {
		return rest, seamFound
	}
	return "", seamLost
}

// repeatsAll reports whether the second answer has repeated all of the first, which must identify itself: the rest of a
// few letters may begin with the same ones.
func (f *finder) repeatsAll() bool { return len(f.starts) > 0 && strings.HasPrefix(f.text, f.whole) }

// end ends the second answer's text, whose seam has not been found so far; calls says that a tool call
// follows. A model that has only repeated has continued if the text was whole, or if it calls a tool behind a
// whole sentence.
func (f *finder) end(calls bool) (rest string, v verdict) {
	if f.exact {
		return f.behindWhole()
	}
	rest, begun, v := f.locate()
	nothing := strings.TrimSpace(rest) == ""
	switch {
	case v == seamLost, !begun, f.Closed && !nothing:
		return "", seamLost
	case !nothing:
		return rest, seamFound
	case f.Closed, calls && strings.ContainsRune(".!?:…。！？：", lastRune(f.shown)):
		return "", seamFound
	}
	return "", seamLost
}

// locate looks for the seam in what has come. begun says that the end of the first answer has been repeated; rest
// follows it.
func (f *finder) locate() (rest string, begun bool, v verdict) {
	at, v := 0, seamFound
	switch {
	case f.repeatsAll():
		at = len(f.whole)
	case !f.direct:
		at, v = f.repeated(f.text)
	}
	if v == seamLost && f.fenced {
		at, v = f.refenced()
	}
	if v != seamFound {
		return "", false, v
	}
	rest, ok := strings.CutPrefix(f.text[at:], f.space)
	switch {
	case ok && f.breaksSentence(rest):
		v = seamLost
	case ok:
		v = f.startsOver(rest)
	case strings.HasPrefix(f.space, rest):
		rest, v = "", seamUndecided
	default:
		v = seamLost
	}
	if v == seamFound && f.Closed {
		v = seamLost
	}
	return rest, true, v
}

// repeated returns where a text has repeated the end of the first.
func (f *finder) repeated(text string) (at int, v verdict) {
	n := normalize(text)
	v = seamLost
	for _, start := range f.starts {
		switch end := f.shown[start:]; {
		case strings.HasPrefix(n.text, end):
			return n.end(len(end)), seamFound
		case strings.HasPrefix(end, n.text):
			v = seamUndecided
		}
	}
	return 0, v
}

// refenced is repeated for a model that opens the block of code again in which the first answer broke off.
func (f *finder) refenced() (at int, v verdict) {
	text := strings.TrimLeftFunc(f.text, unicode.IsSpace)
	line, rest, whole := strings.Cut(text, "\n")
	switch {
	case whole && isFence(line):
		at, v = f.repeated(rest)
		return len(f.text) - len(rest) + at, v
	case !whole && len(line) <= maxFenceLine && (strings.HasPrefix(line, fence) || strings.HasPrefix(fence, line)):
		return 0, seamUndecided
	}
	return 0, seamLost
}

// startsOver reports whether the rest repeats what was shown once more, from its beginning or its end on:
// lost. undecided: more text will tell.
func (f *finder) startsOver(rest string) verdict {
	n := normalize(rest)
	v := seamFound
	check := func(again string) {
		switch {
		case strings.HasPrefix(n.text, again):
			v = seamLost
		case strings.HasPrefix(again, n.text) && v == seamFound:
			v = seamUndecided
		}
	}
	for _, start := range f.starts {
		check(f.shown[start:])
	}
	if head := firstRunes(f.shown, headLength); utf8.RuneCountInString(head) == headLength {
		check(head)
	}
	return v
}

// breaksSentence reports whether the rest begins with an empty line inside a sentence, as it does where the
// model has put the repetition into a paragraph of its own.
func (f *finder) breaksSentence(rest string) bool {
	last := lastRune(f.shown)
	if f.fenced || f.space != "" || last != ',' && !unicode.IsLetter(last) {
		return false
	}
	text := strings.TrimLeftFunc(rest, unicode.IsSpace)
	first, _ := utf8.DecodeRuneInString(text)
	return strings.Count(rest[:len(rest)-len(text)], "\n") > 1 && unicode.IsLetter(first) && !unicode.IsUpper(first)
}

// lastRune returns the last character of a text.
func lastRune(s string) rune {
	r, _ := utf8.DecodeLastRuneInString(s)
	return r
}

// firstRunes returns the first n characters of a text.
func firstRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}
