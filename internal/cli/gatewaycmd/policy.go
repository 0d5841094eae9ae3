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

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/configflags"
	"github.com/ridethrough/ridethrough/internal/lab"
	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/internal/text"
	"github.com/ridethrough/ridethrough/policy"
)

// Policy returns the command `policy`.
func Policy(s command.Streams) *cobra.Command {
	return group("policy", "List, show and check retry policies",
		"policy shows what retry policies do in an endless outage, before a real one does. `ridethrough lab`\n"+
			"simulates other outages.",
		policyList(s), policyShow(s), policyCheck(s))
}

func policyList(s command.Streams) *cobra.Command {
	from := configflags.Flags{Streams: s}
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the named policies and what each does",
		Example: "  ridethrough policy list",
		Args:    cobra.NoArgs,
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
				fmt.Fprintf(w, "%s\t%s\n", name, configflags.PolicySummary(p, p.Forecast(configflags.MaxRetries)))
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
		Short: "Show when a policy retries, and when and why it gives up",
		Long: "show applies a policy to a provider that rejects every call at once, without a Retry-After. NAME is a\n" +
			"preset, a policy from the configuration, or a program from `ridethrough lab --policies`. FILE has the\n" +
			"fields of a policy.",
		Example: "  ridethrough policy show patient\n" +
			"  ridethrough policy show codex\n" +
			"  ridethrough policy show my-policy.yaml --json",
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return show.run(s, args[0]) },
	}
	show.from.AddFile(cmd)
	f := cmd.Flags()
	f.IntVar(&show.most, "retries", 50, "the number of retries to show")
	f.StringVar(&show.at, "now", "", "the time of the first failure, as 2026-11-02T21:00:00Z (default now)")
	f.BoolVar(&show.json, "json", false, "print one JSON object")
	return cmd
}

func policyCheck(s command.Streams) *cobra.Command {
	return &cobra.Command{
		Use:     "check FILE",
		Short:   "Check a policy file for mistakes",
		Example: "  ridethrough policy check my-policy.yaml",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			p, doubt, err := config.LoadPolicy(args[0])
			if err != nil {
				return configflags.ExplainIn(err, "the policy")
			}
			if doubt != "" {
				fmt.Fprintf(command.Text(s.Out), "%s: warning: %s\n", args[0], doubt)
			}
			_, err = fmt.Fprintf(command.Text(s.Out), "%s is valid: %s\n", args[0], configflags.PolicySummary(p, p.Forecast(configflags.MaxRetries)))
			return command.Failed(err)
		},
	}
}

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
			return fmt.Errorf("--now %q: want a time such as 2026-11-02T21:00:00Z", c.at)
		}
	}
	if c.most < 1 {
		return fmt.Errorf("--retries %d: want a number from 1", c.most)
	}
	p, err := c.find(name)
	if err != nil {
		return err
	}
	o := p.Forecast(configflags.MaxRetries)
	if c.json {
		return command.Failed(writeJSON(command.JSON(s.Out), describePolicy(name, p, o, now)))
	}
	out := command.NewScreen(s, false)
	c.print(out, name, p, o, now)
	return command.Failed(out.Err())
}

// find returns a named policy of the configuration or the lab, or that of a file.
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
			name, text.And(conf.Policies()))
	}
	return p, configflags.ExplainIn(err, "the policy")
}

func (c *policyShowCmd) print(out *command.Screen, name string, p policy.Policy, o policy.Forecast, now time.Time) {
	out.Wrap("", name+": "+configflags.PolicySummary(p, o))
	shown := o.Retries[:min(len(o.Retries), c.most)]
	if len(shown) > 0 {
		out.Print("", "")
		c.table(out, shown, p.Backoff.Jitter != policy.Jitter{}, now)
	}
	if more := len(o.Retries) - len(shown); more > 0 && o.Stop != "" {
		out.Print(command.Faint, "… and %d more", more)
	} else if more > 0 {
		out.Print(command.Faint, "… and so on")
	}
	out.Print("", "")
	out.Wrap("", configflags.PolicyEnd(p, o)+" "+configflags.PolicyWithoutName(p))
}

const (
	barMost     = 32 // the widest bar
	jitterWidth = 19 // of the column with the range of a wait
)

func (c *policyShowCmd) table(out *command.Screen, shown []policy.PlannedRetry, moved bool, now time.Time) {
	longest := time.Duration(1)
	for _, r := range shown {
		longest = max(longest, r.Wait)
	}
	head := fmt.Sprintf("%5s  %9s  %10s  %-8s", "retry", "wait", "total", "clock")
	if moved = moved && out.Columns() > len(head)+jitterWidth+2; moved {
		head += fmt.Sprintf("  %-*s", jitterWidth, "with jitter")
	}
	out.Print(command.Faint, "%s", strings.TrimRight(head, " "))
	room, bar := min(out.Columns()-len(head)-3, barMost), "█"
	if out.ASCII {
		bar = "#"
	}
	for _, r := range shown {
		line := fmt.Sprintf("%5d  %9s  %10s  %-8s", r.N, configflags.Duration(r.Wait), configflags.Duration(r.At), now.Add(r.At).Format("15:04:05"))
		if moved {
			line += fmt.Sprintf("  %-*s", jitterWidth, span(r))
		}
		if room > 3 {
			line += "  " + strings.Repeat(bar, max(1, int(int64(room)*int64(r.Wait)/int64(longest))))
		}
		out.Print("", "%s", strings.TrimRight(line, " "))
	}
}

func span(r policy.PlannedRetry) string {
	if r.Least == r.Most {
		return ""
	}
	return configflags.Duration(r.Least) + " to " + configflags.Duration(r.Most)
}

type policyJSON struct {
	Policy  string      `json:"policy"`
	Retries []retryJSON `json:"retries"`
	Count   *int        `json:"count"` // null: unlimited
	TotalMs *int64      `json:"totalMs"`
	Stop    string      `json:"stop,omitzero"`
	Unnamed bool        `json:"unnamed"` // failures without a name are retried, too
}

type retryJSON struct {
	Retry   int       `json:"retry"`
	WaitMs  int64     `json:"waitMs"`
	LeastMs int64     `json:"leastMs"`
	MostMs  int64     `json:"mostMs"`
	AtMs    int64     `json:"atMs"`
	At      time.Time `json:"at"`
}

// endlessShown is how many retries of an endless policy the JSON has.
const endlessShown = 100

func describePolicy(name string, p policy.Policy, o policy.Forecast, now time.Time) policyJSON {
	d := policyJSON{Policy: name, Retries: []retryJSON{}, Stop: string(o.Stop), Unnamed: p.Retries != 0 && p.RetryOn.Has(fault.Unknown)}
	if o.Stop == "" {
		o.Retries = o.Retries[:min(len(o.Retries), endlessShown)]
	} else {
		n, total := len(o.Retries), o.Total.Milliseconds()
		d.Count, d.TotalMs = &n, &total
	}
	for _, r := range o.Retries {
		d.Retries = append(d.Retries, retryJSON{
			r.N, r.Wait.Milliseconds(), r.Least.Milliseconds(), r.Most.Milliseconds(), r.At.Milliseconds(), now.Add(r.At).UTC(),
		})
	}
	return d
}
