// Package cli is the program's command line. The commands are in the packages below it, one for each family.
package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/internal/cli/agentcmd"
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/execcmd"
	"github.com/ridethrough/ridethrough/internal/cli/gatewaycmd"
	"github.com/ridethrough/ridethrough/internal/cli/labcmd"
	"github.com/ridethrough/ridethrough/internal/cli/running"
	"github.com/ridethrough/ridethrough/internal/cli/servicecmd"
	"github.com/ridethrough/ridethrough/internal/cli/storecmd"
	"github.com/ridethrough/ridethrough/internal/operation/logging"
	"github.com/ridethrough/ridethrough/internal/terminal/printable"
)

const features = "gateway, page, exec, lab, agents, conversations, mcp"

// Main runs the program on the process's own arguments and files. The first SIGINT or SIGTERM shuts the command
// down gracefully, a second one ends the process at once.
func Main() int {
	_, _ = memlimit.Set(memlimit.WithRatio(0.9)) // of the control group's limit; the rest is for what Go does not count
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
	root := Root(s)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	code, message := command.Outcome(err)
	if message == "" {
		return code
	}
	message = "ridethrough: " + printable.Text(message)
	if _, coded := errors.AsType[command.Error](err); !coded {
		message += fmt.Sprintf(" (see %s --help)", cmd.CommandPath())
	}
	logging.Print(s.Err, message+"\n")
	return code
}

// Root returns the tree of commands.
func Root(s command.Streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "ridethrough",
		Short: "Keep programs that call language models running through provider outages",
		Long: "ridethrough stands between a program and its language model provider. When the provider is\n" +
			"overloaded, rate-limiting, restarting or unreachable, the call waits, visibly, and continues\n" +
			"when the provider is back.",
		Version:       command.Version() + "\n" + command.Built().Describe(features),
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	group := func(title string, commands ...*cobra.Command) {
		root.AddGroup(&cobra.Group{ID: title, Title: title + ":"})
		for _, cmd := range commands {
			cmd.GroupID = title
		}
		root.AddCommand(commands...)
	}
	group("Keep a program running", execcmd.Exec(s), execcmd.Setup(s), gatewaycmd.Demo(s))
	group("The gateway", gatewaycmd.Serve(s, agentcmd.Conversations(s), execcmd.Hints), servicecmd.Service(s), running.Status(s), running.Waits(s),
		gatewaycmd.Config(s, agentcmd.Environment(s)), gatewaycmd.Token(s), gatewaycmd.Notify(s), storecmd.Doctor(s))
	group("Talk to models", agentcmd.Run(s), agentcmd.Chat(s), agentcmd.Council(s))
	group("Conversations that are stored", storecmd.Export(s), storecmd.Import(s), storecmd.Delete(s))
	group("Try out and understand", gatewaycmd.Explain(s), gatewaycmd.Policy(s), labcmd.Simulator(s), labcmd.Lab(s))
	root.AddCommand(&cobra.Command{
		Use: "version", Short: "Print the version", Example: "  ridethrough version", Args: cobra.NoArgs, Hidden: true,
		Run: func(*cobra.Command, []string) { fmt.Fprintf(s.Out, "%s version %s\n", root.Name(), root.Version) },
	})
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

// describeOwn rewords the help of cobra's own commands in the style of ours.
func describeOwn(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "completion":
			cmd.Short = "Print a script that completes commands and flags in your shell"
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
			for _, shell := range cmd.Commands() {
				shell.Short = "Print the script for " + shell.Name()
				shell.Example = "  ridethrough completion " + shell.Name() + " " + map[string]string{
					"bash":       ">~/.local/share/bash-completion/completions/ridethrough",
					"zsh":        ">\"${fpath[1]}/_ridethrough\"",
					"fish":       ">~/.config/fish/completions/ridethrough.fish",
					"powershell": "| Out-String | Invoke-Expression",
				}[shell.Name()]
			}
		case "help":
			cmd.Short = "Show the help of a command"
			cmd.Run = nil
			cmd.RunE = func(_ *cobra.Command, args []string) error {
				found, rest, err := root.Find(args)
				if err == nil && len(rest) > 0 && found.HasSubCommands() {
					err = found.Args(found, rest)
				}
				if err != nil {
					return err
				}
				return found.Help()
			}
			cmd.Example = "  ridethrough help serve"
		}
	}
}
