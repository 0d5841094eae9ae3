package servicecmd

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/running"
	"github.com/ridethrough/ridethrough/internal/operation/service"
	"github.com/ridethrough/ridethrough/internal/plural"
	"github.com/ridethrough/ridethrough/internal/terminal/display"
)

func status(c *serviceCmd) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show whether the service runs, since when, and what waits",
		Long: "status prints a line: whether the service runs, since when, and what waits. `ridethrough status` shows more.\n\n" +
			"The exit code is 0 if it runs, 3 if it does not or is not installed, and 1 if that cannot be found out.",
		Example: "  ridethrough service status",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.status(cmd.Context(), cmd.Root().Name()) },
	}
	c.addFlags(cmd)
	return cmd
}

func (c *serviceCmd) status(ctx context.Context, program string) error {
	p, err := c.plan(nil)
	if err != nil {
		return err
	}
	text, there, err := read(p.path)
	if err != nil {
		return command.Failed(err)
	}
	facts, _ := service.Read(text)
	there = there || exists(p.packed)
	g, err := c.gateway(&p, facts.Config)
	if err != nil {
		return err
	}
	is, err := g.Info(ctx)
	refused, answers := errors.AsType[running.Refused](err)
	switch state, process := c.state(ctx, &p); {
	case !there && err == nil:
		return notRunning("not installed; the gateway at %s was started in another way", g.URL)
	case !there:
		return notRunning("not installed; `%s service install` installs it", program)
	case answers:
		return command.Failed(fmt.Errorf("a gateway answers at %s, and refuses: %w", g.URL, refused))
	case err != nil:
		return notRunning("installed, not running%s; its log: %s", state, p.logs)
	case process != 0 && process != is.Process:
		return notRunning("installed, not running%s; the gateway at %s is another process, %d", state, g.URL, is.Process)
	default:
		return c.printRunning(ctx, g, is)
	}
}

// printRunning says in a line how the service is.
func (c *serviceCmd) printRunning(ctx context.Context, g running.Gateway, is running.Info) error {
	waits, err := g.Waits(ctx)
	if err != nil {
		return command.Failed(err)
	}
	now, waiting := time.Now(), "nothing waits"
	if len(waits) > 0 {
		waiting = plural.Count(len(waits), "call waits", "calls wait")
	}
	c.say("running at %s since %s (%s), %s; %s", g.URL, display.Clock(is.Since, now), display.Duration(max(time.Second, now.Sub(is.Since))), is.Version, waiting)
	return nil
}

// notRunning returns the error about a service that does not run.
func notRunning(format string, args ...any) error {
	return command.WithCode(fmt.Errorf(format, args...), command.ExitNoGateway)
}

// pid is how launchd names a process.
var pid = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^\s*(?:pid = |MainPID=)(\d+)`) })

// state asks the manager for the state of the service, as the part of a sentence, and for its process; "" and 0: it
// does not say.
func (c *serviceCmd) state(ctx context.Context, p *plan) (state string, process int) {
	if !p.runs || p.state == nil {
		return "", 0
	}
	out, err := c.run(ctx, p.state)
	if err != nil {
		return "", 0
	}
	if m := pid().FindStringSubmatch(out); m != nil {
		process, _ = strconv.Atoi(m[1]) // of digits
	}
	said := map[string]string{}
	for line := range strings.Lines(out) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		said[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	switch {
	case said["ActiveState"] != "" && said["Result"] != "" && said["Result"] != "success":
		state = fmt.Sprintf(": %s (%s)", said["ActiveState"], said["Result"])
	case said["ActiveState"] != "":
		state = fmt.Sprintf(": %s (%s)", said["ActiveState"], said["SubState"])
	case said["state"] != "":
		state = ": " + said["state"]
	}
	return state, process
}
