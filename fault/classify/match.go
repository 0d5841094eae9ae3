package classify

import (
	"strings"
	"unicode/utf8"
)

// phrase is a part of a row's text, and how far it may be from the part before.
type phrase struct {
	text  string
	reach int
}

// The wildcards, and how many bytes they stand for at most. The bound keeps the search linear.
const (
	star, far   = '*', 200
	tilde, near = '~', 28
)

// containsPhrases reports whether a folded text has the phrases near each other and in order.
func containsPhrases(folded string, phrases []phrase) bool {
	for {
		at := strings.Index(folded, phrases[0].text)
		if at < 0 {
			return false
		}
		if phrasesLen(folded[at:], phrases) > 0 {
			return true
		}
		folded = folded[at+1:]
	}
}

// phrasesLen returns the length of the first phrase at the start of a folded text up to the last one, which are
// within reach of each other; 0: they are not there.
func phrasesLen(folded string, phrases []phrase) int {
	if !strings.HasPrefix(folded, phrases[0].text) {
		return 0
	}
	end := len(phrases[0].text)
	for _, p := range phrases[1:] {
		ahead := folded[end:min(len(folded), end+p.reach+len(p.text))]
		at := strings.Index(ahead, p.text)
		if at < 0 {
			return 0
		}
		end += at + len(p.text)
	}
	return end
}

// claimsOf returns a message folded, without what it denies, "not your usage limit", and without the paths
// and queries of its URLs: a link to a page about billing says nothing of what failed.
func claimsOf(message, folded string) string {
	if strings.Contains(message, "://") {
		folded = fold(withoutPaths(message))
	}
	if !strings.Contains(folded, "not ") && !strings.Contains(folded, "unaffected") {
		return folded
	}
	for _, denied := range words().denied {
		phrases := splitPhrases(denied)
		for at := 0; at < len(folded); at++ {
			next := strings.Index(folded[at:], phrases[0].text)
			if next < 0 {
				break
			}
			at += next
			folded = folded[:at] + folded[at+phrasesLen(folded[at:], phrases):]
		}
	}
	return folded
}

// hostLabels is how much of a URL's host is kept, in labels from its end: it may name the vendor.
const hostLabels = 3

// withoutPaths returns a text in which each URL is only the end of its host.
func withoutPaths(s string) string {
	var b strings.Builder
	for {
		at := strings.Index(s, "://")
		if at < 0 {
			b.WriteString(s)
			return b.String()
		}
		url := s[at+len("://"):]
		if end := strings.IndexAny(url, " \n\r\t\"'`<>(){}\\,"); end >= 0 {
			url = url[:end]
		}
		host := url[:len(url)-len(strings.TrimLeft(url, hostBytes))]
		labels := strings.Split(host, ".")
		b.WriteString(strings.TrimRight(s[:at], hostBytes)) // without the scheme
		b.WriteString(strings.Join(labels[max(0, len(labels)-hostLabels):], "."))
		s = s[at+len("://")+len(url):]
	}
}

// hostBytes are the bytes of a host, and of a scheme.
const hostBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-"

// phraseIndex finds rules by the first bytes of the word that they start with.
type phraseIndex struct {
	lists map[string][]phraseRule
	count int
}

// phraseRule is a rule in such a list.
type phraseRule struct {
	order int // the smallest decides
	whole int // the length of a phrase that is one short word and must match a whole word; 0: any other
	rule  *rule
}

// stemLen is how many bytes of a word it is found by. A phrase of one longer word matches all words that
// start with it: "throttl" matches throttled and throttling.
const stemLen = 4

// add appends a rule.
func (x *phraseIndex) add(r *rule) {
	x.count++
	start := r.phrases[0].text
	s := phraseRule{order: x.count, rule: r}
	if len(start) < stemLen && wordLen(start) == len(start) {
		s.whole = len(start)
	}
	of := stem(start[:wordLen(start)])
	x.lists[of] = append(x.lists[of], s)
}

// stem returns the first bytes of a word.
func stem(w string) string { return w[:min(len(w), stemLen)] }

