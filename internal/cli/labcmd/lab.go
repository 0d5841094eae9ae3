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
	"github.com/ridethrough/ridethrough/internal/plural"
	"github.com/ridethrough/ridethrough/policy"
)

// Lab returns the command `lab`.
func Lab(s command.Streams) *cobra.Command {
	c := &labCmd{s: s, from: configflags.Flags{Streams: s}}
	cmd := &cobra.Command{
		Use:   "lab [NAME|FILE]",
		Short: "Simulate an outage in virtual time and compare policies",
		Long: "lab simulates an outage of hours in seconds: callers, a provider that fails as a scenario says, and between\n" +
			"them the retries and the circuit breaker of this release or the published retry behavior of another program.\n" +
			"It reports how many calls were answered, how long they waited, and the load on the provider. NAME is a\n" +
			"scenario from the gallery (--list), FILE one of your own (docs/lab.md). The same seed gives the same figures.",
		Example: "  ridethrough lab four-hours-529\n" +
			"  ridethrough lab thirty-second-blip --policy patient+breaker --policy openai-sdk --svg blip.svg\n" +
			"  ridethrough lab my-outage.yaml --policy my-policy.yaml+breaker --json",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	c.flags(cmd)
	return cmd
}

// instead are the flags that replace the simulation.
var instead = [...]string{"list", "policies", "show", "schema", "gallery"}

// flags adds the command's flags.
func (c *labCmd) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	c.given = f.Changed
	reads := &cobra.Command{} // its --policy is not that of the configuration
	c.from.AddFile(reads)
	f.AddFlag(reads.Flags().Lookup("config"))
	f.BoolVar(&c.list, "list", false, "list the gallery")
	f.BoolVar(&c.known, "policies", false, "list the policies, with sources for those of other programs")
	f.StringArrayVar(&c.policies, "policy", nil, "a policy to simulate instead of the scenario's: a name from --policies or the configuration, or a file; with +breaker its callers share a circuit breaker; repeatable")
	f.StringVar(&c.show, "show", "", "print a scenario from the gallery to start from")
	f.IntVar(&c.callers, "callers", 0, "the number of callers, instead of the scenario's")
	f.Uint64Var(&c.seed, "seed", 0, "the seed of random numbers, instead of the scenario's")
	f.BoolVar(&c.json, "json", false, "print one JSON object, with the series per minute")
	f.StringVar(&c.svg, "svg", "", "write the chart to a file as SVG")
	f.BoolVar(&c.schema, "schema", false, "print the JSON Schema of a scenario for editors")
	f.StringVar(&c.folder, "gallery", "", "simulate the whole gallery and write outages.md with its charts to a directory")
	cmd.MarkFlagsMutuallyExclusive(instead[:]...)
	for _, flag := range instead {
		for _, of := range []string{"policy", "callers", "seed", "json", "svg"} {
			cmd.MarkFlagsMutuallyExclusive(flag, of)
		}
	}
}

// labCmd is a call of `lab`.
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
		return fmt.Errorf("%s and --%s cannot be combined", args[0], c.instead())
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
		return command.Failed(lab.WriteGallery(ctx, c.folder, func(s config.Scenario) { fmt.Fprintf(c.s.Err, "simulating %s\n", s.Name) }))
	case len(args) == 0:
		return errors.New("name a scenario from the gallery (--list), or a file")
	}
	scenario, err := c.scenario(args[0])
	if err != nil {
		return err
	}
	all, err := c.strategies(scenario)
	if err != nil {
		return err
	}
	r, err := c.simulate(ctx, scenario, all)
	if err != nil {
		return command.Failed(err)
	}
	return command.Failed(c.report(r))
}

// instead returns the flag that replaces the simulation; "": none.
func (c *labCmd) instead() string {
	for _, flag := range instead {
		if c.given(flag) {
			return flag
		}
	}
	return ""
}

// scenario returns the scenario of a name or a file, with the overrides of flags.
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
		return s, fmt.Errorf("--callers %d: want a number from 1", c.callers)
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

// titles returns the names of the gallery.
func titles() []string {
	var names []string
	for _, s := range lab.Gallery() {
		names = append(names, s.Name)
	}
	return names
}

// strategies returns the policies to simulate.
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

// strategy returns a policy of the lab, the configuration or a file.
func (c *labCmd) strategy(conf *config.Config, name string) (lab.Strategy, error) {
	if known, err := lab.Choose([]string{name}); err == nil {
		return known[0], nil
	}
	plain, adapts := strings.CutSuffix(name, "+adaptive")
	plain, admits := strings.CutSuffix(plain, "+admission")
	plain, shared := strings.CutSuffix(plain, "+breaker")
	if (admits || adapts) && !shared {
		return lab.Strategy{}, fmt.Errorf("--policy %s: want %s+breaker%s: callers that do not share a breaker share no knowledge of limits either", name, plain, strings.TrimPrefix(name, plain))
	}
	if known, err := lab.Choose([]string{plain}); err == nil && shared {
		return known[0], fmt.Errorf("%s is the policy of another program, without a circuit breaker; leave +breaker out", plain)
	}
	own := func(name string, p policy.Policy) lab.Strategy {
		s := lab.OwnStrategy(name, p, shared)
		switch {
		case adapts:
			s = s.WithAdaptive()
		case admits:
			s = s.WithAdmission()
		}
		return s
	}
	if slices.Contains(conf.Policies(), plain) {
		p, err := conf.Named(plain)
		return own(plain, p), err
	}
	p, _, err := config.LoadPolicy(plain)
	if errors.Is(err, os.ErrNotExist) {
		return lab.Strategy{}, fmt.Errorf("unknown policy %q, and no such file; want one of %s", plain, command.List(lab.Names(lab.All())))
	}
	if err != nil {
		return lab.Strategy{}, configflags.ExplainIn(err, "the policy")
	}
	return own(strings.TrimSuffix(filepath.Base(plain), filepath.Ext(plain)), p), nil
}

