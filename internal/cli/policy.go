package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/internal/lab"
	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/policy"
)

// outlookBound is how many retries of a policy are looked at.
const outlookBound = 10_000

func policyCommand(s Streams) *cobra.Command {
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

func policyList(s Streams) *cobra.Command {
	from := settings{s: s}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the policies that have a name, and what each comes to",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			c, err := from.read()
			if err != nil {
				return explained(err)
			}
			w := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
			for _, name := range c.Policies() {
				p, err := c.Named(name)
				if err != nil {
					return err
				}
				fmt.Fprintf(w, "%s\t%s\n", name, comesTo(p, p.Outlook(outlookBound)))
			}
			return failed(w.Flush())
		},
	}
	from.fileFlag(cmd)
	return cmd
}

func policyShow(s Streams) *cobra.Command {
	show := showing{from: settings{s: s}}
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
	show.from.fileFlag(cmd)
	f := cmd.Flags()
	f.IntVar(&show.most, "retries", 50, "how many retries are shown at the most")
	f.StringVar(&show.at, "now", "", "the moment at which the first try fails, as 2026-11-02T21:00:00Z; the default is the present")
	f.BoolVar(&show.json, "json", false, "write one JSON object")
	return cmd
}

func policyCheck(s Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE",
		Short: "Say what is wrong in a file that holds a policy, with the lines",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			p, doubt, err := config.LoadPolicy(args[0])
			if err != nil {
				return explainedIn(err, "the policy")
			}
			if doubt != "" {
				fmt.Fprintf(s.Out, "%s: warning: %s\n", args[0], doubt)
			}
			_, err = fmt.Fprintf(s.Out, "%s is right: %s\n", args[0], comesTo(p, p.Outlook(outlookBound)))
			return failed(err)
		},
	}
}

// showing is what `policy show` was asked for.
type showing struct {
	from settings
	most int
	at   string
	json bool
}

func (c *showing) run(s Streams, name string) error {
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
	o := p.Outlook(outlookBound)
	if c.json {
		return failed(writeJSON(s.Out, describePolicy(name, o, now)))
	}
	out := newScreen(s, false)
	c.print(out, name, p, o, now)
	return failed(out.broken())
}

// find gives the policy of a name: one of the configuration's, of a program
// that the lab knows, or of a file.
func (c *showing) find(name string) (policy.Policy, error) {
	conf, err := c.from.read()
	if err != nil {
		return policy.Policy{}, explained(err)
	}
	if slices.Contains(conf.Policies(), name) {
		return conf.Named(name)
	}
	if known, err := lab.Choose([]string{name}); err == nil {
		return known[0].Policy, nil
	}
	p, _, err := config.LoadPolicy(name)
	if errors.Is(err, os.ErrNotExist) {
		return p, fmt.Errorf("no policy is named %q; there are %s, the programs that `ridethrough lab --policies` lists, or the fields of one in a file",
			name, list(conf.Policies()))
	}
	return p, explainedIn(err, "the policy")
}

// print writes for people.
func (c *showing) print(out *screen, name string, p policy.Policy, o policy.Outlook, now time.Time) {
	out.tell("", name+": "+comesTo(p, o))
	shown := o.Retries[:min(len(o.Retries), c.most)]
	if len(shown) > 0 {
		out.print("", "")
		c.table(out, shown, p.Backoff.Jitter != policy.Jitter{}, now)
	}
	if more := len(o.Retries) - len(shown); more > 0 && o.Stop != "" {
		out.print(faint, "… and %d more", more)
	} else if more > 0 {
		out.print(faint, "… and so on")
	}
	out.print("", "")
	out.tell("", whyItEnds(p, o))
}

const (
	barMost     = 32 // how wide a bar may become
	chanceWidth = 19 // of the column of what chance makes of a wait
)

