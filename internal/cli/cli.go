// Package cli is the root of the command line: it builds the tree of commands, handles signals and turns a
// command's error into an exit code. The commands are in the packages below it, one for each family.
package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/internal/cli/agentcmd"
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/gatewaycmd"
	"github.com/ridethrough/ridethrough/internal/cli/labcmd"
	"github.com/ridethrough/ridethrough/internal/cli/storecmd"
	"github.com/ridethrough/ridethrough/internal/operation/cgroup"
	"github.com/ridethrough/ridethrough/internal/operation/logging"
	"github.com/ridethrough/ridethrough/internal/terminal/printable"
)

// Main runs the program on the process's own arguments and files. The first SIGINT or SIGTERM shuts the
// command down in order, a second one ends the process at once.
func Main() int {
	cgroup.LimitMemory(os.DirFS("/"), os.Getenv)
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		sig := <-signals
		signal.Stop(signals)
		cancel(command.Interrupted{Signal: sig.(syscall.Signal)})
	}()
	return Run(ctx, os.Args[1:], command.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
}

// Run runs one command until it or ctx is done, and returns its exit code.
func Run(ctx context.Context, args []string, s command.Streams) int {
	if s.Env == nil {
		s.Env = os.Getenv
	}
	if s.In == nil {
		s.In = strings.NewReader("")
	}
	root := rootCommand(s)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	code, message := command.Outcome(err)
	switch _, coded := errors.AsType[command.Error](err); {
	case message == "":
	case coded:
		logging.Print(s.Err, "ridethrough: "+printable.Text(message)+"\n")
	default:
		logging.Print(s.Err, fmt.Sprintf("ridethrough: %s (see %s --help)\n", printable.Text(message), cmd.CommandPath()))
	}
	return code
}

// rootCommand returns the tree of commands.
func rootCommand(s command.Streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "ridethrough",
		Short: "Keep programs that call language models running through provider outages",
		Long: "ridethrough stands between a program and its language model provider. When the provider is\n" +
			"overloaded, rate-limiting, restarting or unreachable, the call waits, visibly, and continues\n" +
			"when the provider is back.",
		Version:       fmt.Sprintf("%s (%s, %s/%s)", command.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH),
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(agentcmd.Chat(s), agentcmd.Run(s), agentcmd.Council(s))
	root.AddCommand(gatewaycmd.Serve(s, agentcmd.Conversations(s)), gatewaycmd.Config(s, agentcmd.Environment(s)), gatewaycmd.Explain(s), gatewaycmd.Demo(s), gatewaycmd.Policy(s), gatewaycmd.Token(s), gatewaycmd.Notify(s), gatewaycmd.Conform(s))
	root.AddCommand(labcmd.Lab(s), labcmd.Simulator(s))
	root.AddCommand(storecmd.Export(s), storecmd.Import(s), storecmd.Archive(s), storecmd.Doctor(s))
	return root
}