// match returns the ruling of the first rule in precedence whose text is in the folded text and is accepted.
func (x *phraseIndex) match(folded string, accept func(*rule) bool) (Ruling, bool) {
	var best *phraseRule
	x.eachWord(folded, func(list []phraseRule, rest string, n int) { best = firstMatch(list, best, rest, n, accept) })
	if best == nil {
		return Ruling{}, false
	}
	return best.rule.Ruling, true
}

// all calls found with each rule whose text is in the folded text, and the words that match.
func (x *phraseIndex) all(folded string, found func(r *rule, words string, order int)) {
	x.eachWord(folded, func(list []phraseRule, rest string, n int) {
		for _, s := range list {
			if end := phrasesLen(rest, s.rule.phrases); end > 0 && (s.whole == 0 || s.whole == n) {
				found(s.rule, rest[:end], s.order)
			}
		}
	})
}

// eachWord calls visit for each word of a folded text: with the rules that may match there, the text from there on,
// and the length of the word.
func (x *phraseIndex) eachWord(folded string, visit func(list []phraseRule, rest string, n int)) {
	for i := 0; i < len(folded); {
		if c := folded[i]; c < utf8.RuneSelf && !wordBytes[c] {
			i++
			continue
		}
		n := wordLen(folded[i:])
		if list := x.lists[stem(folded[i:i+n])]; list != nil {
			visit(list, folded[i:], n)
		}
		i += n
	}
}

// firstMatch returns the first rule of the list that matches at the start of a text whose first word has n
// bytes, if it precedes the best so far.
func firstMatch(list []phraseRule, best *phraseRule, text string, n int, accept func(*rule) bool) *phraseRule {
	for i := range list {
		s := &list[i]
		if best != nil && s.order > best.order {
			break
		}
		if (s.whole == 0 || s.whole == n) && phrasesLen(text, s.rule.phrases) > 0 && accept(s.rule) {
			return s
		}
	}
	return best
}

// fold makes texts comparable: lower case, no backticks, and a space for each separator inside names. So
// "tokens_per_minute", "TokensPerMinute" and "tokens-per-minute" all become "tokens per minute".
func fold(s string) string {
	var out strings.Builder
	out.Grow(len(s) + 16)
	kept := 0 // s[:kept] is in out
	for i := range len(s) {
		c := s[i]
		if !foldedBytes[c] || c == '-' && (i == 0 || !wordBytes[s[i-1]]) {
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

// foldedBytes are the bytes that fold changes, wordBytes those of words.
var foldedBytes, wordBytes = byteTable(func(c byte) bool { return isUpper(c) || strings.IndexByte("_-\n\t\r`", c) >= 0 }), byteTable(isWord)

// byteTable returns the set of bytes for which is returns true.
func byteTable(is func(byte) bool) (table [256]bool) {
	for c := range table {
		table[c] = is(byte(c))
	}
	return table
}

// splitPhrases folds a row's text and splits it at its wildcards.
func splitPhrases(text string) []phrase {
	var phrases []phrase
	reach := 0
	for rest := fold(text); ; {
		at := strings.IndexAny(rest, string([]rune{star, tilde}))
		if at < 0 {
			return append(phrases, phrase{strings.TrimSpace(rest), reach})
		}
		phrases = append(phrases, phrase{strings.TrimSpace(rest[:at]), reach})
		reach = far
		if rest[at] == tilde {
			reach = near
		}
		rest = rest[at+1:]
	}
}

func isLower(c byte) bool { return 'a' <= c && c <= 'z' }
func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }
func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isWord(c byte) bool  { return isLower(c|0x20) || isDigit(c) }

// wordLen returns the length of the word at the start of a text; 0: none. Outside ASCII each letter is a
// word: Chinese has no spaces.
func wordLen(s string) int {
	if s != "" && s[0] >= utf8.RuneSelf {
		_, n := utf8.DecodeRuneInString(s)
		return n
	}
	n := 0
	for n < len(s) && wordBytes[s[n]] {
		n++
	}
	return n
}
