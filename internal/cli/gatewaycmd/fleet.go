package gatewaycmd

import (
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/cli/configflags"
	"github.com/ridethrough/ridethrough/internal/operation/replica"
	"github.com/ridethrough/ridethrough/internal/server"
)

// newReplica returns the gateway's part in the fleet that the extension has joined, and adds it to the gateway's
// configuration; nil: there is no fleet.
func newReplica(served *server.Config, t *configflags.Resolved) *replica.Replica {
	if served.Fleet == nil {
		return nil
	}
	r := replica.New(served.Fleet)
	t.Gateway.Fleet = r.Fleet()
	return r
}

// join serves the gateway as a part of its fleet, or alone, until leave is called.
func join(served *server.Config, g *gateway.Gateway, r *replica.Replica) (leave func()) {
	served.Gateway = g
	if r == nil {
		return func() {}
	}
	r.Join(g, served.Tenants)
	served.Gateway = r
	return r.Close
}
