package running

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/terminal/printable"
	"github.com/ridethrough/ridethrough/internal/text"
)

// Waits returns the command `waits`.
func Waits(s command.Streams) *cobra.Command {
	c := &waitsCmd{}
	c.Streams = s
	cmd := &cobra.Command{
		Use:   "waits",
		Short: "List the calls that a gateway holds, retry, pause or end them",
		Long: "waits lists the calls that wait at the running gateway, and the turns of conversations: why, until when, and\n" +
			"for how long already. A call waits from its first failed try until it is answered." + exits,
		Example: "  ridethrough waits\n  ridethrough waits --watch\n  ridethrough waits retry --all",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	c.addFlags(cmd)
	cmd.Flags().BoolVar(&c.watch, "watch", false, "keep the list on the terminal, with keys to retry, pause, move and give up")
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	cmd.MarkFlagsMutuallyExclusive("watch", "json")
	cmd.AddCommand(
		verb(s, "retry", "now", "Try calls that wait now", "ends the waits of calls and turns: each is tried at once.", "tried now"),
		verb(s, "pause", "pause", "Keep calls waiting until they are resumed", "keeps calls and turns waiting, whatever their policy says.", "paused"),
		verb(s, "resume", "resume", "End the pause of calls", "ends the pause of calls and turns: their waits continue.", "resumed"),
		verb(s, "give-up", "give-up", "End calls that wait with their last error", "ends calls, whose clients get the last error, and stops turns.", "given up"),
	)
	return cmd
}

type waitsCmd struct {
	asking
	watch, json bool
}

func (c *waitsCmd) run(ctx context.Context) error {
	g, err := c.gateway()
	if err != nil {
		return err
	}
	if c.watch {
		if !command.NewScreen(c.Streams, false).Live {
			return errors.New("--watch needs a terminal")
		}
		return command.Failed(watch(ctx, g, c.Streams))
	}
	all, err := g.Waits(ctx)
	if err != nil {
		return explain(err)
	}
	if c.json {
		return command.Failed(json.NewEncoder(command.JSON(c.Streams.Out)).Encode(map[string][]Wait{"waits": all}))
	}
	_, err = fmt.Fprintln(c.Streams.Out, strings.Join(table(all, time.Now(), command.NewScreen(c.Streams, false).Columns(), true), "\n"))
	return command.Failed(err)
}

// table returns the lines of a list of waits with a heading, at most columns wide if possible. Each line names its
// upstream unless it stands below it.
func table(all []Wait, now time.Time, columns int, upstream bool) []string {
	if len(all) == 0 {
		return []string{"nothing waits"}
	}
	cells := [][]string{{"CALL", "FACE", "UPSTREAM", "MODEL", "CAUSE", "NEXT TRY", "WAITED", "RETRIES", "CLIENT"}}
	for _, one := range all {
		due := strings.TrimSuffix(strings.TrimPrefix(next(one, now), "retrying "), "…")
		cells = append(cells, []string{
			plain(one.Name()), plain(one.Face), plain(one.Upstream), plain(one.Model), plain(cmp.Or(one.Cause, one.Limit)),
			due, waited(one, now), strconv.Itoa(one.Retries), plain(one.Client),
		})
	}
	if !upstream {
		for i, row := range cells {
			cells[i] = slices.Delete(row, 2, 3)
		}
	}
	return align(cells, columns)
}

// align returns rows as lines with aligned cells. If the lines would be too long, it truncates the longest cells,
// so that no column is lost.
func align(rows [][]string, columns int) []string {
	const gap, least = 2, 6
	widths := make([]int, len(rows[0]))
	all := -gap
	for i := range widths {
		for _, row := range rows {
			widths[i] = max(widths[i], ansi.StringWidth(row[i]))
		}
		all += widths[i] + gap
	}
	for ; all > columns; all-- {
		widest := slices.Index(widths, slices.Max(widths))
		if widths[widest] <= least {
			break
		}
		widths[widest]--
	}
	lines := make([]string, len(rows))
	for n, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			cell = ansi.Truncate(cell, widths[i], "…")
			line.WriteString(cell + strings.Repeat(" ", widths[i]-ansi.StringWidth(cell)+gap))
		}
		lines[n] = strings.TrimRight(line.String(), " ")
	}
	return lines
}

// plain returns a foreign text as a cell: printable, on one line, and a dash if empty.
func plain(text string) string {
	return cmp.Or(strings.Join(strings.Fields(printable.Text(text)), " "), "-")
}

func waited(w Wait, now time.Time) string {
	return text.Passed(time.Duration(w.WaitedMs)*time.Millisecond + now.Sub(w.Heard))
}

// verb is a command that acts on what waits. name is its own, do is the action's name at the gateway.
func verb(s command.Streams, name, do, short, long, done string) *cobra.Command {
	var a asking
	var all bool
	a.Streams = s
	cmd := &cobra.Command{
		Use:     name + " {CALL... | --all}",
		Short:   short,
		Long:    name + " " + long + " CALL is a number of `ridethrough waits`, or the id of a turn's conversation." + exits,
		Example: "  ridethrough waits " + name + " 17\n  ridethrough waits " + name + " --all",
		RunE: func(cmd *cobra.Command, args []string) error {
			if all == (len(args) > 0) {
				return errors.New("want the numbers of calls, or --all; see `ridethrough waits`")
			}
			return a.act(cmd.Context(), args, do, done)
		},
	}
	a.addFlags(cmd)
	cmd.Flags().BoolVar(&all, "all", false, name+" every call and turn that waits")
	return cmd
}

// act carries out an action on the named waits, or on all without names, and reports how many.
func (a *asking) act(ctx context.Context, names []string, do, done string) error {
	g, err := a.gateway()
	if err != nil {
		return err
	}
	if len(names) == 0 {
		reached, err := g.actOnAll(ctx, do)
		if err != nil {
			return explain(err)
		}
		return a.report(reached, done)
	}
	all := make([]Wait, len(names))
	for i, name := range names {
		if all[i].ID, err = strconv.ParseInt(name, 10, 64); err != nil {
			all[i].Turn = name
		}
		if err := g.Act(ctx, name, do); err != nil {
			return explain(err)
		}
	}
	return a.report(all, done)
}

func (a *asking) report(reached []Wait, done string) error {
	_, err := fmt.Fprintln(a.Streams.Out, counted(count(reached))+" "+done)
	return command.Failed(err)
}

// actOnAll carries out an action on all waits, and returns those that it has reached.
func (g Gateway) actOnAll(ctx context.Context, do string) (reached []Wait, err error) {
	all, err := g.Waits(ctx)
	if err != nil {
		return nil, err
	}
	for _, w := range all {
		err := g.Act(ctx, w.Name(), do)
		if r, ok := errors.AsType[Refused](err); ok && (r.Status == http.StatusNotFound || r.Status == http.StatusConflict) {
			continue // it is over meanwhile, or a turn whose conversation is paused
		}
		if err != nil {
			return nil, err
		}
		reached = append(reached, w)
	}
	return reached, nil
}
