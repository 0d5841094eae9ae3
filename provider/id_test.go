package provider_test

import (
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/provider"
)

func TestFitID_ReplacementIsStable(t *testing.T) {
	short := func(id string) bool { return len(id) <= 40 }
	if id := provider.FitID("functions.read:0", short); id != "functions.read:0" {
		t.Errorf("FitID = %q, want it unchanged", id)
	}
	long := strings.Repeat("x", 41)
	a, again, b := provider.FitID(long, short), provider.FitID(long, short), provider.FitID(long+"y", short)
	if a != again || a == b || len(a) != 37 || !strings.HasPrefix(a, "call_") {
		t.Errorf("FitID = %q, again %q, of another id %q", a, again, b)
	}
}
