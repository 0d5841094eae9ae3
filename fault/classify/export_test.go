package classify

import (
	"errors"
	"slices"
	"strings"
	"time"
)

// ParseTables reads the tables of a file, and makes rules of them.
func ParseTables(file, text string) error {
	tables := map[string]*table{}
	if err := parseTables(file, text, tables); err != nil {
		return err
	}
	for _, t := range tables {
		for _, r := range t.rows {
			x := emptyIndex()
			if err := x.add(t, r, &x.texts); err != nil {
				return errors.New(r.at + err.Error())
			}
		}
	}
	return nil
}

// ParseWords reads lists of words.
func ParseWords(file, text string) error {
	_, err := parseWords(file, text)
	return err
}

// TableRow is a line of a table.
type TableRow struct {
	At, Table, Where string
	Status           int
	Match, Source    string
}

// TableRows returns all rows, in their order.
func TableRows() (all []TableRow, err error) {
	tables, err := readTables()
	for _, t := range tables {
		for _, r := range t.rows {
			all = append(all, TableRow{r.at, t.name, r.where, r.status, r.match, r.source})
		}
	}
	return all, err
}

// tablesWith returns the tables, with rows added to the last but one.
func tablesWith(rows string) ([]*table, error) {
	tables, err := readTables()
	if err != nil {
		return nil, err
	}
	t := tables[len(tables)-2]
	added := map[string]*table{}
	if err := parseTables("added", "["+t.name+"]\nsource  added\n"+rows, added); err != nil {
		return nil, err
	}
	t.rows = append(t.rows, added[t.name].rows...)
	return tables, nil
}

// Unreachable returns the rows that can never decide, since an earlier one always does, with some rows added at the
// end: of pairs, those of which no pair can.
func Unreachable(rows string) (dead []string, err error) {
	tables, err := tablesWith(rows)
	if err != nil {
		return nil, err
	}
	again, err := tablesWith(rows)
	if err != nil {
		return nil, err
	}
	x, err := indexOf(again)
	if err != nil {
		return nil, err
	}
	for i, t := range tables {
		texts := &x.texts
		if i == len(tables)-1 {
			texts = &x.failures
		}
		for _, row := range t.rows {
			own := emptyIndex()
			if err := own.add(t, row, &own.texts); err != nil {
				return nil, err
			}
			var covered []string
			rules := 0
			for _, list := range own.texts.lists {
				for _, r := range list {
					rules++
					covered = append(covered, texts.coveredBy(r.rule)...)
				}
			}
			for key, named := range own.names {
				covered = append(covered, coveringName(x.names[key], named[0])...)
			}
			for key, named := range own.broadNames {
				covered = append(covered, coveringName(slices.Concat(x.names[key], x.broadNames[key]), named[0])...)
			}
			for key, named := range own.weakNames {
				covered = append(covered, coveringName(slices.Concat(x.names[key], x.weakNames[key]), named[0])...)
			}
			if len(covered) > 0 && (len(covered) >= rules || row.where == "any") {
				dead = append(dead, row.at+strings.Join(covered, ", "))
			}
		}
	}
	return dead, nil
}

// coveredBy returns that a rule's text never decides since another one always does; nil: there is no such rule.
func (x *phraseIndex) coveredBy(r *rule) []string {
	var candidates map[string]*rule
	for _, text := range textsWith(r.phrases) {
		own, found := 0, map[string]*rule{}
		x.all(text, func(other *rule, _ string, order int) {
			if other.Rule == r.Rule && other.status == r.status {
				own = order
			}
		})
		x.all(text, func(other *rule, _ string, order int) {
			if order < own && (candidates == nil || candidates[other.Rule] != nil) {
				found[other.Rule] = other
			}
		})
		if own == 0 {
			continue // a short word goes on
		}
		if candidates = found; len(found) == 0 {
			return nil
		}
	}
	for _, other := range candidates {
		if countsWherever(other, r) {
			return []string{r.Rule + " never decides: " + other.Rule + " does"}
		}
	}
	return nil
}

// textsWith returns texts that have phrases: near each other and as far as they may be, alone and in longer words.
func textsWith(phrases []phrase) (all []string) {
	for _, between := range []string{"", "#", "x", " x", "# far", "x far", " x far"} {
		for _, end := range []string{"", "x", " x"} {
			text := phrases[0].text
			for _, p := range phrases[1:] {
				filler, far := strings.CutSuffix(between, " far")
				if far {
					filler += strings.Repeat(filler[len(filler)-1:], p.reach-len(filler))
				}
				text += filler + p.text
			}
			all = append(all, text+end)
		}
	}
	return all
}

// countsWherever reports whether a rule's text is evidence in every circumstance in which that of another one is.
func countsWherever(r, other *rule) bool {
	for _, status := range []int{0, 200, 400, 401, 403, 404, 409, 413, 422, 423, 429, 500, 503} {
		for _, l := range []Layer{
			{},
			{Param: "p"},
			{Status: 429},
			{Status: 400},
			{Type: "t"},
			{Type: "1"},
			{within: "errors"},
			{Message: "a)"},
			{folded: "cloudflare"},
			{folded: "the service failed"},
		} {
			for _, e := range []Evidence{{}, {hint: hint{wait: time.Second}}, {Err: errors.New("broken")}} {
				if e.Status = status; e.objection(l, other) == "" && e.objection(l, r) != "" {
					return false
				}
			}
		}
	}
	return true
}

// coveringName returns that a rule for a name never decides since an earlier one always does; nil: there is no such
// rule.
func coveringName(rules []rule, r rule) []string {
	for _, other := range rules {
		if other.Rule == r.Rule && other.status == r.status {
			return nil
		}
		always := (other.status == 0 || other.status == r.status) && (!other.number || other.table.form == nil || other.table == r.table)
		if always && other.phrases != nil {
			always = r.phrases != nil && !slices.ContainsFunc(textsWith(r.phrases), func(text string) bool { return !containsPhrases(text, other.phrases) })
		}
		if always {
			return []string{r.Rule + " never decides: " + other.Rule + " does"}
		}
	}
	return nil
}
