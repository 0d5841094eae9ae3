// Package labcmd has the commands that simulate outages: lab and simulator.
package labcmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/configflags"
	"github.com/ridethrough/ridethrough/internal/cli/outlook"
	"github.com/ridethrough/ridethrough/internal/cli/screen"
	"github.com/ridethrough/ridethrough/internal/lab"
	"github.com/ridethrough/ridethrough/internal/operation/config"
)

func Lab(s command.Streams) *cobra.Command {
	c := &labCmd{s: s, from: configflags.Flags{Streams: s}}
	cmd := &cobra.Command{
		Use:   "lab [NAME|FILE]",
		Short: "Play an outage in virtual time, with one policy beside the other",
		Long: "lab plays an outage of hours in seconds: callers, a provider that fails as a scenario says, and between them\n" +
			"the engine and the gate of this release, or another program's published way of trying again. It says how many\n" +
			"calls were answered, how long they waited, and what the provider had to bear. NAME is a scenario of the gallery\n" +
			"(--list), FILE one of your own (docs/lab.md). The same seed gives the same figures.",
		Example: "  ridethrough lab four-hours-529\n" +
			"  ridethrough lab thirty-second-blip --policy patient+breaker --policy openai-sdk --svg blip.svg\n" +
			"  ridethrough lab my-outage.yaml --policy my-policy.yaml+breaker --json",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	c.flags(cmd)
	return cmd
}

// instead are the flags that ask for something else than a play.
var instead = [...]string{"list", "policies", "show", "schema", "gallery"}

// AddAll adds the command's flags.
func (c *labCmd) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	c.given = f.Changed
	reads := &cobra.Command{} // its own --policy is another than the configuration's
	c.from.AddFile(reads)
	f.AddFlag(reads.Flags().Lookup("config"))
	f.BoolVar(&c.list, "list", false, "list the gallery")
	f.BoolVar(&c.known, "policies", false, "list the policies that can be played, with the sources of those that are not ours")
	f.StringArrayVar(&c.policies, "policy", nil, "play this policy instead of the scenario's: a name of --policies, one of the configuration, or a file; +breaker at its end lets its callers share the outage; may be repeated")
	f.StringVar(&c.show, "show", "", "print a scenario of the gallery as a file to begin with")
	f.IntVar(&c.callers, "callers", 0, "play with so many callers instead of the scenario's")
	f.Uint64Var(&c.seed, "seed", 0, "another chance than the scenario's")
	f.BoolVar(&c.json, "json", false, "write one JSON object, with the series per minute")
	f.StringVar(&c.svg, "svg", "", "write the chart to a file as a picture")
	f.BoolVar(&c.schema, "schema", false, "print the JSON Schema of a scenario, for editors")
	f.StringVar(&c.folder, "gallery", "", "play the whole gallery and write outages.md and its pictures into a folder")
	cmd.MarkFlagsMutuallyExclusive(instead[:]...)
	for _, flag := range instead {
		for _, play := range []string{"policy", "callers", "seed", "json", "svg"} {
			cmd.MarkFlagsMutuallyExclusive(flag, play)
		}
	}
}

// labCmd is what `lab` was asked for.
type labCmd struct {
	s                         command.Streams
	from                      configflags.Flags
	list, known, json, schema bool
	policies                  []string
	show, svg, folder         string
	callers                   int
	seed                      uint64
	given                     func(flag string) bool
}

func (c *labCmd) run(ctx context.Context, args []string) error {
	switch {
	case c.instead() != "" && len(args) > 0:
		return fmt.Errorf("%s and --%s: want one of them", args[0], c.instead())
	case c.list:
		return command.Failed(c.gallery())
	case c.known:
		return command.Failed(c.sources())
	case c.schema:
		_, err := c.s.Out.Write(config.ScenarioSchema())
		return command.Failed(err)
	case c.show != "":
		return c.file()
	case c.folder != "":
		return command.Failed(lab.WriteGallery(ctx, c.folder, func(s config.Scenario) { fmt.Fprintf(c.s.Err, "playing %s\n", s.Name) }))
	case len(args) == 0:
		return errors.New("name a scenario of the gallery (--list), or a file")
	}
	scenario, err := c.scenario(args[0])
	if err != nil {
		return err
	}
	all, err := c.strategies(scenario)
	if err != nil {
		return err
	}
	r, err := c.play(ctx, scenario, all)
	if err != nil {
		return command.Failed(err)
	}
	return command.Failed(c.report(r))
}

