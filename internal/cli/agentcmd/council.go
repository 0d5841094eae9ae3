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

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/council"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/app"
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/configflags"
	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/turn"
)

// Council returns the command `council`.
func Council(s command.Streams) *cobra.Command {
	c := &councilCmd{Flags: configflags.Flags{Streams: s}, id: conversation.NewID()}
	cmd := &cobra.Command{
		Use:   "council QUESTION",
		Short: "Ask several models the same question and merge their answers into one",
		Long: "council asks its members in parallel. Each member has a time budget for all its tries, with one retry if\n" +
			"its provider fails temporarily. When enough members have answered, the others get a grace period. Then the\n" +
			"judge merges the answers into one. That answer goes to standard output, the state of the members to standard\n" +
			"error. Without a question argument, council reads standard input; an argument - includes it.\n\n" +
			"Models, keys and base URLs are found in the same places as for `ridethrough run`.\n\n" +
			"The exit code is 0 for an answer, 1 for none, 2 for wrong usage, 75 if providers stayed down, 77 for\n" +
			"missing or rejected credentials, 78 for mistakes in the configuration, 130 after Ctrl+C and 143 after\n" +
			"SIGTERM. Without a merged answer, the members' answers are printed to standard error.",
		Example: "  ridethrough council \"Is P equal to NP?\" -m anthropic/claude-opus-4-5 -m openai/gpt-5 -m gemini/gemini-3-pro\n" +
			"  git diff | ridethrough council \"Review this.\" - -m claude-opus-4-5 -m gpt-5 --judge o3 --members-answers",
		RunE: func(cmd *cobra.Command, args []string) error { return c.finish(c.run(cmd.Context(), args)) },
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

type councilCmd struct {
	configflags.Flags
	council council.Council // its terms
	id      string          // of its events and in its log

	models        []string
	judge, system string
	answers       bool
	outputFlags
	log, metrics string

	view  councilView
	ended council.Result // zero: it has not begun
}

func (c *councilCmd) flags(cmd *cobra.Command) {
	f, t, usual := cmd.Flags(), &c.council, council.Council{}.WithDefaults()
	f.StringArrayVarP(&c.models, "model", "m", nil, "a member, as PROVIDER/MODEL; at least two, and a model may be repeated")
	f.StringVar(&c.judge, "judge", "", "the model that merges the answers (default the first member's)")
	f.StringVar(&c.system, "system", "", "the system prompt of the members and the judge, or @FILE")
	f.DurationVar(&t.Budget, "budget", usual.Budget, "the time limit of each member, for all its tries")
	f.DurationVar(&t.Reserve, "reserve", usual.Reserve, "the part of the budget that must be left for a retry")
	f.IntVar(&t.Quorum, "quorum", usual.Quorum, "the number of answers that suffice")
	f.DurationVar(&t.Grace, "grace", usual.Grace, "the time that the other members get once the quorum has answered")
	f.DurationVar(&t.Cap, "cap", usual.Cap, "the time limit of the whole council, including the judge")
	f.DurationVar(&t.AggregatorBudget, "judge-budget", usual.AggregatorBudget, "the time limit of the judge, for all its tries")
	f.BoolVar(&t.ShowTries, "attempts-in-prompt", false, "tell the judge how many tries each member needed")
	f.BoolVar(&c.answers, "members-answers", false, "print each member's answer to standard error")
	c.outputFlags.flags(cmd)
	c.AddFile(cmd)
	f.StringVar(&c.log, "log", "", "log to standard error from this level up: debug, info, warn or error (default no log)")
	metricsFlag(cmd, &c.metrics)
}

func (c *councilCmd) run(ctx context.Context, args []string) error {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // a closed pipe is handled as a write error
	ctx, unread := context.WithCancelCause(ctx)
	defer unread(nil)
	c.view = c.newView(func() { unread(errNotWritten) })
	if err := c.openModels(); err != nil {
		return err
	}
	log, err := errorLog(c.Streams, c.log)
	if err != nil {
		return err
	}
	question, err := readPrompt(ctx, c.Streams, args, false)
	if err != nil {
		return err
	}
	watcher, flush, err := observe(ctx, c.Streams, CouncilFace, log, c.metrics)
	if err != nil {
		return err
	}
	defer flush()
	tell, shown := queueEvents(c.view.show)
	report, end := watcher.Members(c.id, traceparent(c.Streams))
	c.council.OnEvent, c.council.OnReport, c.council.Log = tell, report, log
	c.ended, err = c.council.Run(ctx, question)
	end(c.ended.Status)
	shown()
	if broken := c.view.broken(); broken != nil {
		return writeError(broken)
	}
	return c.verdict(ctx, err)
}

func (c *councilCmd) openModels() error {
	for _, name := range []string{"budget", "reserve", "grace", "cap", "judge-budget"} {
		if d, _ := c.Command.Flags().GetDuration(name); d <= 0 {
			return fmt.Errorf("--%s %v: want a time above 0", name, d)
		}
	}
	if len(c.models) < 2 {
		return fewMembers(app.Suggestions(c.Streams.Env))
	}
	system, err := readSystem(c.system)
	if err != nil {
		return err
	}
	conf, err := c.ForUser("interactive", "council")
	if err != nil {
		return err
	}
	models := app.NewModels(c.Streams.Env, func() *config.Config { return &conf }, c.Faults(&conf))
	seated, err := app.Agents{Models: models}.Councils()(c.models, c.judge)
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

func fewMembers(ready []string) error {
	const how = "a council needs at least two members; name each with -m PROVIDER/MODEL"
	if len(ready) == 0 {
		return errors.New(how)
	}
	return fmt.Errorf("%s: %s", how, strings.Join(ready, ", "))
}

func (c *councilCmd) verdict(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case c.ended.Status == turn.Aborted:
		return command.Failed(context.Cause(ctx))
	}
	code := c.shortfall()
	if v := c.ended.Aggregator; v.State != "" {
		failed := turn.Error{Kind: v.Fault.Kind.String(), Fault: v.Fault}
		if v.Text != "" {
			failed.Stop = policy.Committed
		}
		code = exitOf(failed)
	}
	return command.WithCode(command.Reported{Message: err.Error()}, code)
}

// shortfall returns the exit code of a council with too few answers. It depends on
// whether the same command may succeed later.
func (c *councilCmd) shortfall() int {
	later, code := 0, command.ExitFailed
	for _, v := range c.ended.Members {
		switch {
		case v.State != council.Failed:
			later++
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

func (c *councilCmd) finish(err error) error {
	if c.view == nil {
		c.view = c.newView(func() {})
	}
	code, message := command.Outcome(err)
	status := turn.Failed
	if c.ended.Members != nil {
		status = c.ended.Status
	}
	c.view.end(status, code, message, "")
	return err
}
