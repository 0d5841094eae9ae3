package gatewaycmd

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/configflags"
	"github.com/ridethrough/ridethrough/internal/cli/outlook"
	"github.com/ridethrough/ridethrough/internal/cli/screen"
	"github.com/ridethrough/ridethrough/internal/lab"
	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/policy"
)

func Policy(s command.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "List, show and check policies",
		Long: "policy is about when to try again. It shows what a policy comes to in an outage without end, before an\n" +
			"outage does: `ridethrough lab` plays others.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(policyList(s), policyShow(s), policyCheck(s))
	return cmd
}

func policyList(s command.Streams) *cobra.Command {
	from := configflags.Flags{Streams: s}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the policies that have a name, and what each comes to",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			c, err := from.Read()
			if err != nil {
				return configflags.Explain(err)
			}
			w := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
			for _, name := range c.Policies() {
				p, err := c.Named(name)
				if err != nil {
					return err
				}
				fmt.Fprintf(w, "%s\t%s\n", name, outlook.Summary(p, p.Forecast(outlook.MaxRetries)))
			}
			return command.Failed(w.Flush())
		},
	}
	from.AddFile(cmd)
	return cmd
}

func policyShow(s command.Streams) *cobra.Command {
	show := policyShowCmd{from: configflags.Flags{Streams: s}}
	cmd := &cobra.Command{
		Use:   "show NAME|FILE",
		Short: "Show when a policy tries again, and where and why it ends",
		Long: "show plays a policy against a provider that refuses every call at once and says nothing about when to come\n" +
			"again. NAME is a preset, a policy of the configuration, or a program that `ridethrough lab --policies` lists;\n" +
			"FILE holds the fields of a policy.",
		Example: "  ridethrough policy show patient\n" +
			"  ridethrough policy show codex\n" +
			"  ridethrough policy show my-policy.yaml --json",
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return show.run(s, args[0]) },
	}
	show.from.AddFile(cmd)
	f := cmd.Flags()
	f.IntVar(&show.most, "retries", 50, "how many retries are shown at the most")
	f.StringVar(&show.at, "now", "", "the moment at which the first try fails, as 2026-11-02T21:00:00Z; the default is the present")
	f.BoolVar(&show.json, "json", false, "write one JSON object")
	return cmd
}

func policyCheck(s command.Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE",
		Short: "Say what is wrong in a file that holds a policy, with the lines",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			p, doubt, err := config.LoadPolicy(args[0])
			if err != nil {
				return configflags.ExplainIn(err, "the policy")
			}
			if doubt != "" {
				fmt.Fprintf(s.Out, "%s: warning: %s\n", args[0], doubt)
			}
			_, err = fmt.Fprintf(s.Out, "%s is right: %s\n", args[0], outlook.Summary(p, p.Forecast(outlook.MaxRetries)))
			return command.Failed(err)
		},
	}
}

// policyShowCmd is what `policy show` was asked for.
type policyShowCmd struct {
	from configflags.Flags
	most int
	at   string
	json bool
}

func (c *policyShowCmd) run(s command.Streams, name string) error {
	now := time.Now()
	if c.at != "" {
		var err error
		if now, err = time.Parse(time.RFC3339, c.at); err != nil {
			return fmt.Errorf("--now %q: want a moment such as 2026-11-02T21:00:00Z", c.at)
		}
	}
	if c.most < 1 {
		return fmt.Errorf("--retries %d: want a number from 1", c.most)
	}
	p, err := c.find(name)
	if err != nil {
		return err
	}
	o := p.Forecast(outlook.MaxRetries)
	if c.json {
		return command.Failed(writeJSON(s.Out, describePolicy(name, o, now)))
	}
	out := screen.New(s, false)
	c.print(out, name, p, o, now)
	return command.Failed(out.Err())
}

// find gives the policy of a name: one of the configuration's, of a program
// that the lab knows, or of a file.
func (c *policyShowCmd) find(name string) (policy.Policy, error) {
	conf, err := c.from.Read()
	if err != nil {
		return policy.Policy{}, configflags.Explain(err)
	}
	if slices.Contains(conf.Policies(), name) {
		return conf.Named(name)
	}
	if known, err := lab.Choose([]string{name}); err == nil {
		return known[0].Policy, nil
	}
	p, _, err := config.LoadPolicy(name)
	if errors.Is(err, os.ErrNotExist) {
		return p, fmt.Errorf("unknown policy %q; want %s, a program from `ridethrough lab --policies`, or a file with a policy",
			name, command.List(conf.Policies()))
	}
	return p, configflags.ExplainIn(err, "the policy")
}