// instead names the flag that asks for something else than a play; "": none
// does.
func (c *labCmd) instead() string {
	for _, flag := range instead {
		if c.given(flag) {
			return flag
		}
	}
	return ""
}

// scenario gives the scenario of a name or a file, with what the flags change.
func (c *labCmd) scenario(name string) (config.Scenario, error) {
	s, ok := lab.Find(name)
	if !ok {
		var err error
		s, err = config.LoadScenario(name)
		if errors.Is(err, os.ErrNotExist) {
			return s, fmt.Errorf("unknown scenario %q, and no such file; the gallery has %s", name, command.List(titles()))
		}
		if err != nil {
			return s, configflags.ExplainIn(err, "the scenario")
		}
	}
	switch given := c.given("callers"); {
	case given && c.callers < 1:
		return s, fmt.Errorf("--callers %d: %d is no number of callers", c.callers, c.callers)
	case given:
		s.Callers.Number = c.callers
	}
	if c.given("seed") {
		s.Seed = c.seed
	}
	if err := s.Bounds(); err != nil {
		return s, fmt.Errorf("--callers %d: %w", c.callers, err)
	}
	return s, nil
}

// titles names the gallery.
func titles() []string {
	var names []string
	for _, s := range lab.Gallery() {
		names = append(names, s.Name)
	}
	return names
}

