// Package cli is the command line: it reads flags and the environment, starts
// what they ask for and turns the outcome into an exit code. What the commands
// do is in the packages that they start.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/internal/terminal/display"
)

// Exit codes, after sysexits.h where that has one.
const (
	exitOK        = 0
	exitFailed    = 1
	exitUsage     = 2
	exitExhausted = 75  // EX_TEMPFAIL: the provider stayed down, or the account is spent
	exitNoAuth    = 77  // EX_NOPERM: credentials
	exitConfig    = 78  // EX_CONFIG
	exitSignal    = 128 // plus the signal's number
)

// Streams are the files that a command talks to.
type Streams struct {
	In       io.Reader // nil: empty
	Out, Err io.Writer
	Env      func(string) string // nil: os.Getenv
}

// Main runs the program on the process's own arguments and files. The first
// SIGINT or SIGTERM ends the command in good order; a second one ends the
// process at once.
func Main() int {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		sig := <-signals
		signal.Stop(signals)
		cancel(interrupted{sig.(syscall.Signal)})
	}()
	return Run(ctx, os.Args[1:], Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
}

// Run runs one command until it is done or ctx is, and gives the exit code.
func Run(ctx context.Context, args []string, s Streams) int {
	if s.Env == nil {
		s.Env = os.Getenv
	}
	if s.In == nil {
		s.In = strings.NewReader("")
	}
	root := command(s)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	f, ok := errors.AsType[failure](err)
	if !ok {
		fmt.Fprintf(s.Err, "ridethrough: %v (see %s --help)\n", err, cmd.CommandPath())
		return exitUsage
	}
	if _, said := errors.AsType[told](err); !said && f.code < exitSignal { // whoever sent a signal knows
		fmt.Fprintf(s.Err, "ridethrough: %s\n", display.Sanitize(f.Error()))
	}
	return f.code
}

// command builds the tree of commands.
func command(s Streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "ridethrough",
		Short: "Keep programs that call language models alive while their provider is not",
		Long: "ridethrough stands between a program and its provider of language models. When the\n" +
			"provider is overloaded, rate-limiting, restarting or unreachable, the call waits and\n" +
			"goes on when the provider is back.",
		Version:       version(),
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(chatCommand(s), runCommand(s), councilCommand(s), serveCommand(s), configCommand(s), explainCommand(s), demoCommand(s), simulatorCommand(s))
	root.AddCommand(policyCommand(s), labCommand(s))
	root.AddCommand(exportCommand(s), importCommand(s), archiveCommand(s), doctorCommand(s))
	return root
}

// version says what was built: the module's version, or the commit.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return info.Main.Version
}

// failure is an error of a command that was called rightly: every other error
// is one of usage.
type failure struct {
	err  error
	code int
}

func (f failure) Error() string { return f.err.Error() }
func (f failure) Unwrap() error { return f.err }

// failed makes an error that exits with 1, or with the signal's code where a
// signal has ended the command.
func failed(err error) error {
	if err == nil {
		return nil
	}
	if sig, ok := errors.AsType[interrupted](err); ok {
		return failure{err, exitSignal + int(sig.signal)}
	}
	return failure{err, exitFailed}
}

// misconfigured makes an error in the configuration, which is what the
// environment says.
func misconfigured(variable string, err error) error {
	return failure{fmt.Errorf("%s: %w", variable, err), exitConfig}
}

// interrupted is the cause of a context that a signal has ended.
type interrupted struct{ signal syscall.Signal }

func (i interrupted) Error() string { return i.signal.String() }
