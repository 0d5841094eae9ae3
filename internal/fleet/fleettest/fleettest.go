// Package fleettest has what the tests of a fleet and of its transports check alike.
package fleettest

import (
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/internal/fleet"
)

// WantMembers checks which replicas a replica knows to live, by their ids in a row.
func WantMembers(t *testing.T, when string, f *fleet.Fleet, connected bool, want string) {
	t.Helper()
	s := f.Status()
	if got := strings.Join(s.Members, ""); got != want || s.Connected != connected {
		t.Errorf("%s: replica %s has members %q, connected %v; want %q, %v", when, f.ID, got, s.Connected, want, connected)
	}
}
