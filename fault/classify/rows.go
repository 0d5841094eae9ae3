package classify

import (
	"slices"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/fault"
)

// Row is a user's own reading of a fault: what it matches, and what it says. It matches if all of its
// conditions hold; one without a condition matches nothing. Only faults are compared with rows, never answers.
type Row struct {
	Provider string // Evidence.Provider; "": any
	Status   int    // the response's, or the one that an event or a text states; 0: any
	Code     string // of any layer, or its reason, compared without case and separators; "": any
	Type     string // of any layer, compared like Code; "": any
	Text     string // part of a message, without case; * is up to 200 bytes; "": any

	Kind fault.Kind
	Wait time.Duration // see Ruling.Wait
	Rule string        // see Ruling.Rule, such as "faults.yaml:12"
	Note string        // becomes Ruling.Reason
}

// Rows returns a judge that decides by the first row that matches.
func Rows(rows []Row) Judge {
	rows = slices.Clone(rows)
	texts := make([][]phrase, len(rows))
	for i, r := range rows {
		texts[i] = phrasesIn(r.Text)
	}
	return func(e Evidence) (Ruling, bool) {
		for i, r := range rows {
			if r.matches(e, texts[i]) {
				return Ruling{Kind: r.Kind, Rule: r.Rule, Reason: r.Note, Wait: r.Wait, Sure: certain}, true
			}
		}
		return Ruling{}, false
	}
}

// matches reports whether the row's conditions hold; text is its text, prepared.
func (r Row) matches(e Evidence, text []phrase) bool {
	anyLayer := func(is func(Layer) bool) bool { return slices.ContainsFunc(e.Layers, is) }
	switch {
	case r.Status == 0 && r.Code == "" && r.Type == "" && r.Text == "":
		return false
	case r.Provider != "" && r.Provider != e.Provider,
		r.Status != 0 && r.Status != e.Status && r.Status != e.innermostStatus(),
		r.Code != "" && !anyLayer(func(l Layer) bool { return sameName(l.Code, r.Code) || sameName(l.Reason, r.Code) }),
		r.Type != "" && !anyLayer(func(l Layer) bool { return sameName(l.Type, r.Type) }),
		r.Text != "" && (len(text) == 0 || !anyLayer(func(l Layer) bool { return containsPhrases(l.folded, text) })):
		return false
	}
	return true
}

// sameName reports whether an error has a name.
func sameName(has, want string) bool { return has != "" && canonicalName(has) == canonicalName(want) }

// phrasesIn returns the phrases of a user's text, which may begin or end with an asterisk; none: it has no words.
func phrasesIn(text string) []phrase {
	all := splitPhrases(strings.ReplaceAll(text, string(tilde), " "))
	return slices.DeleteFunc(all, func(p phrase) bool { return p.text == "" })
}
