// Package execcmd has the command `exec`: it runs a program behind a gateway, and shows on its terminal what the
// gateway waits for.
package execcmd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/configflags"
	"github.com/ridethrough/ridethrough/internal/cli/recipe"
	"github.com/ridethrough/ridethrough/internal/operation/notify"
	"github.com/ridethrough/ridethrough/internal/terminal/printable"
)

// Exec returns the command `exec`.
func Exec(s command.Streams) *cobra.Command {
	c := &execCmd{Flags: configflags.Flags{Streams: s}}
	cmd := &cobra.Command{
		Use:   "exec [flags] -- PROGRAM [ARG...]",
		Short: "Run a coding agent or another program behind a gateway",
		Long: "exec runs a program so that its calls go through a gateway: the one that runs at the configured address,\n" +
			"or else one of its own for as long as the program runs. It sets what the program reads (environment\n" +
			"variables, and options of Codex), and writes nothing to the program's files. Terminal, signals and exit code\n" +
			"are the program's.\n\n" +
			"While all is well it shows nothing. During an outage the terminal's title counts down, and a line at the end\n" +
			"says what was held.",
		Example: "  ridethrough exec -- claude\n" +
			"  ridethrough exec --policy patient -- codex exec \"fix the tests\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("want a program to run, such as `ridethrough exec -- claude`")
			}
			return c.run(cmd.Context(), args)
		},
	}
	cmd.Flags().SetInterspersed(false)
	cmd.Flags().BoolVar(&c.own, "own", false, "start a gateway though one runs")
	cmd.Flags().BoolVar(&c.quiet, "quiet", false, "leave the terminal's title and the desktop alone")
	c.AddAll(cmd)
	return cmd
}

// execCmd is a call of `exec`.
type execCmd struct {
	configflags.Flags
	own, quiet bool
}

// Exit codes of shells for a program that cannot be run.
const (
	exitNotExecutable = 126
	exitNotFound      = 127
)

func (c *execCmd) run(ctx context.Context, args []string) error {
	program, err := exec.LookPath(args[0])
	if err != nil {
		return notRun(args[0], err)
	}
	// From here on signals are the program's. The terminal sends them to it as well.
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer func() { signal.Stop(signals); close(signals) }()
	ctx = context.WithoutCancel(ctx)

	r := recipe.For(args[0], c.Streams.Env)
	g, err := c.gateway(ctx, r.Need)
	if err != nil {
		return err
	}
	defer g.stop()
	signal.Notify(signals, syscall.SIGPIPE) // a gateway here ignores it, and so would the program
	var desk desktop
	defer desk.telling.Wait()
	shown := c.screen(args[0], desk.tell)
	if shown != nil {
		r = r.WithoutTitles(args[0], c.Streams.Env)
	}
	r = r.At(g.URL)
	watched := watch(ctx, g, shown)
	child := exec.CommandContext(ctx, program, slices.Concat(r.Args, args[1:])...)
	child.Stdin, child.Stdout, child.Stderr = c.Streams.In, c.Streams.Out, c.Streams.Err
	child.Env = environment(r.Env, recipe.Direct(c.Streams.Env))
	if err := child.Start(); err != nil {
		watched.end()
		return notRun(args[0], err)
	}
	go forward(signals, child.Process)
	err = child.Wait()
	if said := watched.end(); said != "" {
		fmt.Fprintln(c.Streams.Err, "ridethrough: "+said)
	}
	return ended(err)
}

// environment returns the variables of this process, with others instead.
func environment(sets ...map[string]string) []string {
	others := map[string]string{}
	for _, set := range sets {
		maps.Copy(others, set)
	}
	var all []string
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); others[name] == "" {
			all = append(all, v)
		}
	}
	for name, value := range others {
		all = append(all, name+"="+value)
	}
	return all
}

// forward hands on the signals that only this process gets. A terminal sends the other ones to the program itself.
func forward(signals <-chan os.Signal, to *os.Process) {
	for s := range signals {
		if s == syscall.SIGTERM || s == syscall.SIGHUP {
			_ = to.Signal(s)
		}
	}
}

// ended returns the error with a program's exit code.
func ended(err error) error {
	failed, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return command.Failed(err)
	}
	code := failed.ExitCode()
	if status, ok := failed.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		code = command.ExitSignal + int(status.Signal())
	}
	return command.WithCode(command.Reported{Message: failed.Error()}, code)
}

// notRun returns the error about a program that cannot be run.
func notRun(name string, err error) error {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		return command.WithCode(fmt.Errorf("%s: no such program", name), exitNotFound)
	}
	return command.WithCode(fmt.Errorf("%s: %w", name, err), exitNotExecutable)
}

// screen returns where it is shown what is waited for; nil: nowhere.
func (c *execCmd) screen(program string, tell func(notify.Notice)) *screen {
	if c.quiet || !command.IsTerminal(c.Streams.Err) {
		return nil
	}
	return &screen{to: c.Streams.Err, program: printable.Text(filepath.Base(program)), tell: tell}
}
