package breaker_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/fault"
)

// TestCaller_ModelOnlyKnowsNoOutageOfOtherModels is about a call that fails over to another model of the upstream.
func TestCaller_ModelOnlyKnowsNoOutageOfOtherModels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New("up")
		try := func(model string, modelOnly bool, f *fault.Error) error {
			c := b.Caller(breaker.Scope{Model: model})
			defer c.Close()
			c.ModelOnly = modelOnly
			p, err := c.Acquire(t.Context())
			if err == nil {
				p.Report(f)
			}
			return err
		}
		for range 5 {
			_ = try("large", false, errRefused)
		}
		if err := try("small", false, nil); err == nil {
			t.Fatal("the outage of the host keeps no call: the test tests nothing")
		}
		for range 3 {
			if err := try("small", true, nil); err != nil {
				t.Errorf("a call that has left the other model: %v, want it to go", err)
			}
		}
		if all := b.State().Outages; len(all) != 1 || all[0].Scope.Model != "" {
			t.Errorf("outages %+v, want the host's: another model's answer says nothing about the one that fails", all)
		}
		for range 5 {
			_ = try("small", true, errRefused)
		}
		if err := try("small", true, nil); err == nil {
			t.Error("the model's own outage keeps no call")
		}
		if all := b.State().Outages; len(all) != 2 || all[1].Level != "host" || all[1].Scope.Model != "small" {
			t.Errorf("outages %+v, want the host's and one for the model small", all)
		}
		time.Sleep(time.Second)
	})
}
