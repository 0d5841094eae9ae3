package gatewaycmd

import (
	"github.com/ridethrough/ridethrough/internal/cli/recipe"
	"github.com/ridethrough/ridethrough/internal/server"
)

// programs returns what the page tells about the programs that may use the gateway.
func programs() (all []server.Program) {
	for _, h := range recipe.Hints() {
		all = append(all, server.Program{Name: h.Program, File: h.File, Text: h.Text, Also: h.Also})
	}
	return all
}
