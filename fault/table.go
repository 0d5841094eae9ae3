package fault

import (
	"strings"
	"unicode/utf8"
)

// row is one thing that is known about one vendor's errors: what it matches,
// what that means, and why. An exception is a row that matches more closely.
type row struct {
	name   string // a type, code, reason or status word, compared without case and separators; "": any
	says   string // words of the message, compared folded; * stands for up to 200 bytes, ~ for up to 24; "": any
	status int    // the HTTP status; 0: any
	kind   Kind
	why    string
	window bool // see Ruling.Window
	final  bool // see Ruling.Final
}

// table holds what is known about one vendor, by the strength of what matches.
type table struct {
	vendor string
	not    func(status int) bool // the statuses with which its sentences are not believed; nil: none
	header []row                 // a header (name) and its value (says)
	names  []row                 // a name that means one thing: it decides before any sentence
	says   []row                 // sentences: they decide where no name and no status has; the order is the precedence
	family []row                 // names of a family, such as rate_limit_error: a sentence can say more precisely what it is
	vague  []row                 // names that say less than a status does: they count where there is no status, or inside a quoted cause
}

// rule is a row, ready to be matched.
type rule struct {
	row
	said  []phrase              // says, folded and cut at its wildcards
	order int                   // smaller decides
	not   func(status int) bool // see table
	id    string
}

// index finds the rules of all tables: by name, and by the first word that
// they say, so that the cost is that of the text and not that of the tables.
type index struct {
	names, family, vague, says map[string][]rule
	header                     []rule
	starts                     [1 << 12]bool // hashes of the words that sayings start with: most words need no look-up
}

// bind makes an index. Earlier tables take precedence in what they say; among
// rows of one name those with a further condition do.
func bind(tables ...table) index {
	x := index{names: map[string][]rule{}, family: map[string][]rule{}, vague: map[string][]rule{}, says: map[string][]rule{}}
	for _, t := range tables {
		enter(x.names, t.vendor, t.names)
		enter(x.family, t.vendor, t.family)
		enter(x.vague, t.vendor, t.vague)
		for _, r := range t.header {
			x.header = append(x.header, rule{row: r, id: t.vendor + "/" + r.name + " " + r.says})
		}
	}
	order := 0
	for _, t := range tables {
		for _, r := range t.says {
			order++
			said := cut(r.says)
			first := firstWord(said[0].text)
			x.starts[hash(first)] = true
			x.says[first] = append(x.says[first], rule{r, said, order, t.not, t.vendor + "/" + r.says})
		}
	}
	return x
}

// enter files rows under their names, the more conditional ones first.
func enter(into map[string][]rule, vendor string, rows []row) {
	for _, conditional := range []bool{true, false} {
		for _, r := range rows {
			if (r.says != "" || r.status != 0) != conditional {
				continue
			}
			key := canonical(r.name)
			made := rule{row: r, id: vendor + "/" + r.name}
			if r.says != "" {
				made.said, made.id = cut(r.says), made.id+" "+r.says
			}
			into[key] = insert(into[key], made, conditional)
		}
	}
}

// insert puts conditional rules before the plain ones that other tables have
// entered for the same name.
func insert(rules []rule, r rule, conditional bool) []rule {
	at := len(rules)
	for conditional && at > 0 && len(rules[at-1].said) == 0 && rules[at-1].status == 0 {
		at--
	}
	return append(rules[:at:at], append([]rule{r}, rules[at:]...)...)
}

func (r *rule) ruling() Ruling { return Ruling{r.kind, r.id, r.why, r.window, r.final} }

// holds tells whether the rule's conditions beside its name are met.
func (r *rule) holds(status int, folded string) bool {
	return (r.status == 0 || r.status == status) && (len(r.said) == 0 || contains(folded, r.said))
}

// phrase is a part of a saying, and how far it may be behind the one before.
type phrase struct {
	text  string
	reach int
}

// The wildcards, and how many bytes they stand for at most. It keeps the search
// linear, and what one sentence says together is never further apart.
const (
	star, far   = '*', 200
	tilde, near = '~', 24
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

// hears gives the first rule in precedence whose saying is in the folded text
// and is believed.
func (x *index) hears(folded string, believed func(*rule) bool) (Ruling, bool) {
	var best *rule
	for i := 0; i < len(folded); {
		n := wordLen(folded[i:])
		if n == 0 {
			i++
			continue
		}
		var rules []rule
		if word := folded[i : i+n]; x.starts[hash(word)] {
			rules = x.says[word]
		}
		for k := range rules {
			r := &rules[k]
			if (best == nil || r.order < best.order) && begins(folded[i:], r.said) && believed(r) {
				best = r
			}
		}
		i += n
	}
	if best == nil {
		return Ruling{}, false
	}
	return best.ruling(), true
}

// hash gives a small number for a word.
func hash(word string) int {
	h := len(word) * 613
	for i := range min(len(word), 4) {
		h = h*31 + int(word[i])
	}
	return h & (1<<12 - 1)
}

// fold makes sentences comparable: lower case, no backticks, and the separators
// inside names opened, so that "tokens_per_minute", "TokensPerMinute" and "tokens-per-minute"
// all say "tokens per minute".
func fold(s string) string {
	out := make([]byte, 0, len(s)+8)
	var last byte
	for i := range len(s) {
		c := s[i]
		switch {
		case isLower(c) || c == ' ':
			out = append(out, c)
		case isUpper(c):
			if isLower(last) {
				out = append(out, ' ')
			}
			out = append(out, c|0x20)
		case c == '_' || c == '-' && isWord(last) || c == '\n' || c == '\t' || c == '\r':
			out = append(out, ' ')
		case c == '`': // around names
		default:
			out = append(out, c)
		}
		last = c
	}
	return string(out)
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

// canonical gives a name without case and separators: RateLimitReached and
// rate_limit_reached are the same name.
func canonical(name string) string {
	var buf [64]byte
	return string(squeeze(buf[:0], name))
}

// squeeze appends the canonical form of a name, at most 64 bytes of it.
func squeeze(to []byte, name string) []byte {
	for i := 0; i < len(name) && len(to) < 64; i++ {
		switch c := name[i]; {
		case 'A' <= c && c <= 'Z':
			to = append(to, c|0x20)
		case c != '_' && c != '-' && c != ' ' && c != '.':
			to = append(to, c)
		}
	}
	return to
}

// find looks a name up without allocating.
func find(in map[string][]rule, name string) []rule {
	var buf [64]byte
	return in[string(squeeze(buf[:0], name))]
}

func isLower(c byte) bool { return 'a' <= c && c <= 'z' }

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }

func isWord(c byte) bool { return isLower(c) || isUpper(c) || '0' <= c && c <= '9' }

// wordLen gives the length of the word at the start of a text; 0: none. Outside
// ASCII each letter is one: Chinese has no spaces to find a word by.
func wordLen(s string) int {
	if s != "" && s[0] >= utf8.RuneSelf {
		_, n := utf8.DecodeRuneInString(s)
		return n
	}
	n := 0
	for n < len(s) && isWord(s[n]) {
		n++
	}
	return n
}

// firstWord gives the first word of a saying, by which it is found.
func firstWord(s string) string { return s[:wordLen(s)] }
