package classify

import (
	"strings"
	"unicode/utf8"
)

// phrase is a part of a saying, and how far it may be behind the one before.
type phrase struct {
	text  string
	reach int
}

// The wildcards, and how many bytes they stand for at most. It keeps the search
// linear, and what one sentence says together is never further apart.
const (
	star, far   = '*', 200
	tilde, near = '~', 28
)

// contains tells whether a folded text has the phrases, near each other and in
// order.
func contains(folded string, said []phrase) bool {
	for {
		at := strings.Index(folded, said[0].text)
		if at < 0 {
			return false
		}
		if begins(folded[at:], said) {
			return true
		}
		folded = folded[at+1:]
	}
}

// begins tells whether a folded text starts with the first phrase and has the
// others within reach.
func begins(folded string, said []phrase) bool {
	if !strings.HasPrefix(folded, said[0].text) {
		return false
	}
	folded = folded[len(said[0].text):]
	for _, p := range said[1:] {
		ahead := folded[:min(len(folded), p.reach+len(p.text))]
		at := strings.Index(ahead, p.text)
		if at < 0 {
			return false
		}
		folded = folded[at+len(p.text):]
	}
	return true
}

// sayings finds rules by the first bytes of the word that they start with.
type sayings struct {
	slots [1 << 12]uint16 // by the hash of such bytes, a place in lists; 0 is the empty list
	lists [][]saying
	count int
}

// saying is a rule in such a list, with what is looked at first.
type saying struct {
	key, mask uint64 // the first eight bytes of its first phrase, and which of them count
	order     int    // smaller decides
	whole     int    // the length of a phrase that is no more than a short word, which nothing may lengthen; 0: it is more
	rule      *rule
}

// stem is how many bytes of a word it is found by. A phrase of one longer word
// holds for all that start with it: "throttl" for throttled and throttling.
const stem = 4

// add files a rule behind those that are there.
func (x *sayings) add(r *rule) {
	x.count++
	start := r.said[0].text
	slot := &x.slots[hash(start[:wordLen(start)])]
	if *slot == 0 {
		*slot = uint16(len(x.lists))
		x.lists = append(x.lists, nil)
	}
	s := saying{key: eight(start), mask: ^uint64(0), order: x.count, rule: r}
	if len(start) < 8 {
		s.mask = 1<<(8*len(start)) - 1
	}
	if len(start) < stem && wordLen(start) == len(start) {
		s.whole = len(start)
	}
	x.lists[*slot] = append(x.lists[*slot], s)
}

// eight gives the first eight bytes of a text as one number, the first lowest.
func eight(s string) (n uint64) {
	if len(s) >= 8 {
		return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
	}
	for i := range len(s) {
		n |= uint64(s[i]) << (8 * i)
	}
	return n
}

// hears gives the first rule in precedence whose saying is in the folded text
// and is believed.
func (x *index) hears(folded string, believed func(*rule) bool) (Ruling, bool) {
	var best *saying
	for i := 0; i < len(folded); {
		if c := folded[i]; c < utf8.RuneSelf && !word[c] {
			i++
			continue
		}
		n := wordLen(folded[i:])
		if slot := x.says.slots[hash(folded[i:i+n])]; slot != 0 {
			best = better(x.says.lists[slot], best, folded[i:], n, believed)
		}
		i += n
	}
	if best == nil {
		return Ruling{}, false
	}
	return best.rule.ruling(), true
}

// better gives the first of the sayings that holds at the start of a text whose
// first word has n bytes, if it precedes the best so far.
func better(list []saying, best *saying, text string, n int, believed func(*rule) bool) *saying {
	first := eight(text)
	for i := range list {
		s := &list[i]
		if best != nil && s.order > best.order {
			break
		}
		if first&s.mask == s.key && (s.whole == 0 || s.whole == n) && begins(text, s.rule.said) && believed(s.rule) {
			return s
		}
	}
	return best
}

// hash gives a small number for the first bytes of a word.
func hash(w string) int {
	h := uint32(0)
	for i := range min(len(w), stem) {
		h = h<<8 | uint32(w[i])
	}
	return int(h * 2654435761 >> 20)
}

// fold makes sentences comparable: lower case, no backticks, and the separators
// inside names opened, so that "tokens_per_minute", "TokensPerMinute" and "tokens-per-minute"
// all say "tokens per minute".
func fold(s string) string {
	var out strings.Builder
	out.Grow(len(s) + 16)
	kept := 0 // s[:kept] is in out
	for i := range len(s) {
		c := s[i]
		if !folds[c] || c == '-' && (i == 0 || !word[s[i-1]]) {
			continue
		}
		out.WriteString(s[kept:i])
		kept = i + 1
		switch {
		case isUpper(c):
			if i > 0 && isLower(s[i-1]) {
				out.WriteByte(' ')
			}
			out.WriteByte(c | 0x20)
		case c != '`': // around names
			out.WriteByte(' ')
		}
	}
	out.WriteString(s[kept:])
	return out.String()
}

// folds are the bytes that fold changes, word those of words: tables, since
// every byte of an error is looked up in them.
var folds, word = bytesThat(func(c byte) bool { return isUpper(c) || strings.IndexByte("_-\n\t\r`", c) >= 0 }), bytesThat(isWord)

// bytesThat tables what holds for a byte.
func bytesThat(is func(byte) bool) (table [256]bool) {
	for c := range table {
		table[c] = is(byte(c))
	}
	return table
}

// cut folds a saying and cuts it at its wildcards.
func cut(says string) []phrase {
	var said []phrase
	reach := 0
	for rest := fold(says); ; {
		at := strings.IndexAny(rest, string([]rune{star, tilde}))
		if at < 0 {
			return append(said, phrase{strings.TrimSpace(rest), reach})
		}
		said = append(said, phrase{strings.TrimSpace(rest[:at]), reach})
		reach = far
		if rest[at] == tilde {
			reach = near
		}
		rest = rest[at+1:]
	}
}

// wordLen gives the length of the word at the start of a text; 0: none. Outside
// ASCII each letter is one: Chinese has no spaces to find a word by.
func wordLen(s string) int {
	if s != "" && s[0] >= utf8.RuneSelf {
		_, n := utf8.DecodeRuneInString(s)
		return n
	}
	n := 0
	for n < len(s) && word[s[n]] {
		n++
	}
	return n
}
