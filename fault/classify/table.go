package classify

import (
	"cmp"
	"strings"

	"github.com/ridethrough/ridethrough/fault"
)

// row is one known error of a vendor: what it matches, its kind, and why. An exception is a row with more
// conditions.
type row struct {
	name   string // a type, code, reason or status word, compared without case and separators; "": any
	text   string // part of the message, folded; * is up to 200 bytes, ~ up to 28; "": any
	status int    // the HTTP status; 0: any
	kind   fault.Kind
	reason string
	window bool // see Ruling.Window
	final  bool // see Ruling.Final
	images bool // see Ruling.Images
	sure   int  // see table; 0: the table's
}

// table holds the known errors of one vendor, by how much each match proves.
type table struct {
	vendor       string
	exceptStatus func(status int) bool // the statuses with which its texts prove nothing; nil: none
	shape        func(Layer) bool      // the form of its errors: a name or text with a number in it counts in no other; nil: any
	guessed      bool                  // its rows infer a kind from words near each other
	sure         int                   // how much its texts prove, in percent; 0: 100, the vendor's own sentence
	headers      []row                 // a header (name) and its value (text)
	names        []row                 // with one meaning: they decide before any text
	texts        []row                 // they decide where no name and no status has, in this order
	broadNames   []row                 // such as rate_limit_error: a text can be more precise
	weakNames    []row                 // they say less than a status: for events, or in a quoted cause
}

// rule is a row prepared for matching.
type rule struct {
	row
	phrases      []phrase              // text, folded and split at its wildcards
	exceptStatus func(status int) bool // see table
	shape        func(Layer) bool      // see table; nil: any
	guessed      bool                  // see table
	id           string
}

// index finds the rules of all tables by name, and by the first word of their text. Its cost depends on the
// text, not on the size of the tables.
type index struct {
	names, broadNames, weakNames map[string][]rule
	headers                      []rule
	texts                        phraseIndex
}

// newIndex makes an index. Earlier tables take precedence in their texts; among rows of one name, those
// with more conditions do.
func newIndex(tables ...*table) *index {
	x := &index{names: map[string][]rule{}, broadNames: map[string][]rule{}, weakNames: map[string][]rule{}, texts: phraseIndex{lists: make([][]phraseRule, 1)}}
	for _, t := range tables {
		t.addNames(x.names, t.names)
		t.addNames(x.broadNames, t.broadNames)
		t.addNames(x.weakNames, t.weakNames)
		for _, r := range t.headers {
			x.headers = append(x.headers, rule{row: r, id: t.vendor + "/" + r.name + " " + r.text})
		}
	}
	for _, t := range tables {
		for _, r := range t.texts {
			r.sure = cmp.Or(r.sure, t.sure, 100)
			added := rule{row: r, phrases: splitPhrases(r.text), exceptStatus: t.exceptStatus, guessed: t.guessed, id: t.vendor + "/" + r.text}
			if strings.ContainsAny(r.text, digits) {
				added.shape = t.shape
			}
			x.texts.add(&added)
		}
	}
	return x
}

// addNames files rows under their names, those with conditions first.
func (t *table) addNames(into map[string][]rule, rows []row) {
	for _, conditional := range []bool{true, false} {
		for _, r := range rows {
			if (r.text != "" || r.status != 0) != conditional {
				continue
			}
			key := canonicalName(r.name)
			added := rule{row: r, id: t.vendor + "/" + r.name}
			if isNumber(r.name) {
				added.shape = t.shape
			}
			if r.text != "" {
				added.phrases, added.id = splitPhrases(r.text), added.id+" "+r.text
			}
			into[key] = insertRule(into[key], added, conditional)
		}
	}
}

// insertRule puts rules with conditions before the unconditional ones that other tables have for the same
// name.
func insertRule(rules []rule, r rule, conditional bool) []rule {
	at := len(rules)
	for conditional && at > 0 && len(rules[at-1].phrases) == 0 && rules[at-1].status == 0 {
		at--
	}
	return append(rules[:at:at], append([]rule{r}, rules[at:]...)...)
}

func (r *rule) ruling() Ruling {
	return Ruling{Kind: r.kind, Rule: r.id, Reason: r.reason, Window: r.window, Guessed: r.guessed, Final: r.final, Images: r.images, Sure: r.sure}
}

// matches reports whether the rule's conditions beside its name hold.
func (r *rule) matches(status int, l Layer) bool {
	return (r.status == 0 || r.status == status) && (r.shape == nil || r.shape(l)) &&
		(len(r.phrases) == 0 || containsPhrases(l.folded, r.phrases))
}

const digits = "0123456789"

// isNumber reports whether a name is a number: vendors count independently of each other.
func isNumber(name string) bool {
	return name != "" && strings.Trim(name, digits) == ""
}

// canonicalName returns a name without case and separators: RateLimitReached and rate_limit_reached are the
// same name.
func canonicalName(name string) string {
	var buf [64]byte
	return string(appendCanonical(buf[:0], name))
}

// appendCanonical appends the canonical form of a name, at most 64 bytes of it.
func appendCanonical(to []byte, name string) []byte {
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

// rulesNamed returns the rules of a name without allocating.
func rulesNamed(in map[string][]rule, name string) []rule {
	var buf [64]byte
	return in[string(appendCanonical(buf[:0], name))]
}

func isLower(c byte) bool { return 'a' <= c && c <= 'z' }

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isWord(c byte) bool { return isLower(c|0x20) || isDigit(c) }
