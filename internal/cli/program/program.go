// Package program makes a program of commands: it handles signals and turns a command's error into an exit code.
package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/operation/cgroup"
	"github.com/ridethrough/ridethrough/internal/operation/logging"
	"github.com/ridethrough/ridethrough/internal/terminal/printable"
)

// Program is a name with commands below it.
type Program struct {
	Name        string
	Short, Long string
	Features    []string // what --version names
	Commands    func(command.Streams) []*cobra.Command
}

// Main runs the program on the process's own arguments and files. The first SIGINT or SIGTERM shuts the
// command down in order, a second one ends the process at once.
func (p Program) Main() int {
	cgroup.LimitMemory(os.DirFS("/"), os.Getenv)
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		sig := <-signals
		signal.Stop(signals)
		cancel(command.Interrupted{Signal: sig.(syscall.Signal)})
	}()
	return p.Run(ctx, os.Args[1:], command.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
}

// Run runs one command until it or ctx is done, and returns its exit code.
func (p Program) Run(ctx context.Context, args []string, s command.Streams) int {
	if s.Env == nil {
		s.Env = os.Getenv
	}
	if s.In == nil {
		s.In = strings.NewReader("")
	}
	root := p.Root(s)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	code, message := command.Outcome(err)
	switch _, coded := errors.AsType[command.Error](err); {
	case message == "":
	case coded:
		logging.Print(s.Err, p.Name+": "+printable.Text(message)+"\n")
	default:
		logging.Print(s.Err, fmt.Sprintf("%s: %s (see %s --help)\n", p.Name, printable.Text(message), cmd.CommandPath()))
	}
	return code
}

// Root returns the tree of commands.
func (p Program) Root(s command.Streams) *cobra.Command {
	root := &cobra.Command{
		Use:           p.Name,
		Short:         p.Short,
		Long:          p.Long,
		Version:       command.Version() + "\n" + command.Built().Describe(p.Features),
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	root.AddCommand(p.Commands(s)...)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	describeOwn(root)
	suggest(root)
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		NameValues(cmd)
		help(cmd, args)
	})
	return root
}

// describeOwn describes the commands that come with the library of commands as the others are described.
func describeOwn(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "completion":
			cmd.Short = "Print a script that completes commands and flags in your shell"
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
			for _, shell := range cmd.Commands() {
				shell.Short = "Print the script for " + shell.Name()
				shell.Example = "  " + completions[shell.Name()]
				shell.Example = strings.ReplaceAll(shell.Example, "PROGRAM", root.Name())
			}
		case "help":
			cmd.Short = "Show the help of a command"
			cmd.Example = "  " + root.Name() + " help serve"
		}
	}
}

// completions are the commands that install the script of a shell.
var completions = map[string]string{
	"bash":       "PROGRAM completion bash >~/.local/share/bash-completion/completions/PROGRAM",
	"zsh":        "PROGRAM completion zsh >\"${fpath[1]}/_PROGRAM\"",
	"fish":       "PROGRAM completion fish >~/.config/fish/completions/PROGRAM.fish",
	"powershell": "PROGRAM completion powershell | Out-String | Invoke-Expression",
}
