// Command ridethrough keeps programs that call language models alive while
// their provider is not. See `ridethrough --help`.
package main

import (
	"os"

	"github.com/ridethrough/ridethrough/internal/cli"
)

func main() { os.Exit(cli.Main()) }
