package gatewaycmd

import (
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/server"
)

// join has the gateway served, as a part of its fleet or on its own, until leave is called.
func join(served *server.Config, g *gateway.Gateway) (leave func()) {
	served.Gateway = g
	if served.Replica == nil {
		return func() {}
	}
	served.Replica.Join(g, served.Tenants)
	served.Gateway = served.Replica
	return served.Replica.Leave
}
