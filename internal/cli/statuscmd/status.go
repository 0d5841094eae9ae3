package statuscmd

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/running"
	"github.com/ridethrough/ridethrough/internal/plural"
	"github.com/ridethrough/ridethrough/internal/terminal/display"
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
				return explain(g.Live(cmd.Context()), cmd.Root().Name())
			}
			v, err := load(cmd.Context(), g)
			if err != nil {
				return explain(err, cmd.Root().Name())
			}
			if asJSON {
				return command.Failed(json.NewEncoder(command.JSON(s.Out)).Encode(v))
			}
			return command.Failed(v.print(command.Text(s.Out), cmd.Root().Name(), time.Now()))
		},
	}
	a.addFlags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().BoolVar(&live, "live", false, "only check that the gateway lives, and print nothing")
	cmd.MarkFlagsMutuallyExclusive("json", "live")
	return cmd
}

// status is the state of a gateway, as JSON.
type status struct {
	URL string `json:"url"`
	running.Info
	Upstreams []running.Upstream `json:"upstreams"`
	Waits     []running.Wait     `json:"waits"`
}

// load asks a gateway for its state.
func load(ctx context.Context, g running.Gateway) (v status, err error) {
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

// print writes the state on one screen.
func (v *status) print(out io.Writer, program string, now time.Time) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "gateway\t%s, %s, process %d\n", v.URL, v.Version, v.Process)
	fmt.Fprintf(w, "running\tfor %s, since %s\n", display.Duration(max(time.Second, now.Sub(v.Since))), display.Clock(v.Since, now))
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
	fmt.Fprintf(w, "waiting\t%s\n", v.waiting(program, now))
	return w.Flush()
}

// fleetText describes a gateway's fleet in a line.
func fleetText(f *running.Fleet, now time.Time) string {
	if !f.Connected {
		return fmt.Sprintf("%s: alone for %s, without a connection with the NATS servers; %s", f.Name, display.Duration(max(time.Second, now.Sub(f.Since))), f.Replica)
	}
	return fmt.Sprintf("%s: %s; this is %s", f.Name, plural.Count(len(f.Replicas), "replica", "replicas"), f.Replica)
}

// waiting says what waits, in a line.
func (v *status) waiting(program string, now time.Time) string {
	turns := 0
	for _, u := range v.Upstreams {
		if u.Source == "conversations" {
			turns += u.Waiting
		}
	}
	var parts []string
	if len(v.Waits) > 0 {
		parts = append(parts, plural.Count(len(v.Waits), "call", "calls")+", "+next(running.Soonest(v.Waits), now)+"; see `"+program+" waits`")
	}
	if turns > 0 {
		parts = append(parts, plural.Count(turns, "turn of a conversation", "turns of conversations"))
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, "; ")
}

// next says when a call is tried next.
func next(w running.Wait, now time.Time) string {
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
