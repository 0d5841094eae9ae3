package classify

import "github.com/ridethrough/ridethrough/fault"

// row is one thing that is known about one vendor's errors: what it matches,
// what that means, and why. An exception is a row that matches more closely.
type row struct {
	name   string // a type, code, reason or status word, compared without case and separators; "": any
	says   string // words of the message, compared folded; * stands for up to 200 bytes, ~ for up to 28; "": any
	status int    // the HTTP status; 0: any
	kind   fault.Kind
	why    string
	window bool // see Ruling.Window
	final  bool // see Ruling.Final
}

// table holds what is known about one vendor, by the strength of what matches.
type table struct {
	vendor string
	not    func(status int) bool // the statuses with which its sentences are not believed; nil: none
	guess  bool                  // its rows infer a kind from words that nobody was seen to write
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
	not   func(status int) bool // see table
	guess bool                  // see table
	id    string
}

// index finds the rules of all tables: by name, and by the word that they start
// with, so that the cost is that of the text and not that of the tables.
type index struct {
	names, family, vague map[string][]rule
	header               []rule
	says                 sayings
}

// bind makes an index. Earlier tables take precedence in what they say; among
// rows of one name those with a further condition do.
func bind(tables ...table) *index {
	x := &index{names: map[string][]rule{}, family: map[string][]rule{}, vague: map[string][]rule{}, says: sayings{lists: make([][]saying, 1)}}
	for _, t := range tables {
		enter(x.names, t.vendor, t.names)
		enter(x.family, t.vendor, t.family)
		enter(x.vague, t.vendor, t.vague)
		for _, r := range t.header {
			x.header = append(x.header, rule{row: r, id: t.vendor + "/" + r.name + " " + r.says})
		}
	}
	for _, t := range tables {
		for _, r := range t.says {
			x.says.add(&rule{row: r, said: cut(r.says), not: t.not, guess: t.guess, id: t.vendor + "/" + r.says})
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

func (r *rule) ruling() Ruling {
	return Ruling{Kind: r.kind, Rule: r.id, Reason: r.why, Window: r.window, Guessed: r.guess, Final: r.final}
}

// holds tells whether the rule's conditions beside its name are met.
func (r *rule) holds(status int, folded string) bool {
	return (r.status == 0 || r.status == status) && (len(r.said) == 0 || contains(folded, r.said))
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

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isWord(c byte) bool { return isLower(c|0x20) || isDigit(c) }
