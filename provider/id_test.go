package provider_test

import (
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/provider"
)

func TestIDThatDoesNotFitBecomesAnotherAlwaysTheSame(t *testing.T) {
	short := func(id string) bool { return len(id) <= 40 }
	if id := provider.FitID("functions.read:0", short); id != "functions.read:0" {
		t.Error(id)
	}
	long := strings.Repeat("x", 41)
	a, again, b := provider.FitID(long, short), provider.FitID(long, short), provider.FitID(long+"y", short)
	if a != again || a == b || len(a) != 37 || !strings.HasPrefix(a, "call_") {
		t.Error(a, again, b)
	}
}