// Print writes for people.
func (c *policyShowCmd) print(out *screen.Screen, name string, p policy.Policy, o policy.Forecast, now time.Time) {
	out.Wrap("", name+": "+outlook.Summary(p, o))
	shown := o.Retries[:min(len(o.Retries), c.most)]
	if len(shown) > 0 {
		out.Print("", "")
		c.table(out, shown, p.Backoff.Jitter != policy.Jitter{}, now)
	}
	if more := len(o.Retries) - len(shown); more > 0 && o.Stop != "" {
		out.Print(screen.Faint, "… and %d more", more)
	} else if more > 0 {
		out.Print(screen.Faint, "… and so on")
	}
	out.Print("", "")
	out.Wrap("", outlook.End(p, o))
}

const (
	barMost     = 32 // how wide a bar may become
	chanceWidth = 19 // of the column of what chance makes of a wait
)

// table writes the retries, with a bar for each wait where there is room.
func (c *policyShowCmd) table(out *screen.Screen, shown []policy.PlannedRetry, moved bool, now time.Time) {
	longest := time.Duration(1)
	for _, r := range shown {
		longest = max(longest, r.Wait)
	}
	head := fmt.Sprintf("%5s  %9s  %10s  %-8s", "retry", "wait", "in all", "clock")
	if moved = moved && out.Columns() > len(head)+chanceWidth+2; moved {
		head += fmt.Sprintf("  %-*s", chanceWidth, "with chance")
	}
	out.Print(screen.Faint, "%s", strings.TrimRight(head, " "))
	room := min(out.Columns()-len(head)-3, barMost)
	for _, r := range shown {
		line := fmt.Sprintf("%5d  %9s  %10s  %-8s", r.N, outlook.Duration(r.Wait), outlook.Duration(r.At), now.Add(r.At).Format("15:04:05"))
		if moved {
			line += fmt.Sprintf("  %-*s", chanceWidth, span(r))
		}
		if room > 3 {
			line += "  " + strings.Repeat(bar(out.ASCII), max(1, int(int64(room)*int64(r.Wait)/int64(longest))))
		}
		out.Print("", "%s", strings.TrimRight(line, " "))
	}
}

// span says between which waits chance may put one.
func span(r policy.PlannedRetry) string {
	if r.Least == r.Most {
		return ""
	}
	return outlook.Duration(r.Least) + " to " + outlook.Duration(r.Most)
}

func bar(ascii bool) string {
	if ascii {
		return "#"
	}
	return "█"
}

// describedPolicy is what `policy show` says to programs.
type describedPolicy struct {
	Policy  string           `json:"policy"`
	Retries []describedRetry `json:"retries"`
	Count   *int             `json:"count"` // null: without end
	TotalMs *int64           `json:"totalMs"`
	Stop    string           `json:"stop,omitzero"`
}

type describedRetry struct {
	Retry   int       `json:"retry"`
	WaitMs  int64     `json:"waitMs"`
	LeastMs int64     `json:"leastMs"`
	MostMs  int64     `json:"mostMs"`
	AtMs    int64     `json:"atMs"`
	At      time.Time `json:"at"`
}

// endlessShown is how many retries of a policy without end programs are told.
const endlessShown = 100

func describePolicy(name string, o policy.Forecast, now time.Time) describedPolicy {
	d := describedPolicy{Policy: name, Retries: []describedRetry{}, Stop: string(o.Stop)}
	if o.Stop == "" {
		o.Retries = o.Retries[:min(len(o.Retries), endlessShown)]
	} else {
		n, total := len(o.Retries), o.Total.Milliseconds()
		d.Count, d.TotalMs = &n, &total
	}
	for _, r := range o.Retries {
		d.Retries = append(d.Retries, describedRetry{
			r.N, r.Wait.Milliseconds(), r.Least.Milliseconds(), r.Most.Milliseconds(), r.At.Milliseconds(), now.Add(r.At).UTC(),
		})
	}
	return d
}
