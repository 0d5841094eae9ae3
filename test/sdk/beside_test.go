package sdk_test

import (
	"flag"
	"testing"
	"testing/synctest"

	"github.com/ridethrough/ridethrough/test/beside"
)

// update has the test of both ways write its table into the page.
var update = flag.Bool("update", false, "write the table of docs/holding.md")

// TestSDK_FaresNoWorseThroughTheGateway has each call ask a provider in trouble, through the gateway and without it.
func TestSDK_FaresNoWorseThroughTheGateway(t *testing.T) {
	table := &beside.Table{Name: "go", Of: "call", Columns: beside.SDKs()}
	for _, c := range calls {
		table.Rows = append(table.Rows, c.name)
		for _, tr := range table.Columns {
			t.Run(c.name+"/"+tr.Name, func(t *testing.T) {
				both := beside.Both{With: fare(t, c, tr, true), Without: fare(t, c, tr, false)}
				table.Set(c.name, tr, both)
				if both.Worse() {
					t.Errorf("%v, want no worse through the gateway", both)
				}
			})
		}
	}
	if *update {
		if err := table.Update("../../docs/holding.md"); err != nil {
			t.Errorf("update: %v", err)
		}
	}
}

// fare makes a call in a trouble, one way.
func fare(t *testing.T, c call, tr beside.Trouble, through bool) (way beside.Way) {
	synctest.Test(t, func(t *testing.T) {
		want := healthy(t.Context(), t, c)
		script, err := tr.Script()
		if err != nil {
			t.Fatalf("%s: %v", tr.Name, err)
		}
		w := newFixture(t, script)
		to := w.direct()
		if through {
			p, _ := tr.Policy()
			to = w.gateway(p)
		}
		got, err := c.ask(t.Context(), to)
		whole := err == nil && got.anonymous() == want
		way = beside.Way{Whole: whole, Pretended: err == nil && !whole, Asked: int(w.asked.Load()), Tries: w.tries()}
	})
	return way
}
