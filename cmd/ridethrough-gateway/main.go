// Command ridethrough-gateway is the gateway of ridethrough without its agents: a small program that holds
// requests through the outages of their provider. See `ridethrough-gateway --help`.
package main

import (
	"os"

	"github.com/ridethrough/ridethrough/internal/cli/program"
)

func main() { os.Exit(program.Gateway().Main()) }
