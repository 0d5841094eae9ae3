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
	type ready struct {
		Row
		text []phrase
	}
	all := make([]ready, len(rows))
	for i, r := range rows {
		all[i].Row = r
		if r.Text != "" {
			all[i].text = phrasesIn(r.Text)
		}
	}
	return func(e Evidence) (Ruling, bool) {
		for _, r := range all {
			if r.matches(e, r.text) {
				return Ruling{Kind: r.Kind, Rule: r.Rule, Reason: r.Note, Wait: r.Wait, Sure: certain}, true
			}
		}
		return Ruling{}, false
	}
}

// matches reports whether the row's conditions hold; text is its text, prepared.
func (r Row) matches(e Evidence, text []phrase) bool {
	says := func(l Layer) bool { return containsPhrases(l.folded, text) }
	switch {
	case r.Status == 0 && r.Code == "" && r.Type == "" && r.Text == "":
		return false
	case r.Provider != "" && r.Provider != e.Provider,
		r.Status != 0 && r.Status != e.Status && r.Status != e.innermostStatus(),
		r.Code != "" && !e.named(r.Code, func(l Layer) []string { return []string{l.Code, l.Reason} }),
		r.Type != "" && !e.named(r.Type, func(l Layer) []string { return []string{l.Type} }),
		r.Text != "" && (len(text) == 0 || !slices.ContainsFunc(e.Layers, says)):
		return false
	}
	return true
}

// named reports whether any layer has a name among those that of returns.
func (e Evidence) named(name string, of func(Layer) []string) bool {
	want := canonicalName(name)
	return slices.ContainsFunc(e.Layers, func(l Layer) bool {
		return slices.ContainsFunc(of(l), func(has string) bool { return has != "" && canonicalName(has) == want })
	})
}

// phrasesIn returns the phrases of a user's text, which may begin or end with an asterisk; none: it has no words.
func phrasesIn(text string) []phrase {
	all := splitPhrases(strings.ReplaceAll(text, string(tilde), " "))
	return slices.DeleteFunc(all, func(p phrase) bool { return p.text == "" })
}