// strategies gives what is played.
func (c *labCmd) strategies(s config.Scenario) ([]lab.Strategy, error) {
	if len(c.policies) == 0 {
		all, err := lab.Choose(s.Policies)
		if err != nil {
			return nil, command.WithCode(fmt.Errorf("%s: %w", s.Name, err), command.ExitConfig)
		}
		return all, nil
	}
	conf, err := c.from.Read()
	if err != nil {
		return nil, configflags.Explain(err)
	}
	var all []lab.Strategy
	for _, name := range c.policies {
		one, err := c.strategy(&conf, name)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// strategy gives one that is the lab's, the configuration's or a file's.
func (c *labCmd) strategy(conf *config.Config, name string) (lab.Strategy, error) {
	if known, err := lab.Choose([]string{name}); err == nil {
		return known[0], nil
	}
	plain, shared := strings.CutSuffix(name, "+breaker")
	if known, err := lab.Choose([]string{plain}); err == nil && shared {
		return known[0], fmt.Errorf("%s is not ours, and its callers share nothing; want it without +breaker", plain)
	}
	if slices.Contains(conf.Policies(), plain) {
		p, err := conf.Named(plain)
		return lab.OwnStrategy(plain, p, shared), err
	}
	p, _, err := config.LoadPolicy(plain)
	if errors.Is(err, os.ErrNotExist) {
		return lab.Strategy{}, fmt.Errorf("unknown policy %q, and no such file; want one of %s", plain, command.List(lab.Names(lab.All())))
	}
	if err != nil {
		return lab.Strategy{}, configflags.ExplainIn(err, "the policy")
	}
	return lab.OwnStrategy(strings.TrimSuffix(filepath.Base(plain), filepath.Ext(plain)), p, shared), nil
}

// play plays, and says how far it is where somebody looks.
func (c *labCmd) play(ctx context.Context, s config.Scenario, all []lab.Strategy) (lab.Report, error) {
	looks := c.s
	looks.Out = c.s.Err
	out := screen.New(looks, false)
	out.Status(fmt.Sprintf("playing %s with %d policies …", s.Name, len(all)))
	defer out.Status("")
	return promptly(ctx, func() (lab.Report, error) {
		return lab.Run(ctx, s, all, func(played int) {
			if ctx.Err() == nil {
				out.Status(fmt.Sprintf("playing %s: %d of %d policies …", s.Name, played, len(all)))
			}
		})
	})
}

// promptly does something, but for no longer than ctx lasts: who has interrupted
// it is not to wait until twenty thousand callers have been sent home, which is
// the last thing that the program does.
func promptly[T any](ctx context.Context, do func() (T, error)) (T, error) {
	var v T
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		v, err = do()
	}()
	select {
	case <-done:
		return v, err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}

// report writes what came of it in the forms that were asked for.
func (c *labCmd) report(r lab.Report) error {
	if c.svg != "" {
		if err := os.WriteFile(c.svg, []byte(r.SVG()), 0o644); err != nil {
			return err
		}
	}
	if c.json {
		return r.WriteJSON(c.s.Out)
	}
	out := screen.New(c.s, false)
	printReport(out, r)
	return out.Err()
}

// gallery lists the scenarios.
func (c *labCmd) gallery() error {
	w := tabwriter.NewWriter(c.s.Out, 0, 0, 2, ' ', 0)
	for _, s := range lab.Gallery() {
		fmt.Fprintf(w, "%s\t%s\n", s.Name, s.Title)
	}
	return w.Flush()
}

// File prints a scenario of the gallery.
func (c *labCmd) file() error {
	text := lab.ScenarioFile(c.show)
	if text == "" {
		return fmt.Errorf("--show %s: the gallery has %s", c.show, command.List(titles()))
	}
	_, err := fmt.Fprint(c.s.Out, text)
	return command.Failed(err)
}

// sources lists the policies, and where the numbers of others come from.
func (c *labCmd) sources() error {
	out := screen.New(c.s, false)
	width := min(out.Columns(), 100)
	for _, s := range lab.All() {
		out.Print("", "%-18s %s: %s", s.Name, s.Title, outlook.Summary(s.Policy, s.Policy.Forecast(outlook.MaxRetries)))
		for _, line := range []struct{ name, text string }{{"", s.Note}, {"source: ", s.Source}, {"as of: ", s.Seen}, {"not verified: ", s.Doubt}} {
			if line.text != "" {
				out.Print(screen.Faint, "    %s", strings.Join(screen.Fold(line.name+line.text, max(20, width-4)), "\n    "))
			}
		}
	}
	return out.Err()
}

// tableWidth is what tables and charts have where there is more room, or no
// terminal.
const tableWidth = 120

// printReport writes a report for people.
func printReport(out *screen.Screen, r lab.Report) {
	s := r.Scenario
	width := min(out.Columns(), tableWidth)
	out.Wrap("", s.Title)
	out.Wrap(screen.Faint, s.About)
	out.Wrap(screen.Faint, fmt.Sprintf("%d callers, each a call every %s, for %s; seed %d", s.Callers.Number, outlook.Duration(s.Callers.Every), outlook.Duration(s.Lasts), s.Seed))
	out.Print("", "")
	printFigures(out, r, width)
	out.Print("", "")
	printChart(out, r, width)
}

// nameWidth gives the width of the column of names.
func nameWidth(r lab.Report) int {
	widest := len("policy")
	for _, one := range r.Results {
		widest = max(widest, len([]rune(one.Strategy.Name)))
	}
	return widest
}

// printFigures writes the table, with the columns that there is room for, and
// what they mean.
func printFigures(out *screen.Screen, r lab.Report, width int) {
	figures := r.Fit(width - nameWidth(r))
	line := func(name string, cell func(lab.Figure) string) string {
		cells := fmt.Sprintf("%-*s", nameWidth(r), name)
		for _, f := range figures {
			cells += fmt.Sprintf("  %*s", r.Width(f), cell(f))
		}
		return cells
	}
	out.Print(screen.Faint, "%s", line("policy", func(f lab.Figure) string { return f.Name }))
	for _, one := range r.Results {
		out.Print("", "%s", line(one.Strategy.Name, func(f lab.Figure) string { return f.Of(one) }))
	}
	out.Print("", "")
	for _, f := range figures {
		out.Print(screen.Faint, "%-9s %s", f.Name, strings.Join(screen.Fold(f.About, max(20, width-10)), "\n          "))
	}
	if left := len(r.Figures()) - len(figures); left > 0 {
		out.Wrap(screen.Faint, fmt.Sprintf("%d more columns where the terminal is wider, or with --json", left))
	}
}

// printChart draws the requests per minute.
func printChart(out *screen.Screen, r lab.Report, width int) {
	name := nameWidth(r)
	room := min(width-name-10, 100)
	if room < 10 {
		return
	}
	out.Wrap(screen.Faint, "requests per minute, each line as high as its own most, which is at its end")
	out.Print(screen.Amber, "%-*s  %s", name, "provider", r.Trouble(room, out.ASCII))
	for i, one := range r.Results {
		series := r.Series(i)
		out.Print("", "%-*s  %s %6d", name, one.Strategy.Name, lab.Spark(series, room, out.ASCII), slices.Max(append(series, 0)))
	}
}
