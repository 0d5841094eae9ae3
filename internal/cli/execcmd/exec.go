// Package execcmd has the command `exec`: it runs a program behind a gateway, and shows on its terminal what the
// gateway waits for; and `setup`, which prints what a program's own configuration needs for that.
package execcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/configflags"
	"github.com/ridethrough/ridethrough/internal/operation/notify"
	"github.com/ridethrough/ridethrough/internal/terminal/printable"
)

// Exec returns the command `exec`.
func Exec(s command.Streams) *cobra.Command {
	c := &execCmd{Flags: configflags.Flags{Streams: s}}
	list := false
	cmd := &cobra.Command{
		Use:   "exec [flags] -- PROGRAM [ARG...]",
		Short: "Run a coding agent or another program behind a gateway",
		Long: "exec runs a program so that its calls go through a gateway: the one that runs at the configured address,\n" +
			"or else one of its own for as long as the program runs. It sets what the program reads (environment\n" +
			"variables, and options of Codex), and writes nothing to the program's files. Terminal, signals and exit code\n" +
			"are the program's.\n\n" +
			"While all is well it shows nothing. During an outage the terminal's title counts down; without a terminal a\n" +
			"line on standard error says what is waited for: at the first failure, at each other cause, every 30 seconds,\n" +
			"after five minutes every five, and at the end. The last line says what was held. In a job of a CI system calls\n" +
			"wait for less time than the job has left, or at most " + configflags.Duration(jobWait) + " where the system does not say, unless\n" +
			"--max-wait or the configuration says otherwise.",
		Example: "  ridethrough exec -- claude\n" +
			"  ridethrough exec --policy patient -- codex exec \"fix the tests\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			if list {
				return listPrograms(command.Text(s.Out), s.Env)
			}
			if len(args) == 0 {
				return errors.New("want a program to run, such as `ridethrough exec -- claude`")
			}
			return c.run(cmd.Context(), args)
		},
	}
	cmd.Flags().SetInterspersed(false)
	cmd.Flags().BoolVar(&list, "list", false, "list what programs get, and where others have the address of their provider")
	cmd.Flags().BoolVar(&c.own, "own", false, "start a gateway though one runs")
	cmd.Flags().BoolVar(&c.quiet, "quiet", false, "say nothing of waits, and leave the terminal's title and the desktop alone")
	c.AddAll(cmd)
	return cmd
}

type execCmd struct {
	configflags.Flags
	own, quiet bool
}

// shortest is how long a program that succeeds runs at least to ask a model, unlike one that prints its version.
const shortest = 5 * time.Second

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

	r := recipeFor(args[0], c.Streams.Env)
	j := jobOf(c.Streams.Env, time.Now())
	c.DefaultMaxWait = j.limit
	g, err := c.gateway(ctx, r.Need)
	if err != nil {
		return err
	}
	defer g.stop()
	signal.Notify(signals, syscall.SIGPIPE) // a gateway here ignores it, and so would the program
	var desk desktop
	defer desk.telling.Wait()
	shown := c.shower(ctx, g, j, args[0], desk.tell)
	if _, titled := shown.(*screen); titled {
		r = r.withoutTitles(args[0], c.Streams.Env)
	}
	r = r.at(g.URL)
	before := g.requests(ctx)
	watched := watch(ctx, g, shown)
	child := exec.CommandContext(ctx, program, slices.Concat(r.Args, args[1:])...)
	child.Stdin, child.Stdout, child.Stderr = c.Streams.In, c.Streams.Out, c.Streams.Err
	child.Env = environment(r.Env, direct(c.Streams.Env))
	if err := child.Start(); err != nil {
		watched.end()
		return notRun(args[0], err)
	}
	go forward(signals, child.Process)
	began := time.Now()
	err = child.Wait()
	asks := err != nil || time.Since(began) >= shortest
	said := watched.end()
	if said == "" && !c.quiet && asks && before >= 0 && g.hadNoneSince(ctx, before) {
		said = past(args[0], g.URL)
	}
	if said != "" {
		fmt.Fprintln(c.Streams.Err, "ridethrough: "+said)
	}
	if l, ok := shown.(*lines); ok {
		j.summarize(l, said)
	}
	return ended(err)
}

func past(program, url string) string {
	said := printable.Text(filepath.Base(program)) + " sent no request through the gateway"
	if where := elsewhere[nameOf(program)]; where != "" {
		said += "; it takes an address such as " + url + "/v1 from: " + where
	}
	return said
}

func listPrograms(to io.Writer, env func(string) string) error {
	names := slices.Collect(maps.Keys(elsewhere))
	for _, name := range programs() {
		if elsewhere[name] == "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "PROGRAM\tWHAT LEADS IT TO THE GATEWAY")
	for _, name := range names {
		r := recipeFor(name, env).at("URL")
		how := "exec sets " + strings.Join(slices.Concat(slices.Sorted(maps.Keys(beyond(r.Env))), r.Args), " ")
		switch where := elsewhere[name]; {
		case where != "":
			how = "its own settings: " + where
		case how == "exec sets ":
			how += "the variables of every program"
		}
		fmt.Fprintf(table, "%s\t%s\n", name, how)
	}
	fmt.Fprintf(table, "any other\texec sets %s\n", strings.Join(slices.Sorted(maps.Keys(everywhere)), " "))
	return table.Flush()
}

func beyond(env map[string]string) map[string]string {
	own := maps.Clone(env)
	maps.DeleteFunc(own, func(name, _ string) bool { return everywhere[name] != "" })
	return own
}

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

// forward passes on the signals that only this process gets. A terminal sends the others to the program itself.
func forward(signals <-chan os.Signal, to *os.Process) {
	for s := range signals {
		if s == syscall.SIGTERM || s == syscall.SIGHUP {
			_ = to.Signal(s)
		}
	}
}

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

func notRun(name string, err error) error {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		return command.WithCode(fmt.Errorf("%s: no such program", name), exitNotFound)
	}
	return command.WithCode(fmt.Errorf("%s: %w", name, err), exitNotExecutable)
}

func (c *execCmd) shower(ctx context.Context, g gateway, j job, program string, tell func(notify.Notice)) shower {
	switch {
	case c.quiet:
		return nowhere{}
	case command.IsTerminal(c.Streams.Err):
		return &screen{to: c.Streams.Err, program: printable.Text(filepath.Base(program)), tell: tell}
	}
	bounds, _ := g.Bounds(ctx) // a gateway of others may not say
	l := &lines{to: c.Streams.Err, bounds: bounds}
	if !g.own { // its own one has the job's limit, or what the user said
		l.limit = j.limit
	}
	return l
}
