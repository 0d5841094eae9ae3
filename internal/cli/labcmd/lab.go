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
	"github.com/ridethrough/ridethrough/internal/lab"
	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/internal/text"
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

var instead = [...]string{"list", "policies", "show", "schema"}

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
	cmd.MarkFlagsMutuallyExclusive(instead[:]...)
	for _, flag := range instead {
		for _, of := range []string{"policy", "callers", "seed", "json", "svg"} {
			cmd.MarkFlagsMutuallyExclusive(flag, of)
		}
	}
}

type labCmd struct {
	s                         command.Streams
	from                      configflags.Flags
	list, known, json, schema bool
	policies                  []string
	show, svg                 string
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

func (c *labCmd) instead() string {
	for _, flag := range instead {
		if c.given(flag) {
			return flag
		}
	}
	return ""
}

func (c *labCmd) scenario(name string) (config.Scenario, error) {
	s, ok := lab.Find(name)
	if !ok {
		var err error
		s, err = config.LoadScenario(name)
		if errors.Is(err, os.ErrNotExist) {
			return s, fmt.Errorf("unknown scenario %q, and no such file; the gallery has %s", name, text.And(titles()))
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

func titles() []string {
	var names []string
	for _, s := range lab.Gallery() {
		names = append(names, s.Name)
	}
	return names
}

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

func (c *labCmd) strategy(conf *config.Config, name string) (lab.Strategy, error) {
	if known, err := lab.Choose([]string{name}); err == nil {
		return known[0], nil
	}
	plain, admits := strings.CutSuffix(name, "+admission")
	plain, shared := strings.CutSuffix(plain, "+breaker")
	if admits && !shared {
		return lab.Strategy{}, fmt.Errorf("--policy %s: want %s+breaker%s: callers that do not share a breaker share no knowledge of limits either", name, plain, strings.TrimPrefix(name, plain))
	}
	if known, err := lab.Choose([]string{plain}); err == nil && shared {
		return known[0], fmt.Errorf("%s is the policy of another program, without a circuit breaker; leave +breaker out", plain)
	}
	own := func(name string, p policy.Policy) lab.Strategy {
		s := lab.OwnStrategy(name, p, shared)
		if admits {
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
		return lab.Strategy{}, fmt.Errorf("unknown policy %q, and no such file; want one of %s", plain, text.And(lab.Names(lab.All())))
	}
	if err != nil {
		return lab.Strategy{}, configflags.ExplainIn(err, "the policy")
	}
	return own(strings.TrimSuffix(filepath.Base(plain), filepath.Ext(plain)), p), nil
}

func (c *labCmd) simulate(ctx context.Context, s config.Scenario, all []lab.Strategy) (*lab.Report, error) {
	looks := c.s
	looks.Out = c.s.Err
	out := command.NewScreen(looks, false)
	out.Status(fmt.Sprintf("simulating %s with %s …", s.Name, text.Count(len(all), "policy", "policies")))
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

func (c *labCmd) report(r *lab.Report) error {
	if c.svg != "" {
		if err := os.WriteFile(c.svg, []byte(r.SVG()), 0o644); err != nil {
			return err
		}
	}
	if c.json {
		return r.WriteJSON(c.s.Out)
	}
	out := command.NewScreen(c.s, false)
	printReport(out, r)
	return out.Err()
}

func (c *labCmd) gallery() error {
	w := tabwriter.NewWriter(c.s.Out, 0, 0, 2, ' ', 0)
	for _, s := range lab.Gallery() {
		fmt.Fprintf(w, "%s\t%s\n", s.Name, s.Title)
	}
	return w.Flush()
}

func (c *labCmd) file() error {
	file := lab.ScenarioFile(c.show)
	if file == "" {
		return fmt.Errorf("--show %s: the gallery has %s", c.show, text.And(titles()))
	}
	_, err := fmt.Fprint(c.s.Out, file)
	return command.Failed(err)
}

func (c *labCmd) sources() error {
	out := command.NewScreen(c.s, false)
	width := min(out.Columns(), 100)
	names := 0
	for _, s := range lab.All() {
		names = max(names, len(s.Name))
	}
	for _, s := range lab.All() {
		out.Print("", "%-*s  %s: %s", names, s.Name, s.Title, configflags.PolicySummary(s.Policy, s.Policy.Forecast(configflags.MaxRetries)))
		for _, line := range []struct{ name, says string }{{"", s.Note}, {"source: ", s.Source}, {"as of: ", s.Seen}, {"not verified: ", s.Doubt}} {
			if line.says != "" {
				out.Print(command.Faint, "    %s", strings.ReplaceAll(text.Wrap(line.name+line.says, max(20, width-4)), "\n", "\n    "))
			}
		}
	}
	return out.Err()
}

const tableWidth = 120

func printReport(out *command.Screen, r *lab.Report) {
	s := r.Scenario
	width := min(out.Columns(), tableWidth)
	out.Wrap("", s.Title)
	out.Wrap(command.Faint, s.About)
	others := ""
	if o := s.Others; o.Number > 0 {
		others = fmt.Sprintf(", and %s every %s", text.Count(o.Number, "other", "others"), configflags.Duration(o.Every))
	}
	out.Wrap(command.Faint, fmt.Sprintf("%s, a call every %s each%s, for %s; seed %d", text.Count(s.Callers.Number, "caller", "callers"), configflags.Duration(s.Callers.Every), others, configflags.Duration(s.Lasts), s.Seed))
	out.Print("", "")
	printFigures(out, r, width)
	out.Print("", "")
	printChart(out, r, width)
}

func nameWidth(r *lab.Report) int {
	widest := len("policy")
	for _, one := range r.Results {
		widest = max(widest, len([]rune(one.Strategy.Name)))
	}
	return widest
}

func printFigures(out *command.Screen, r *lab.Report, width int) {
	figures := r.Fit(width - nameWidth(r))
	line := func(name string, cell func(lab.Figure) string) string {
		cells := fmt.Sprintf("%-*s", nameWidth(r), name)
		for _, f := range figures {
			cells += fmt.Sprintf("  %*s", r.Width(f), cell(f))
		}
		return cells
	}
	out.Print(command.Faint, "%s", line("policy", func(f lab.Figure) string { return f.Name }))
	for _, one := range r.Results {
		out.Print("", "%s", line(one.Strategy.Name, func(f lab.Figure) string { return f.Of(one) }))
	}
	out.Print("", "")
	for _, f := range figures {
		out.Print(command.Faint, "%-9s %s", f.Name, strings.ReplaceAll(text.Wrap(f.About, max(20, width-10)), "\n", "\n          "))
	}
	if left := len(r.Figures()) - len(figures); left > 0 {
		out.Wrap(command.Faint, fmt.Sprintf("%d more columns on a wider terminal or with --json", left))
	}
}

func printChart(out *command.Screen, r *lab.Report, width int) {
	name := nameWidth(r)
	room := min(width-name-10, 100)
	if room < 10 {
		return
	}
	out.Wrap(command.Faint, "requests per minute; each line is scaled to its maximum, shown at its end")
	out.Print(command.Amber, "%-*s  %s", name, "provider", r.OutageLine(room, out.ASCII))
	for i, one := range r.Results {
		series := r.Series(i)
		out.Print("", "%-*s  %s %6d", name, one.Strategy.Name, lab.Spark(series, room, out.ASCII), slices.Max(append(series, 0)))
	}
}
