package classify_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/fault/classify"
)

func tableRows(t *testing.T) []classify.TableRow {
	t.Helper()
	rows, err := classify.TableRows()
	if err != nil || len(rows) < 1000 {
		t.Fatalf("read the tables: %d rows, error %v", len(rows), err)
	}
	return rows
}

func TestTables_EveryRowCanDecide(t *testing.T) {
	dead, err := classify.Unreachable("")
	if err != nil {
		t.Fatalf("read the tables: %v", err)
	}
	for _, d := range dead {
		t.Errorf("a row in vain: %s", d)
	}
}

func TestTables_RowsThatCannotDecideAreFound(t *testing.T) {
	const dead = `
name      invalid           Insufficient-Quota
weak      invalid           overloaded_error
text      invalid           it is not an exceed context limit of yours
text      invalid           prompt is too long ~ forever
any       rate-limited 50%  foo|too many requests
pair      rate-limited 50%  rate limit|per minute ~ foo
`
	const alive = `
name 429  quota             billing_error & unpaid
text      invalid           prompt ~ is too long
any       invalid           bar|limited by rate
cross     rate-limited 50%  rate limit|per minute ~ qux
text      invalid           too many requests
`
	found, err := classify.Unreachable(dead + alive)
	if want := strings.Count(dead, "\n") - 1; len(found) != want || err != nil {
		t.Errorf("%d rows that cannot decide, want %d, error %v:\n%s", len(found), want, err, strings.Join(found, "\n"))
	}
}

func TestTables_NoRowTwice(t *testing.T) {
	seen := map[classify.TableRow]string{}
	for _, r := range tableRows(t) {
		at := r.At
		if r.Where == "plain" {
			r.Where = "status" // as the others are
		}
		if r.At, r.Source = "", ""; seen[r] != "" {
			t.Errorf("%s%q is in %s too", at, r.Match, seen[r])
		}
		seen[r] = at
	}
}

func TestTables_RowsStandInOneOrder(t *testing.T) {
	order := []string{"header", "name", "broad", "weak", "text"}
	last := classify.TableRow{}
	for _, r := range tableRows(t) {
		if slices.Contains(order, r.Where) && r.Table == last.Table && slices.Index(order, r.Where) < slices.Index(order, last.Where) {
			t.Errorf("%s%s stands after %s", r.At, r.Where, last.Where)
		}
		last = r
	}
}

// source is a page, an issue, a public repository or its file, a standard, or what was only observed.
var source = regexp.MustCompile(`^observed( of .+)?$|\w\.\w{2,}|[\w-]+/[\w-]+|RFC \d`)

func TestTables_EveryRowHasASource(t *testing.T) {
	for _, r := range tableRows(t) {
		if !source.MatchString(r.Source) {
			t.Errorf("%s%q has the source %q, want a page, an issue or %q", r.At, r.Match, r.Source, "observed")
		}
	}
}

func TestParseTables_RefusesLines(t *testing.T) {
	const head = "[x]\nsource  observed\n"
	for _, tt := range []struct{ text, says string }{
		{"name  quota  a", "t:1: a line before the first table"},
		{"[x\n", `t:1: "[x" is not the name of a new table`},
		{"[x]\n[x]\n", `t:2: "[x]" is not the name of a new table`},
		{"[x]  guesed\n", `t:1: "guesed" is not known of a table`},
		{"[x]  101%\n", `t:1: "101%" is not a percentage`},
		{"[x]  account money\n", `t:1: "money" is not a kind of fault`},
		{"[x]  except 4x\n", `t:1: "4x" is not a status`},
		{"[x]\nname  quota  a\n", "t:2: no source"},
		{head + "name  quota", "t:3: 2 columns"},
		{head + "name  quota  a  why  observed  more\n", "t:3: 6 columns"},
		{head + "\n# more\nname  quotta  a\n", `t:5: "quotta" is not a kind of fault`},
		{head + "name  quota wndow  a\n", `t:3: "wndow" is not a percentage`},
		{head + "name 42x  quota  a\n", `t:3: "42x" is not a status`},
		{head + "nmae  quota  a\n", `t:3: "a" is not what a row "nmae" compares`},
		{head + "header  quota  Retry-After\n", `t:3: "Retry-After" is not what a row "header" compares`},
		{head + "pair  quota  a|b\n", `t:3: "a|b" is not what a row "pair" compares`},
		{head + "status  quota  many\n", `t:3: "many" is not a status`},
		{head + "any  quota  a||b\n", `t:3: "a||b" is not what a row "any" compares`},
		{head + "cross  quota  a| ~ b\n", `t:3: "a| ~ b" is not what a row "cross" compares`},
		{head + "text  quota  \"a\n", `t:3: "\"a" is not a quoted text`},
	} {
		if err := classify.ParseTables("t", tt.text); err == nil || !strings.HasPrefix(err.Error(), tt.says) {
			t.Errorf("%q: error %v, want %q", tt.text, err, tt.says)
		}
	}
	if err := classify.ParseTables("t", head+"name 429  quota window 60%  a & b  -  somewhere\ncross  auth  a|b ~ c  why\n"); err != nil {
		t.Errorf("a valid table: %v", err)
	}
}

func TestParseWords_RefusesLines(t *testing.T) {
	for _, text := range []string{"asks  a|b", "ask", "ask  a  b", "ask 1s  a", "unit  s", "unit 1x  s", "reason  why", "reason money  why", "ask  a||b"} {
		if err := classify.ParseWords("w", "# words\n"+text); err == nil || !strings.HasPrefix(err.Error(), "w:2: want a list") {
			t.Errorf("%q: error %v, want one of its line", text, err)
		}
	}
}

func FuzzParseTables(f *testing.F) {
	f.Add("[x]  guessed  50%  only 409 5xx\nsource  observed\ntext 429  quota window  \"a \"  why\nany  auth  a|b\n")
	f.Add("ask  a|b\nunit 1s  s\nreason quota  spent\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, err := range []error{classify.ParseTables("t", text), classify.ParseWords("t", text)} {
			if err != nil && !strings.HasPrefix(err.Error(), "t:") {
				t.Errorf("%q: error %v without its place", text, err)
			}
		}
	})
}