// table writes the retries, with a bar for each wait where there is room.
func (c *showing) table(out *screen, shown []policy.Retry, moved bool, now time.Time) {
	longest := time.Duration(1)
	for _, r := range shown {
		longest = max(longest, r.Wait)
	}
	head := fmt.Sprintf("%5s  %9s  %10s  %-8s", "retry", "wait", "in all", "clock")
	if moved = moved && out.columns() > len(head)+chanceWidth+2; moved {
		head += fmt.Sprintf("  %-*s", chanceWidth, "with chance")
	}
	out.print(faint, "%s", strings.TrimRight(head, " "))
	room := min(out.columns()-len(head)-3, barMost)
	for _, r := range shown {
		line := fmt.Sprintf("%5d  %9s  %10s  %-8s", r.N, plainly(r.Wait), plainly(r.At), now.Add(r.At).Format("15:04:05"))
		if moved {
			line += fmt.Sprintf("  %-*s", chanceWidth, span(r))
		}
		if room > 3 {
			line += "  " + strings.Repeat(bar(out.ascii), max(1, int(int64(room)*int64(r.Wait)/int64(longest))))
		}
		out.print("", "%s", strings.TrimRight(line, " "))
	}
}

// span says between which waits chance may put one.
func span(r policy.Retry) string {
	if r.Least == r.Most {
		return ""
	}
	return plainly(r.Least) + " to " + plainly(r.Most)
}

func bar(ascii bool) string {
	if ascii {
		return "#"
	}
	return "█"
}

// comesTo says in a line what a policy does in an outage without end.
func comesTo(p policy.Policy, o policy.Outlook) string {
	switch {
	case p.Retries == 0, len(o.Retries) == 0 && o.Stop == policy.OverBudget:
		return "never tries again"
	case o.Stop == "":
		return "tries again without end"
	}
	return fmt.Sprintf("%s in %s of waiting", retried(len(o.Retries)), plainly(o.Total))
}

// budget gives the smaller of a policy's two budgets, of those that it has.
func budget(p policy.Policy) time.Duration {
	if p.Deadline == 0 || p.MaxWait > 0 && p.MaxWait < p.Deadline {
		return p.MaxWait
	}
	return p.Deadline
}

func retried(n int) string {
	if n == 1 {
		return "1 retry"
	}
	return fmt.Sprintf("%d retries", n)
}

// whyItEnds says where a policy ends and why.
func whyItEnds(p policy.Policy, o policy.Outlook) string {
	n := len(o.Retries)
	switch first := p.Backoff.At(1, 0.5); {
	case p.Retries == 0:
		return "It tries once, and the first failure is the end."
	case o.Stop == "":
		return "It has no end."
	case n == 0 && o.Stop == policy.OverBudget && p.Deadline > 0 && p.MinRemaining >= p.Deadline:
		return fmt.Sprintf("The first failure is the end: another try wants more than %s to be left of the %s that it may take in all.", plainly(p.MinRemaining), plainly(p.Deadline))
	case n == 0 && o.Stop == policy.OverBudget:
		return fmt.Sprintf("The first failure is the end: its first wait of %s does not fit the %s that it may take in all.", plainly(first), plainly(budget(p)))
	case o.Stop == policy.Exhausted:
		return fmt.Sprintf("It ends when retry %d has failed, %s after the first try: that is how many it has.", n, plainly(o.Total))
	case o.Stop == policy.OverBudget && p.Deadline > 0 && (p.MaxWait == 0 || p.Deadline < p.MaxWait):
		return fmt.Sprintf("It ends when retry %d has failed, %s after the first try: another does not fit the %s that it may take in all.", n, plainly(o.Total), plainly(p.Deadline))
	case o.Stop == policy.OverBudget:
		return fmt.Sprintf("It ends when retry %d has failed, %s after the first try: another wait of %s does not fit the %s that it may wait in all.",
			n, plainly(o.Total), plainly(p.Backoff.At(n+1, 0.5)), plainly(p.MaxWait))
	}
	return fmt.Sprintf("It ends at once (%s): what it tries again passes only at a stated moment.", o.Stop)
}

// plainly writes a time without the zeros at its end: 8h, 1m30s.
func plainly(d time.Duration) string {
	if d > time.Second {
		d = d.Round(10 * time.Millisecond)
	}
	return config.ShowDuration(d)
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

func describePolicy(name string, o policy.Outlook, now time.Time) describedPolicy {
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

// explainedIn is explained for another file than the configuration. An error
// that is about no lines is the file's.
func explainedIn(err error, what string) error {
	if err == nil {
		return nil
	}
	all, ok := errors.AsType[config.Errors](err)
	if !ok {
		return failure{err, exitConfig}
	}
	mistakes := "a mistake"
	if len(all) > 1 {
		mistakes = fmt.Sprintf("%d mistakes", len(all))
	}
	return failure{fmt.Errorf("%s in %s\n%s", mistakes, what, config.Excerpts(all)), exitConfig}
}
