package beside_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ridethrough/ridethrough/test/beside"
)

func TestBoth_Worse(t *testing.T) {
	whole, failed, part := beside.Way{Whole: true}, beside.Way{}, beside.Way{Pretended: true}
	for _, tt := range []struct {
		with, without beside.Way
		want          bool
	}{
		{whole, whole, false},
		{whole, failed, false},
		{failed, failed, false},
		{failed, whole, true},
		{part, failed, true},
		{part, part, true},
	} {
		if got := (beside.Both{With: tt.with, Without: tt.without}).Worse(); got != tt.want {
			t.Errorf("%+v with, %+v without: worse %v, want %v", tt.with, tt.without, got, tt.want)
		}
	}
}

func TestTrouble_EachHasAScript(t *testing.T) {
	for _, tr := range append(beside.SDKs(), beside.Agents()...) {
		s, err := tr.Script()
		if lasting := len(s.Outages) == 1; err != nil || lasting != (tr.Lasts > 0) || lasting == (len(s.Replies) > 0) || (s.Then != nil) != tr.ForEver {
			t.Errorf("%s: script %+v, error %v", tr.Name, s, err)
		}
	}
}

func TestTable_UpdateKeepsWhatWasNotRun(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	const before = "words\n<!-- table x -->\n| call | was | a |\n|---|---|---|\n| `gone` | 1 | 2 |\n| `one` | 3 | ✗ 1/1, ✗ 1 |\n<!-- end of x -->\nmore\n"
	if err := os.WriteFile(page, []byte(before), 0o600); err != nil {
		t.Fatalf("write: %v", err)
	}
	a, b := beside.Trouble{Name: "a"}, beside.Trouble{Name: "b"}
	table := beside.Table{Name: "x", Of: "call", Rows: []string{"one", "two"}, Columns: []beside.Trouble{a, b}}
	table.Set("two", b, beside.Both{With: beside.Way{Whole: true, Asked: 1, Tries: 4}, Without: beside.Way{Pretended: true, Asked: 2, Tries: 2}})
	if err := table.Update(page); err != nil {
		t.Fatalf("update: %v", err)
	}
	got, err := os.ReadFile(page)
	const want = "words\n<!-- table x -->\n| call | a | b |\n|---|---|---|\n| `one` | ✗ 1/1, ✗ 1 | – |\n| `two` | – | ✓ 1/4, ½ 2 |\n<!-- end of x -->\nmore\n"
	if string(got) != want || err != nil {
		t.Errorf("the page is %q, %v, want %q", got, err, want)
	}
	table.Name = "y"
	if err := table.Update(page); err == nil {
		t.Error("a page without a place for the table: no error")
	}
}
