// Package servicecmd has the command `service`: it lets the system's service manager run the gateway.
package servicecmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/configflags"
	"github.com/ridethrough/ridethrough/internal/cli/running"
)

// Service returns the command `service`.
func Service(s command.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "service",
		Short: "Run the gateway with your login or the machine",
		Long: "service lets the system's service manager run `ridethrough serve`: a user unit of systemd, an agent of launchd or\n" +
			"a scheduled task of Windows, which start when you log in; or with --system a sandboxed unit of systemd, which\n" +
			"starts with the machine.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(commands(func() *serviceCmd { return newCmd(s) })...)
	return cmd
}

// commands returns the commands below it.
func commands(call func() *serviceCmd) []*cobra.Command {
	return []*cobra.Command{install(call()), status(call()), uninstall(call())}
}

// serviceCmd is a call of one of the commands.
type serviceCmd struct {
	configflags.Flags
	system, print, force bool

	host func(env func(string) string) (*host, error)                     // this one, unless a test says otherwise
	run  func(ctx context.Context, argv []string) (out string, err error) // likewise: runs a command
}

func newCmd(s command.Streams) *serviceCmd {
	return &serviceCmd{Flags: configflags.Flags{Streams: s}, host: thisHost, run: run}
}

func (c *serviceCmd) addFlags(cmd *cobra.Command) {
	c.Command = cmd
	cmd.Flags().BoolVar(&c.system, "system", false, "the service of the machine, with systemd")
}

func (c *serviceCmd) addChanging(cmd *cobra.Command) {
	c.addFlags(cmd)
	cmd.Flags().BoolVar(&c.print, "print", false, "only print what would be done")
	cmd.Flags().BoolVar(&c.force, "force", false, "also where the file was changed by hand")
}

// run runs a command and returns what it prints.
func run(ctx context.Context, argv []string) (string, error) {
	out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput()
	return string(out), err
}

// thisHost returns this machine and user.
func thisHost(env func(string) string) (*host, error) {
	program, err := programPath()
	if err != nil {
		return nil, err
	}
	who, err := user.Current()
	if err != nil {
		return nil, command.Failed(fmt.Errorf("who you are: %w", err))
	}
	h := &host{
		goos: runtime.GOOS, home: who.HomeDir, localAppData: env("LOCALAPPDATA"), etc: "/etc", lib: "/usr/lib",
		uid: who.Uid, user: who.Username, program: program,
	}
	if dir := env("HOME"); filepath.IsAbs(dir) {
		h.home = dir
	}
	if h.configHome = env("XDG_CONFIG_HOME"); !filepath.IsAbs(h.configHome) {
		h.configHome = filepath.Join(h.home, ".config")
	}
	h.systemd = exists("/run/systemd/system")
	h.lingers = exists(filepath.Join("/var/lib/systemd/linger", who.Username))
	return h, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// programPath returns the path of this program as it was called, such as a link that a later version changes.
func programPath() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", command.Failed(fmt.Errorf("the path of this program: %w", err))
	}
	if strings.Contains(self, "go-build") {
		return "", command.Failed(errors.New("`go run` removes the program when it ends; build and install it first"))
	}
	called, err := exec.LookPath(os.Args[0])
	if err != nil {
		return self, nil
	}
	if called, err = filepath.Abs(called); err != nil {
		return self, nil
	}
	a, _ := os.Stat(self)
	if b, err := os.Stat(called); err == nil && os.SameFile(a, b) {
		return called, nil
	}
	return self, nil
}

// say writes a line.
func (c *serviceCmd) say(format string, args ...any) {
	fmt.Fprintf(command.Text(c.Streams.Out), format+"\n", args...)
}

// do runs the steps of a plan.
func (c *serviceCmd) do(ctx context.Context, steps []step) error {
	for _, s := range steps {
		out, err := c.run(ctx, s.argv)
		if err != nil && !s.mayFail {
			return command.Failed(fmt.Errorf("%s: %w: %s", s, err, strings.TrimSpace(out)))
		}
	}
	return nil
}

// show writes what would be done with a file.
func show(w io.Writer, what string, p *plan, text string, before, after []step) error {
	for _, s := range before {
		fmt.Fprintln(w, "# run: "+s.String())
	}
	fmt.Fprintln(w, "# "+what+": "+p.path)
	fmt.Fprint(w, strings.ReplaceAll(text, "\r\n", "\n"))
	for _, s := range after {
		fmt.Fprintln(w, "# run: "+s.String())
	}
	return nil
}

// gateway returns the gateway as the service's configuration has it. Variables of this shell are not the service's,
// but for the token.
func (c *serviceCmd) gateway(p *plan, config string) (running.Gateway, error) {
	shell := c.Streams.Env
	f := configflags.Flags{Streams: command.Streams{Env: func(name string) string {
		if value, ok := p.env[name]; ok {
			return value
		}
		if strings.HasPrefix(name, "RIDETHROUGH_") && name != "RIDETHROUGH_TOKEN" {
			return ""
		}
		return shell(name)
	}}}
	f.AddFile(&cobra.Command{})
	if config != "" {
		if err := f.Command.Flags().Set("config", config); err != nil {
			return running.Gateway{}, err
		}
	}
	conf, err := f.Read()
	if err != nil {
		return running.Gateway{}, configflags.Explain(err)
	}
	token, _ := conf.Token(f.Streams.Env) // the service may know more
	return running.Gateway{URL: conf.URL(), Token: token}, nil
}
