// Package beside compares what becomes of a client's call through ridethrough with what becomes of it without,
// and keeps the tables of docs/holding.md. The tests of test/npm and of test/sdk use it.
package beside

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/policy"
)

// Trouble is what a provider does before it is well, or for ever. It is a column of a table.
type Trouble struct {
	Name    string
	Replies string        // in the simulator's words
	Lasts   time.Duration // so long every request gets the first of Replies; 0: each request gets the next one
	ForEver bool          // the last of Replies does not end
	Pace    time.Duration // before each word of an answer
	GivesUp bool          // the gateway has the policy simple, else patient
}

// SDKs are the troubles of SDKs. They pass within seconds.
func SDKs() []Trouble {
	return []Trouble{
		{Name: "529 for 12 s", Replies: "529", Lasts: 12 * time.Second},
		{Name: "503 for 12 s", Replies: "503", Lasts: 12 * time.Second},
		{Name: "429, Retry-After 3", Replies: "429;retry-after=3"},
		{Name: "3 resets", Replies: "reset*3"},
		{Name: "silent for 15 s", Replies: "silence:15s"},
		{Name: "cut in the text", Replies: "cut:3"},
		{Name: "give-up", Replies: "503", ForEver: true, GivesUp: true},
		{Name: "empty account", Replies: "quota", ForEver: true},
	}
}

// Agents are the troubles of agents.
func Agents() []Trouble {
	return []Trouble{
		{Name: "529 for 20 s", Replies: "529", Lasts: 20 * time.Second},
		{Name: "503 for 60 s", Replies: "503", Lasts: time.Minute},
		{Name: "429, Retry-After 3", Replies: "429;retry-after=3"},
		{Name: "3 resets", Replies: "reset*3"},
		{Name: "silent for 90 s", Replies: "silence:90s"},
		// Cut in the packet of its headers, a request of Bun's fails as if it had no answer: the text has a pace.
		{Name: "cut in the text", Replies: "cut:3", Pace: 200 * time.Millisecond},
		{Name: "give-up", Replies: "503", ForEver: true, GivesUp: true},
		{Name: "empty account", Replies: "quota", ForEver: true},
	}
}

// Script returns what the provider does. Its answer may be empty, for that of a simulator.
func (tr Trouble) Script() (simulator.Script, error) {
	replies, err := simulator.Parse(tr.Replies)
	if err != nil {
		return simulator.Script{}, err
	}
	s := simulator.Script{Replies: replies, Pace: tr.Pace}
	switch {
	case tr.Lasts > 0:
		s.Outages, s.Replies = []simulator.Outage{{To: tr.Lasts, Reply: replies[0]}}, nil
	case tr.ForEver:
		s.Then = replies[len(replies)-1]
	}
	return s, nil
}

// Policy returns the gateway's policy, and the name of its preset.
func (tr Trouble) Policy() (policy.Policy, string) {
	if tr.GivesUp {
		return policy.Simple(), "simple"
	}
	return policy.Patient(), "patient"
}

// Way is what became of a question in one of two ways.
type Way struct {
	Whole     bool // the whole answer was there
	Pretended bool // the client took a part of it for all of it
	Asked     int  // requests of the client
	Tries     int  // requests at the provider
}

// Both are a cell of a table.
type Both struct{ With, Without Way }

// String returns the cell: without the gateway the client's requests are those at the provider.
func (b Both) String() string {
	return fmt.Sprintf("%s %d/%d, %s %d", b.With.mark(), b.With.Asked, b.With.Tries, b.Without.mark(), b.Without.Tries)
}

func (w Way) mark() string {
	switch {
	case w.Whole:
		return "✓"
	case w.Pretended:
		return "½"
	default:
		return "✗"
	}
}

// Worse reports whether the client fares worse through the gateway.
func (b Both) Worse() bool { return b.Without.Whole && !b.With.Whole || b.With.Pretended }

// Table is a table of docs/holding.md. A cell that is not set stays as the page has it.
type Table struct {
	Name    string   // in the page's marks
	Of      string   // what the rows are
	Rows    []string // their names
	Columns []Trouble

	mu    sync.Mutex
	cells map[[2]string]string
}

// Set sets a cell.
func (t *Table) Set(row string, tr Trouble, b Both) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cells == nil {
		t.cells = map[[2]string]string{}
	}
	t.cells[[2]string{row, tr.Name}] = b.String()
}

// Update writes the cells that are set into a page.
func (t *Table) Update(page string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	begin, end := "<!-- table "+t.Name+" -->\n", "<!-- end of "+t.Name+" -->\n"
	before, rest, found := strings.Cut(string(text), begin)
	old, after, ends := strings.Cut(rest, end)
	if !found || !ends {
		return fmt.Errorf("%s has no place for the table %s", page, t.Name)
	}
	return os.WriteFile(page, []byte(before+begin+t.merge(old)+end+after), 0o600)
}

// merge returns the table with the cells that are set, and those of an older one.
func (t *Table) merge(old string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	cells := map[[2]string]string{}
	var columns []string
	for line := range strings.Lines(old) {
		row := strings.Split(strings.Trim(line, "| \n"), " | ")
		if columns == nil {
			columns = row
		}
		for i, cell := range row {
			if i < len(columns) {
				cells[[2]string{strings.Trim(row[0], "`"), columns[i]}] = cell
			}
		}
	}
	var b strings.Builder
	b.WriteString("| " + t.Of)
	for _, tr := range t.Columns {
		b.WriteString(" | " + tr.Name)
	}
	b.WriteString(" |\n|---" + strings.Repeat("|---", len(t.Columns)) + "|\n")
	for _, row := range t.Rows {
		b.WriteString("| `" + row + "`")
		for _, tr := range t.Columns {
			at := [2]string{row, tr.Name}
			cell := "–"
			for _, from := range []map[[2]string]string{cells, t.cells} {
				if known, ok := from[at]; ok {
					cell = known
				}
			}
			b.WriteString(" | " + cell)
		}
		b.WriteString(" |\n")
	}
	return b.String()
}