// simulate runs the simulation, and shows the progress on a terminal.
func (c *labCmd) simulate(ctx context.Context, s config.Scenario, all []lab.Strategy) (*lab.Report, error) {
	looks := c.s
	looks.Out = c.s.Err
	out := screen.New(looks, false)
	out.Status(fmt.Sprintf("simulating %s with %s …", s.Name, plural.Count(len(all), "policy", "policies")))
	defer out.Status("")
	return promptly(ctx, func() (*lab.Report, error) {
		return lab.Run(ctx, s, all, func(done int) {
			if ctx.Err() == nil {
				out.Status(fmt.Sprintf("simulating %s: %d of %d policies …", s.Name, done, len(all)))
			}
		})
	})
}

// promptly calls do, but returns when ctx ends: after an interrupt, the user does
// not wait until thousands of simulated callers have ended.
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

// report writes the result in the chosen forms.
func (c *labCmd) report(r *lab.Report) error {
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

// file prints a scenario from the gallery.
func (c *labCmd) file() error {
	text := lab.ScenarioFile(c.show)
	if text == "" {
		return fmt.Errorf("--show %s: the gallery has %s", c.show, command.List(titles()))
	}
	_, err := fmt.Fprint(c.s.Out, text)
	return command.Failed(err)
}

// sources lists the policies and the sources of their numbers.
func (c *labCmd) sources() error {
	out := screen.New(c.s, false)
	width := min(out.Columns(), 100)
	names := 0
	for _, s := range lab.All() {
		names = max(names, len(s.Name))
	}
	for _, s := range lab.All() {
		out.Print("", "%-*s  %s: %s", names, s.Name, s.Title, outlook.Summary(s.Policy, s.Policy.Forecast(outlook.MaxRetries)))
		for _, line := range []struct{ name, text string }{{"", s.Note}, {"source: ", s.Source}, {"as of: ", s.Seen}, {"not verified: ", s.Doubt}} {
			if line.text != "" {
				out.Print(screen.Faint, "    %s", strings.Join(screen.Fold(line.name+line.text, max(20, width-4)), "\n    "))
			}
		}
	}
	return out.Err()
}

// tableWidth is the greatest width of tables and charts.
const tableWidth = 120

// printReport writes a report as text.
func printReport(out *screen.Screen, r *lab.Report) {
	s := r.Scenario
	width := min(out.Columns(), tableWidth)
	out.Wrap("", s.Title)
	out.Wrap(screen.Faint, s.About)
	others := ""
	if o := s.Others; o.Number > 0 {
		others = fmt.Sprintf(", and %s every %s", plural.Count(o.Number, "other", "others"), outlook.Duration(o.Every))
	}
	out.Wrap(screen.Faint, fmt.Sprintf("%s, a call every %s each%s, for %s; seed %d", plural.Count(s.Callers.Number, "caller", "callers"), outlook.Duration(s.Callers.Every), others, outlook.Duration(s.Lasts), s.Seed))
	out.Print("", "")
	printFigures(out, r, width)
	out.Print("", "")
	printChart(out, r, width)
}

// nameWidth returns the width of the column of names.
func nameWidth(r *lab.Report) int {
	widest := len("policy")
	for _, one := range r.Results {
		widest = max(widest, len([]rune(one.Strategy.Name)))
	}
	return widest
}

// printFigures writes the table with the columns that fit, and their meaning.
func printFigures(out *screen.Screen, r *lab.Report, width int) {
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
		out.Wrap(screen.Faint, fmt.Sprintf("%d more columns on a wider terminal or with --json", left))
	}
}

// printChart draws requests per minute.
func printChart(out *screen.Screen, r *lab.Report, width int) {
	name := nameWidth(r)
	room := min(width-name-10, 100)
	if room < 10 {
		return
	}
	out.Wrap(screen.Faint, "requests per minute; each line is scaled to its maximum, shown at its end")
	out.Print(screen.Amber, "%-*s  %s", name, "provider", r.OutageLine(room, out.ASCII))
	for i, one := range r.Results {
		series := r.Series(i)
		out.Print("", "%-*s  %s %6d", name, one.Strategy.Name, lab.Spark(series, room, out.ASCII), slices.Max(append(series, 0)))
	}
}
