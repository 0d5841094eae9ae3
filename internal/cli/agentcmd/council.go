package agentcmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/council"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/app"
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/configflags"
	"github.com/ridethrough/ridethrough/turn"
)

func Council(s command.Streams) *cobra.Command {
	c := &councilCmd{streams: s}
	cmd := &cobra.Command{
		Use:   "council QUESTION",
		Short: "Ask several models the same, and have one of them make one answer of theirs",
		Long: "council asks the models side by side. Each has one budget of time over all its tries, and one retry in\n" +
			"it where its provider fails in passing. When enough have answered, the rest get a grace; then the judge\n" +
			"makes one answer of theirs. That goes to standard output; where each member stands goes to standard\n" +
			"error. Without a question it is read from standard input, and an argument - stands for what comes there.\n\n" +
			"Keys and addresses are in the same variables as for `ridethrough run`.\n\n" +
			"The exit code is 0 where there is an answer, 1 where there is none, 2 for wrong usage, 75 where providers\n" +
			"stayed down, 77 for credentials, 78 for the configuration, 130 after Ctrl+C and 143 after SIGTERM. What\n" +
			"the members have answered is handed over in any case, on standard error.",
		Example: "  ridethrough council \"Is P equal to NP?\" -m anthropic/claude-opus-4-5 -m openai/gpt-5 -m gemini/gemini-3-pro\n" +
			"  git diff | ridethrough council \"Review this.\" - -m claude-opus-4-5 -m gpt-5 --judge o3 --members-answers",
		RunE: func(cmd *cobra.Command, args []string) error {
			c.settings = configflags.Flags{Command: cmd, Streams: s}
			return c.finish(c.run(cmd.Context(), args))
		},
	}
	c.flags(cmd)
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		if c.json {
			err = c.finish(err)
		}
		return err
	})
	return cmd
}

// councilCmd is what `council` was asked for.
type councilCmd struct {
	streams  command.Streams
	settings configflags.Flags
	council  council.Council // its terms

	models        []string
	judge, system string
	answers       bool
	json, plain   bool

	view   councilView
	closed council.Ended // how it has ended; zero: it has not begun
}

// AddAll adds the command's flags.
func (c *councilCmd) flags(cmd *cobra.Command) {
	f, t, usual := cmd.Flags(), &c.council, council.Council{}.WithDefaults()
	f.StringArrayVarP(&c.models, "model", "m", nil, "a member, as PROVIDER/MODEL; twice at least, and the same one may have several voices")
	f.StringVar(&c.judge, "judge", "", "the model that makes one answer of theirs; the default is that of the first member")
	f.StringVar(&c.system, "system", "", "system prompt of the members and the judge, or @FILE")
	f.DurationVar(&t.Budget, "budget", usual.Budget, "the time of each member over all its tries")
	f.DurationVar(&t.Reserve, "reserve", usual.Reserve, "how much of it must be left for another try when one has failed")
	f.IntVar(&t.Quorum, "quorum", usual.Quorum, "how many answers are enough")
	f.DurationVar(&t.Grace, "grace", usual.Grace, "how long the rest may go on once there are so many")
	f.DurationVar(&t.Cap, "cap", usual.Cap, "the time of the whole, in which the judge's is kept free")
	f.DurationVar(&t.AggregatorBudget, "judge-budget", usual.AggregatorBudget, "the time of the judge over all its tries")
	f.BoolVar(&t.ShowTries, "attempts-in-prompt", false, "let the judge read in how many tries each member has answered")
	f.BoolVar(&c.answers, "members-answers", false, "show on standard error what each member has answered")
	f.BoolVar(&c.json, "json", false, "write events to standard output, a line of JSON each; the last one is the end")
	f.BoolVar(&c.plain, "plain", false, "append lines only, replace none")
}

// run convenes the council.
func (c *councilCmd) run(ctx context.Context, args []string) error {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // that a reader has left is noticed where it is written to
	ctx, unread := context.WithCancelCause(ctx)
	defer unread(nil)
	c.view = c.newView(func() { unread(errNotWritten) })
	if err := c.openModels(); err != nil {
		return err
	}
	question, err := (&runCmd{streams: c.streams}).prompt(ctx, args, false)
	if err != nil {
		return err
	}
	tell, shown := queueEvents(c.view.show)
	c.council.OnEvent = func(e council.Event) {
		if end, ok := e.(council.Ended); ok {
			c.closed = end
		}
		tell(e)
	}
	_, err = c.council.Run(ctx, question)
	shown()
	if broken := c.view.broken(); broken != nil {
		return writeError(broken)
	}
	return c.verdict(ctx, err)
}

// openModels finds the members and the judge.
func (c *councilCmd) openModels() error {
	for _, name := range []string{"budget", "reserve", "grace", "cap", "judge-budget"} {
		if d, _ := c.settings.Command.Flags().GetDuration(name); d <= 0 {
			return fmt.Errorf("--%s %v: want a time above 0", name, d)
		}
	}
	if len(c.models) < 2 {
		return fewMembers(app.Suggestions(c.streams.Env))
	}
	system, err := readSystem(c.system)
	if err != nil {
		return err
	}
	seated, err := app.Worlds{Env: c.streams.Env}.Councils()(c.models, c.judge)
	if err != nil {
		return modelError(err)
	}
	for i := range seated.Members {
		seated.Members[i].System = system
	}
	seated.Aggregator.System = system
	c.council.Members, c.council.Aggregator, c.council.Breakers = seated.Members, seated.Aggregator, seated.Breakers
	return c.council.Check()
}

// fewMembers says how to name members.
func fewMembers(ready []string) error {
	const how = "a council has at least two members; give each as -m PROVIDER/MODEL"
	if len(ready) == 0 {
		return errors.New(how)
	}
	return fmt.Errorf("%s: %s", how, strings.Join(ready, ", "))
}

// verdict gives the error that the council's end comes to.
func (c *councilCmd) verdict(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case c.closed.Status() == turn.Aborted:
		return command.Failed(context.Cause(ctx))
	}
	code := c.shortfall()
	if v := c.closed.Aggregator; v.State != "" {
		code = exitOf(turn.Error{Kind: v.Fault.Kind.String(), Fault: v.Fault, Committed: v.Text != ""})
	}
	return command.WithCode(command.Reported{Message: err.Error()}, code)
}

// shortfall gives the exit code of a council in which too few have answered:
// whether the same command may pass later.
func (c *councilCmd) shortfall() int {
	later, code := c.closed.Count(council.Answered)+c.closed.Count(council.CutOff), command.ExitFailed
	for _, v := range c.closed.Members {
		switch {
		case v.State != council.Failed:
		case v.Fault.Kind == fault.Auth:
			code = command.ExitNoAuth
		case v.Fault.Kind == fault.Quota || fault.Transient.Has(v.Fault.Kind):
			later++
		}
	}
	if later >= c.council.Quorum {
		return command.ExitExhausted
	}
	return code
}

// finish tells the view how the command ends.
func (c *councilCmd) finish(err error) error {
	if c.view == nil {
		c.view = c.newView(func() {})
	}
	code, message := command.Outcome(err)
	status := turn.Failed
	if c.closed.Members != nil {
		status = c.closed.Status()
	}
	c.view.end(status, code, message)
	return err
}
