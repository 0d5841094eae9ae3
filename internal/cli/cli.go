// Package cli is the command line of the whole program. The commands are in the packages below it, one for each
// family.
package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/internal/cli/agentcmd"
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/program"
	"github.com/ridethrough/ridethrough/internal/cli/storecmd"
)

// Main runs the program on the process's own arguments and files.
func Main() int { return Whole().Main() }

// Run runs one command until it or ctx is done, and returns its exit code.
func Run(ctx context.Context, args []string, s command.Streams) int { return Whole().Run(ctx, args, s) }

// Whole returns the whole program.
func Whole() program.Program {
	return program.Program{
		Name: "ridethrough", Short: program.Short, Long: "ridethrough " + program.About,
		Features: append(program.Features(), "agents", "conversations", "mcp"),
		Commands: func(s command.Streams) []*cobra.Command {
			return append(program.GatewayCommands(s, agentcmd.Conversations(s), agentcmd.Environment(s), storecmd.Checks(s)),
				agentcmd.Chat(s), agentcmd.Run(s), agentcmd.Council(s),
				storecmd.Export(s), storecmd.Import(s), storecmd.Archive(s))
		},
	}
}
