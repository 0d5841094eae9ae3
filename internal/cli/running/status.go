package running

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/configflags"
	"github.com/ridethrough/ridethrough/internal/terminal/display"
	"github.com/ridethrough/ridethrough/internal/text"
)

// Status returns the command `status`.
func Status(s command.Streams) *cobra.Command {
	var a asking
	var asJSON, live bool
	a.Streams = s
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the running gateway, its upstreams and what waits",
		Long: "status asks the running gateway where it is, since when and in which version it runs, how its upstreams are,\n" +
			"and what waits. --live only checks that it answers and that none of its loops is frozen: it needs no token and\n" +
			"prints nothing, for health checks." + exits,
		Example: "  ridethrough status\n  ridethrough status --json\n  ridethrough status --live",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			g, err := a.gateway()
			if err != nil {
				return err
			}
			if live {
				return explain(g.Live(cmd.Context()))
			}
			v, err := load(cmd.Context(), g)
			if err != nil {
				return explain(err)
			}
			if asJSON {
				return command.Failed(json.NewEncoder(command.JSON(s.Out)).Encode(v))
			}
			return command.Failed(v.print(command.Text(s.Out), time.Now()))
		},
	}
	a.addFlags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().BoolVar(&live, "live", false, "only check that the gateway lives, and print nothing")
	cmd.MarkFlagsMutuallyExclusive("json", "live")
	return cmd
}

type status struct {
	URL string `json:"url"`
	Info
	Upstreams []Upstream `json:"upstreams"`
	Waits     []Wait     `json:"waits"`
}

func load(ctx context.Context, g Gateway) (v status, err error) {
	v.URL = g.URL
	if v.Info, err = g.Info(ctx); err != nil {
		return v, err
	}
	if v.Upstreams, err = g.Upstreams(ctx); err != nil {
		return v, err
	}
	v.Waits, err = g.Waits(ctx)
	return v, err
}

func (v *status) print(out io.Writer, now time.Time) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "gateway\t%s, %s, process %d\n", v.URL, v.Version, v.Process)
	fmt.Fprintf(w, "running\tfor %s, since %s\n", text.Passed(now.Sub(v.Since)), display.Clock(v.Since, now))
	if f := v.Fleet; f != nil {
		fmt.Fprintf(w, "fleet\t%s\n", fleetText(f, now))
	}
	fmt.Fprintf(w, "page\t%s/-/ui/\n", v.URL)
	var unused []string
	for _, u := range v.Upstreams {
		if u.State == "no-data" && u.Waiting == 0 {
			unused = append(unused, u.Name)
			continue
		}
		text := u.State
		if u.State != "operational" {
			text += ": " + u.Reason
		}
		fmt.Fprintf(w, "%s\t%s\n", u.Name, text)
	}
	if len(unused) > 0 {
		fmt.Fprintf(w, "no calls yet\t%s\n", strings.Join(unused, ", "))
	}
	fmt.Fprintf(w, "waiting\t%s\n", v.waiting(now))
	return w.Flush()
}

func fleetText(f *Fleet, now time.Time) string {
	if !f.Connected {
		return fmt.Sprintf("%s: alone for %s, without a connection with the NATS servers; %s", f.Name, text.Passed(now.Sub(f.Since)), f.Replica)
	}
	return fmt.Sprintf("%s: %s; this is %s", f.Name, text.Count(len(f.Replicas), "replica", "replicas"), f.Replica)
}

func (v *status) waiting(now time.Time) string {
	if len(v.Waits) == 0 {
		return "nothing"
	}
	calls, turns := count(v.Waits)
	all := 0 // of which the list has the oldest only
	for _, u := range v.Upstreams {
		all += u.Turns
	}
	return counted(calls, max(turns, all)) + ", " + next(Soonest(v.Waits), now) + "; see `ridethrough waits`"
}

func count(all []Wait) (calls, turns int) {
	for _, w := range all {
		if w.Turn != "" {
			turns++
		}
	}
	return len(all) - turns, turns
}

func counted(calls, turns int) string {
	var parts []string
	if calls > 0 || turns == 0 {
		parts = append(parts, text.Count(calls, "call", "calls"))
	}
	if turns > 0 {
		parts = append(parts, text.Count(turns, "turn of a conversation", "turns of conversations"))
	}
	return strings.Join(parts, " and ")
}

func next(w Wait, now time.Time) string {
	switch {
	case !w.OpensAt.IsZero():
		return "opens again at " + display.Clock(w.OpensAt, now)
	case w.State == "paused":
		return "paused"
	case w.State == "trying":
		return "trying now"
	case w.Due().IsZero():
		return "waiting for its turn"
	}
	return display.Countdown(w.Due().Sub(now), now)
}

// asking is shared by the commands that ask a gateway: where it is.
type asking struct {
	configflags.Flags
	server string // of the flag
}

// exits is the part of the help about exit codes.
const exits = "\n\nThe exit code is 0 if the gateway answers, 3 if none runs, 1 if it refuses, and 2 or 78 for a mistake in the\n" +
	"flags or the configuration."

func (a *asking) addFlags(cmd *cobra.Command) {
	a.AddFile(cmd)
	cmd.Flags().StringVar(&a.server, "server", "", "`URL` of the gateway (default that of the configuration) [RIDETHROUGH_SERVER]")
}

// gateway returns the gateway that flags, the environment or the configuration name. The configuration's own token
// is sent only to the configuration's own address.
func (a *asking) gateway() (Gateway, error) {
	env := a.Streams.Env
	if url := cmp.Or(a.server, env("RIDETHROUGH_SERVER")); url != "" {
		return Gateway{URL: url, Token: env("RIDETHROUGH_TOKEN")}, nil
	}
	c, err := a.Read()
	if err != nil {
		return Gateway{}, configflags.Explain(err)
	}
	token, err := c.Token(env)
	if err != nil {
		return Gateway{}, command.WithCode(err, command.ExitConfig)
	}
	return Gateway{URL: c.URL(), Token: token}, nil
}

// explain returns an error of a gateway with its exit code, and says how to start one if none runs.
func explain(err error) error {
	if _, ok := errors.AsType[Unreachable](err); ok {
		return command.WithCode(fmt.Errorf("%w; start one with `ridethrough serve`, or for good with `ridethrough service install`", err), command.ExitNoGateway)
	}
	return command.Failed(err)
}
