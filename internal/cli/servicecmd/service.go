// Package servicecmd has the command `service`: it lets the system's service manager run the gateway.
package servicecmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/configflags"
	"github.com/ridethrough/ridethrough/internal/cli/running"
	"github.com/ridethrough/ridethrough/internal/terminal/display"
	"github.com/ridethrough/ridethrough/internal/text"
)

// Service returns the command `service`.
func Service(s command.Streams) *cobra.Command {
	return (&serviceCmd{Flags: configflags.Flags{Streams: s}, host: thisHost, run: run}).command()
}

type serviceCmd struct {
	configflags.Flags
	system, print, force bool

	host func(env func(string) string) (*host, error)                     // this one, unless a test says otherwise
	run  func(ctx context.Context, argv []string) (out string, err error) // likewise: runs a command
}

func (c *serviceCmd) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "service",
		Short: "Run the gateway with your login or the machine",
		Long: "service lets the system's service manager run `ridethrough serve`: a user unit of systemd, an agent of launchd or\n" +
			"a scheduled task of Windows, which start when you log in; or with --system a sandboxed unit of systemd, which\n" +
			"starts with the machine.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	install := &cobra.Command{
		Use:   "install",
		Short: "Install and start the service",
		Long: "install writes the file of the service manager and starts the service. Installed already, it is updated, and\n" +
			"restarted if something has changed. A file that was changed by hand stays, unless you say --force.\n\n" +
			"The service reads the configuration, not the variables of this shell. Its keys can be in the file\n" +
			"ridethrough/environment beside the configuration (systemd).",
		Example: "  ridethrough service install\n" +
			"  ridethrough service install --print\n" +
			"  sudo ridethrough service install --system",
		RunE: func(cmd *cobra.Command, _ []string) error { return c.install(cmd.Context()) },
	}
	status := &cobra.Command{
		Use:   "status",
		Short: "Show whether the service runs, since when, and what waits",
		Long: "status prints a line: whether the service runs, since when, and what waits. `ridethrough status` shows more.\n\n" +
			"The exit code is 0 if it runs, 3 if it does not or is not installed, and 1 if that cannot be found out.",
		Example: "  ridethrough service status",
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.status(cmd.Context()) },
	}
	uninstall := &cobra.Command{
		Use:   "uninstall",
		Short: "Stop and remove the service",
		Long: "uninstall stops the service and removes what install has written. The configuration, the logs and the data\n" +
			"stay.",
		Example: "  ridethrough service uninstall\n  ridethrough service uninstall --print",
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.uninstall(cmd.Context()) },
	}
	for _, one := range []*cobra.Command{install, status, uninstall} {
		one.Args = cobra.NoArgs
		one.Flags().BoolVar(&c.system, "system", false, "the service of the machine, with systemd")
		if one != status {
			one.Flags().BoolVar(&c.print, "print", false, "only print what would be done")
			one.Flags().BoolVar(&c.force, "force", false, "also where the file was changed by hand")
		}
		cmd.AddCommand(one)
	}
	c.AddFile(install)
	return cmd
}

func run(ctx context.Context, argv []string) (string, error) {
	out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput()
	return string(out), err
}

type host struct {
	goos                           string
	home, configHome, localAppData string // directories of the user; configHome is XDG_CONFIG_HOME or ~/.config
	etc, lib                       string // where a machine is configured, and where packages put their units
	uid, user                      string
	program                        string // the path of this program
	systemd                        bool   // it runs here
	lingers                        bool   // the user's services run without a session
}

func thisHost(env func(string) string) (*host, error) {
	program, err := programPath()
	if err != nil {
		return nil, err
	}
	who, err := user.Current()
	if err != nil {
		return nil, fmt.Errorf("who you are: %w", err)
	}
	h := &host{
		goos: runtime.GOOS, home: cmp.Or(env("HOME"), who.HomeDir), localAppData: env("LOCALAPPDATA"), etc: "/etc", lib: "/usr/lib",
		uid: who.Uid, user: who.Username, program: program, systemd: exists("/run/systemd/system"),
		lingers: exists(filepath.Join("/var/lib/systemd/linger", who.Username)),
	}
	if h.configHome = env("XDG_CONFIG_HOME"); !filepath.IsAbs(h.configHome) {
		h.configHome = filepath.Join(h.home, ".config")
	}
	return h, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// programPath returns the path by which this program was called, such as a link that a later version replaces.
func programPath() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("the path of this program: %w", err)
	}
	if strings.Contains(self, "go-build") {
		return "", errors.New("`go run` removes the program when it ends; build and install it first")
	}
	called, _ := exec.LookPath(os.Args[0])
	called, _ = filepath.Abs(called)
	a, _ := os.Stat(self)
	if b, err := os.Stat(called); err == nil && os.SameFile(a, b) {
		return called, nil
	}
	return self, nil
}

