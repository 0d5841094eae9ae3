package classify

import (
	"cmp"
	"errors"
	"strconv"
	"strings"
	"sync"
)

// rule is a row prepared for matching.
type rule struct {
	Ruling
	status  int      // the HTTP status; 0: any
	phrases []phrase // text, folded and split at its wildcards
	account bool     // it states how an account is
	number  bool     // a number in it counts in the form of its vendor's errors only
	table   *table
}

// index finds the rules of all tables by name, and by the first word of their text. Its cost depends on the
// text, not on the size of the tables.
type index struct {
	names, broadNames, weakNames map[string][]rule
	headers                      []headerRule
	texts, failures              phraseIndex
	statuses, plainStatuses      map[int]Ruling // also of classes, see classOf; the plain ones are in both
}

// headerRule is the meaning of a header's value.
type headerRule struct {
	name, value string
	Ruling
}

// allRules holds every table. It is read on first use: a program that never sees a fault pays nothing.
var allRules = sync.OnceValue(func() *index {
	tables, err := readTables()
	x, bad := indexOf(tables)
	if err = errors.Join(err, bad); err != nil {
		panic("fault/classify: " + err.Error()) // the tables are part of the program, and a test reads them
	}
	return x
})

// indexOf makes the rules of tables; the texts of the last one are those of failures.
func indexOf(tables []*table) (*index, error) {
	x := emptyIndex()
	for i, t := range tables {
		texts := &x.texts
		if i == len(tables)-1 {
			texts = &x.failures
		}
		for _, r := range t.rows {
			if err := x.add(t, r, texts); err != nil {
				return nil, errors.New(r.at + err.Error())
			}
		}
		t.rows = nil // the rules have what they need of them
	}
	return x, nil
}

// emptyIndex returns an index without rules.
func emptyIndex() *index {
	return &index{
		names: map[string][]rule{}, broadNames: map[string][]rule{}, weakNames: map[string][]rule{},
		texts: phraseIndex{lists: map[string][]phraseRule{}}, failures: phraseIndex{lists: map[string][]phraseRule{}},
		plainStatuses: map[int]Ruling{}, statuses: map[int]Ruling{},
	}
}

// add adds the rules of a row.
func (x *index) add(t *table, row tableRow, texts *phraseIndex) error {
	r := rule{Ruling: row.says, status: row.status, table: t}
	r.Rule = t.name + "/" + row.match
	firsts, seconds, paired := strings.Cut(row.match, " ~ ")
	header, value, valued := strings.Cut(row.match, ": ")
	gap := strings.Contains("|"+strings.ReplaceAll(row.match, " ~ ", "|")+"|", "||")
	switch where := row.where; {
	case where == "name":
		addName(x.names, r, row.match)
	case where == "broad":
		addName(x.broadNames, r, row.match)
	case where == "weak":
		addName(x.weakNames, r, row.match)
	case where == "header" && valued:
		r.Rule = t.name + "/" + header + " " + value
		x.headers = append(x.headers, headerRule{header, value, r.Ruling})
	case where == "plain" || where == "status":
		status, err := parseStatus(row.match)
		if x.statuses[status] = r.Ruling; where == "plain" {
			x.plainStatuses[status] = r.Ruling
		}
		return err
	case where == "text":
		texts.addText(r, row.match)
	case where == "any" && !gap:
		for text := range strings.SplitSeq(row.match, "|") {
			texts.addText(r, text)
		}
	case where == "pair" && paired && !gap:
		texts.addPairs(r, firsts, seconds)
	case where == "cross" && paired && !gap:
		texts.addPairs(r, firsts, seconds)
		texts.addPairs(r, seconds, firsts)
	default:
		return not(row.match, "what a row "+strconv.Quote(where)+" compares")
	}
	return nil
}

// addName adds a rule under a name. Rules with more conditions come before the others of the same name, whichever
// table they are in.
func addName(in map[string][]rule, r rule, match string) {
	name, text, more := strings.Cut(match, " & ")
	if r.number = isNumber(name); more {
		r.phrases, r.Rule = splitPhrases(text), r.table.name+"/"+name+" "+text
	}
	key := canonicalName(name)
	rules := append(in[key], r)
	if more || r.status != 0 {
		for i := len(rules) - 1; i > 0 && rules[i-1].phrases == nil && rules[i-1].status == 0; i-- {
			rules[i], rules[i-1] = rules[i-1], rules[i]
		}
	}
	in[key] = rules
}

// addPairs adds each of some texts shortly before each of some others.
func (x *phraseIndex) addPairs(r rule, firsts, seconds string) {
	for a := range strings.SplitSeq(firsts, "|") {
		for b := range strings.SplitSeq(seconds, "|") {
			x.addText(r, a+" ~ "+b)
		}
	}
}

// addText adds a rule for a text.
func (x *phraseIndex) addText(r rule, text string) {
	t := r.table
	r.Rule, r.phrases, r.number = t.name+"/"+text, splitPhrases(text), strings.ContainsAny(text, digits)
	r.Guessed, r.Sure = t.guessed, cmp.Or(r.Sure, t.sure)
	r.account = t.account.Has(r.Kind) && r.Sure > advertised
	x.add(&r)
}

// advertised is how much a text proves that asks for money, in percent: throttles of free plans do so too.
const advertised = 30

// matches reports whether the rule's conditions beside its name hold.
func (r *rule) matches(status int, l Layer) bool {
	return (r.status == 0 || r.status == status || r.status == l.Status) && r.inForm(l) && (len(r.phrases) == 0 || containsPhrases(l.claims, r.phrases))
}

// inForm reports whether a number in the rule counts in an error of this form.
func (r *rule) inForm(l Layer) bool { return !r.number || r.table.form == nil || r.table.form(l) }

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

// forms are how the errors of vendors look whose names or texts have numbers in them: such a number counts in no
// other form, since vendors count independently of each other.
var forms = map[string]func(Layer) bool{
	"cloudflare": isCloudflares,
	"minimax":    func(l Layer) bool { return strings.HasSuffix(strings.TrimSpace(l.Message), ")") },
	"mistral":    func(l Layer) bool { return l.Type != "" },
	"workers-ai": func(l Layer) bool { return l.within == "errors" && l.Type == "" },
	"zhipu":      func(l Layer) bool { return l.within != "errors" && (l.Type == "" || isNumber(l.Type)) },
}

// isCloudflares reports whether a layer is a line of Cloudflare's, "error code: 1020", or names it: others count
// their errors from 1000 too.
func isCloudflares(l Layer) bool {
	line := strings.HasPrefix(l.folded, "error code: ") && len(l.folded) <= len("error code: 1020 ")
	return line || strings.Contains(l.folded, "cloudflare") || strings.Contains(l.folded, "ray id")
}
