package statuscmd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/running"
	"github.com/ridethrough/ridethrough/internal/cli/screen"
	"github.com/ridethrough/ridethrough/internal/plural"
	"github.com/ridethrough/ridethrough/internal/terminal/display"
	"github.com/ridethrough/ridethrough/internal/terminal/printable"
)

// Waits returns the command `waits`.
func Waits(s command.Streams) *cobra.Command {
	c := &waitsCmd{}
	c.Streams = s
	cmd := &cobra.Command{
		Use:   "waits",
		Short: "List the calls that a gateway holds, retry, pause or end them",
		Long: "waits lists the calls that wait at the running gateway: why, until when, and for how long already. A call\n" +
			"waits from its first failed try until it is answered." + exits,
		Example: "  ridethrough waits\n  ridethrough waits --watch\n  ridethrough waits retry --all",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	c.addFlags(cmd)
	cmd.Flags().BoolVar(&c.watch, "watch", false, "keep the list on the terminal and count down, until Ctrl+C")
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	cmd.MarkFlagsMutuallyExclusive("watch", "json")
	cmd.AddCommand(
		retry(s),
		verb(s, "pause", "Keep calls waiting until they are resumed", "keeps calls waiting, whatever their policy says.", "paused"),
		verb(s, "resume", "End the pause of calls", "ends the pause of calls: they go on in their waits.", "resumed"),
		verb(s, "give-up", "End calls that wait with their last error", "ends calls: their clients get the last error.", "given up"),
	)
	return cmd
}

// waitsCmd is a call of `waits`.
type waitsCmd struct {
	asking
	watch, json bool
}

func (c *waitsCmd) run(cmd *cobra.Command) error {
	g, err := c.gateway()
	if err != nil {
		return err
	}
	if c.watch {
		to := screen.New(c.Streams, false)
		if !to.Live {
			return errors.New("--watch needs a terminal")
		}
		return command.Failed(watch(cmd.Context(), g, to))
	}
	all, err := g.Waits(cmd.Context())
	if err != nil {
		return explain(err, cmd.Root().Name())
	}
	if c.json {
		return command.Failed(json.NewEncoder(command.JSON(c.Streams.Out)).Encode(map[string][]running.Wait{"waits": all}))
	}
	_, err = fmt.Fprintln(c.Streams.Out, strings.Join(table(all, time.Now()), "\n"))
	return command.Failed(err)
}

// table returns the lines of a list of waits.
func table(all []running.Wait, now time.Time) []string {
	if len(all) == 0 {
		return []string{"nothing waits"}
	}
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "CALL\tUPSTREAM\tMODEL\tCAUSE\tNEXT TRY\tWAITED\tRETRIES\tCLIENT")
	for _, one := range all {
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%d\t%s\n", one.ID, plain(one.Upstream), plain(one.Model), plain(cmp.Or(one.Cause, one.Limit)),
			strings.TrimSuffix(strings.TrimPrefix(next(one, now), "retrying "), "…"), waited(one, now), one.Retries, plain(one.Client))
	}
	_ = w.Flush() // to a string
	lines := strings.Split(strings.TrimRight(text.String(), "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}

// plain returns a foreign text as a cell: printable, on one line, and a dash for none.
func plain(text string) string {
	return cmp.Or(strings.Join(strings.Fields(printable.Text(text)), " "), "-")
}

// waited says how long a call has waited.
func waited(w running.Wait, now time.Time) string {
	return display.Duration(max(time.Second, time.Duration(w.WaitedMs)*time.Millisecond+now.Sub(w.Heard)))
}

// watch keeps the list on a terminal until ctx ends. A gateway that does not answer is asked again.
func watch(ctx context.Context, g running.Gateway, to *screen.Screen) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		all, err := g.Waits(ctx)
		if ctx.Err() != nil {
			to.Rows()
			return to.Err()
		}
		lines := table(all, time.Now())
		if err != nil {
			lines = []string{printable.Text(err.Error())}
		}
		to.Rows(rows(lines, to)...)
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// rows returns as many lines as a terminal has room for.
func rows(lines []string, to *screen.Screen) (shown []screen.Row) {
	_, height := to.Size()
	room := max(2, height-2)
	if hidden := len(lines) - room; hidden > 0 {
		lines = append(lines[:room-1:room-1], fmt.Sprintf("… and %d more", hidden+1))
	}
	for _, line := range lines {
		shown = append(shown, screen.Row{Text: line})
	}
	return shown
}

func retry(s command.Streams) *cobra.Command {
	var a asking
	var all bool
	a.Streams = s
	cmd := &cobra.Command{
		Use:     "retry {CALL... | --all}",
		Short:   "Try calls that wait now",
		Long:    "retry ends the waits of calls: each is tried at once. CALL is a number of `ridethrough waits`." + exits,
		Example: "  ridethrough waits retry 17\n  ridethrough waits retry --all",
		RunE: func(cmd *cobra.Command, args []string) error {
			if all == (len(args) > 0) {
				return errors.New("want the numbers of calls, or --all")
			}
			return a.act(cmd, args, "now", "tried now")
		},
	}
	a.addFlags(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "retry every call that waits")
	return cmd
}

// verb is a command for calls that wait, which are named. do is its name here and at the gateway.
func verb(s command.Streams, do, short, long, done string) *cobra.Command {
	var a asking
	a.Streams = s
	cmd := &cobra.Command{
		Use:     do + " CALL...",
		Short:   short,
		Long:    do + " " + long + " CALL is a number of `ridethrough waits`." + exits,
		Example: "  ridethrough waits " + do + " 17",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("want the numbers of calls; see `ridethrough waits`")
			}
			return a.act(cmd, args, do, done)
		},
	}
	a.addFlags(cmd)
	return cmd
}

// act does something to calls, or to all that wait if none is named, and says how many it was done to.
func (a *asking) act(cmd *cobra.Command, calls []string, do, done string) error {
	g, err := a.gateway()
	if err != nil {
		return err
	}
	ids, err := numbers(calls)
	if err != nil {
		return err
	}
	ctx, named := cmd.Context(), len(calls) > 0
	if !named {
		all, err := g.Waits(ctx)
		if err != nil {
			return explain(err, cmd.Root().Name())
		}
		for _, w := range all {
			ids = append(ids, w.ID)
		}
	}
	n := 0
	for _, id := range ids {
		err := g.Act(ctx, id, do)
		if r, ok := errors.AsType[running.Refused](err); ok && r.Status == http.StatusNotFound && !named {
			continue // it is over meanwhile
		}
		if err != nil {
			return explain(err, cmd.Root().Name())
		}
		n++
	}
	_, err = fmt.Fprintln(a.Streams.Out, plural.Count(n, "call", "calls")+" "+done)
	return command.Failed(err)
}

// numbers reads the numbers of calls.
func numbers(args []string) (ids []int64, err error) {
	for _, arg := range args {
		id, err := strconv.ParseInt(arg, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is no number of a call; see `ridethrough waits`", arg)
		}
		ids = append(ids, id)
	}
	return ids, nil
}