func (c *serviceCmd) say(format string, args ...any) {
	fmt.Fprintf(command.Text(c.Streams.Out), format+"\n", args...)
}

// gateway returns the gateway of the service's configuration. This shell's variables are not the service's, except
// the token.
func (c *serviceCmd) gateway(p *plan, config string) (running.Gateway, error) {
	f := configflags.Flags{Command: &cobra.Command{}, Streams: command.Streams{Env: func(name string) string {
		switch {
		case name == "RIDETHROUGH_CONFIG":
			return config
		case name == "XDG_CONFIG_HOME" && p.configHome != "":
			return p.configHome
		case strings.HasPrefix(name, "RIDETHROUGH_") && name != "RIDETHROUGH_TOKEN":
			return ""
		}
		return c.Streams.Env(name)
	}}}
	conf, err := f.Read()
	if err != nil {
		return running.Gateway{}, configflags.Explain(err)
	}
	token, _ := conf.Token(f.Streams.Env) // the service may know more
	return running.Gateway{URL: conf.URL(), Token: token}, nil
}

func (c *serviceCmd) status(ctx context.Context) error {
	p, err := c.plan("")
	if err != nil {
		return err
	}
	f, err := read(p.path)
	if err != nil {
		return command.Failed(err)
	}
	there := f.there || exists(p.packed)
	g, err := c.gateway(&p, f.config)
	if err != nil {
		return err
	}
	is, err := g.Info(ctx)
	refused, answers := errors.AsType[running.Refused](err)
	switch state, process := c.state(ctx, &p); {
	case !there && err == nil:
		return notRunning("not installed; the gateway at %s was started in another way", g.URL)
	case !there:
		return notRunning("not installed; `ridethrough service install` installs it")
	case answers:
		return command.Failed(fmt.Errorf("a gateway answers at %s, and refuses: %w", g.URL, refused))
	case err != nil:
		return notRunning("installed, not running%s; its log: %s", state, p.logs)
	case process != 0 && process != is.Process:
		return notRunning("installed, not running%s; the gateway at %s is another process, %d", state, g.URL, is.Process)
	}
	waits, err := g.Waits(ctx)
	if err != nil {
		return command.Failed(err)
	}
	now, waiting := time.Now(), "nothing waits"
	if len(waits) > 0 {
		waiting = text.Count(len(waits), "call waits", "calls wait")
	}
	c.say("running at %s since %s (%s), %s; %s", g.URL, display.Clock(is.Since, now), text.Passed(now.Sub(is.Since)), is.Version, waiting)
	return nil
}

func notRunning(format string, args ...any) error {
	return command.WithCode(fmt.Errorf(format, args...), command.ExitNoGateway)
}

// said matches what systemd and launchd print about a service: "NAME=VALUE" and "name = value".
var said = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^\s*(ActiveState|SubState|Result|MainPID|state|pid)\s?=\s?(.*?)\s*$`)
})

// state asks the manager for the state of the service, as part of a sentence, and for its process id. "" and 0:
// unknown.
func (c *serviceCmd) state(ctx context.Context, p *plan) (state string, process int) {
	if !p.runs || p.state == "" {
		return "", 0
	}
	out, err := c.run(ctx, p.argv(p.state))
	if err != nil {
		return "", 0
	}
	is := map[string]string{}
	for _, m := range slices.Backward(said().FindAllStringSubmatch(out, -1)) { // the first of each name holds
		is[m[1]] = m[2]
	}
	process, _ = strconv.Atoi(is["MainPID"] + is["pid"]) // one of them
	switch why := is["Result"]; {
	case is["ActiveState"] == "":
		state = is["state"]
	case why == "" || why == "success":
		state = is["ActiveState"] + " (" + is["SubState"] + ")"
	default:
		state = is["ActiveState"] + " (" + why + ")"
	}
	if state != "" {
		state = ": " + state
	}
	return state, process
}
