package npm_test

import (
	"flag"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/test/beside"
)

// update has the tests of both ways write their tables into the page.
var update = flag.Bool("update", false, "write the tables of docs/holding.md")

// updates writes a table when its test is over, if so.
func updates(t *testing.T, table *beside.Table) {
	if *update {
		t.Cleanup(func() {
			if err := table.Update("../../docs/holding.md"); err != nil {
				t.Errorf("update: %v", err)
			}
		})
	}
}

// of returns what the provider does in a trouble.
func of(t *testing.T, tr beside.Trouble) simulator.Script {
	t.Helper()
	s, err := tr.Script()
	if err != nil {
		t.Fatalf("%s: %v", tr.Name, err)
	}
	return s
}

// TestSDK_FaresNoWorseThroughTheGateway has each call ask a provider in trouble, through the gateway as it is by
// default and without it.
func TestSDK_FaresNoWorseThroughTheGateway(t *testing.T) {
	t.Parallel()
	type run struct {
		w    *fixture
		done <-chan result
	}
	warm := newFixture(t, policy.Patient(), simulator.Script{})
	warm.ask(calls[0].name) // node has loaded the packages then
	table := &beside.Table{Name: "sdks", Of: "call", Columns: beside.SDKs()}
	runs := map[string][2]run{}
	for _, c := range calls {
		table.Rows = append(table.Rows, c.name)
		for _, tr := range table.Columns {
			var both [2]run
			for i := range both {
				p, _ := tr.Policy()
				w := newFixture(t, p, of(t, tr))
				base := []string{w.url, w.direct}[i]
				w.provider.Start()
				done, _ := w.node.call(t, c.name, base, false)
				both[i] = run{w, done}
			}
			runs[c.name+tr.Name] = both
		}
	}
	updates(t, table)
	for _, c := range calls {
		for _, tr := range table.Columns {
			var ways [2]beside.Way
			for i, r := range runs[c.name+tr.Name] {
				var got result
				select {
				case got = <-r.done:
				case <-time.After(2 * time.Minute):
					t.Errorf("%s, %s: no result after two minutes", c.name, tr.Name)
				}
				whole := got.Error == "" && got.Text == answer && got.Stop == c.stop
				ways[i] = beside.Way{Whole: whole, Pretended: got.Error == "" && !whole, Asked: int(r.w.asked.Load()), Tries: len(r.w.provider.Requests())}
			}
			both := beside.Both{With: ways[0], Without: ways[1]}
			table.Set(c.name, tr, both)
			if both.Worse() {
				t.Errorf("%s, %s: %v, want no worse through the gateway", c.name, tr.Name, both)
			}
		}
	}
}

// TestAgents_FareNoWorseThroughTheGateway has each agent ask a provider in trouble both ways. -run may choose agents,
// and its second part troubles.
func TestAgents_FareNoWorseThroughTheGateway(t *testing.T) {
	table := &beside.Table{Name: "agents", Of: "agent", Columns: beside.Agents()}
	for _, a := range agents {
		table.Rows = append(table.Rows, a.name)
	}
	updates(t, table)
	forAgents(t, func(t *testing.T, a agent) {
		for _, tr := range table.Columns {
			t.Run(strings.ReplaceAll(tr.Name, " ", "-"), func(t *testing.T) {
				t.Parallel()
				_, preset := tr.Policy()
				var scenes [2]*scene
				var asking [2]<-chan outcome
				for i := range scenes {
					s := &scene{t: t, answer: answer, first: make(chan struct{}), provider: simulator.New(of(t, tr))}
					s.start("policy: "+preset+"\n", questions(t, func(w http.ResponseWriter, r *http.Request, _ []byte) { s.try(w, r) }))
					scenes[i] = s
				}
				scenes[1].tap.gateway = scenes[1].upstream
				for i, s := range scenes {
					asking[i] = s.ask(a, 10*time.Minute)
				}
				var ways [2]beside.Way
				for i, s := range scenes {
					got := <-asking[i]
					ways[i] = beside.Way{Whole: got.answered, Asked: s.tap.since(time.Time{}), Tries: int(s.tries.Load())}
				}
				both := beside.Both{With: ways[0], Without: ways[1]}
				table.Set(a.name, tr, both)
				t.Logf("| %s | %s | %v |", a.name, tr.Name, both)
				if both.Worse() {
					t.Errorf("%v, want no worse through the gateway", both)
				}
			})
		}
	})
}
