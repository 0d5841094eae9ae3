package agentcmd

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/app"
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/configflags"
	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/internal/terminal/display"
	"github.com/ridethrough/ridethrough/internal/terminal/printable"
	"github.com/ridethrough/ridethrough/internal/text"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// maxWait is the default of --max-wait, so that scripts do not hang.
const maxWait = 10 * time.Minute

func (c *runCmd) newAgent() (w agent.Agent, err error) {
	agents, err := c.agents()
	if err != nil {
		return w, err
	}
	if c.maxTokens < 0 || c.patience < 0 {
		return w, errors.New("--max-tokens and --patience must not be negative")
	}
	s := conversation.Settings{Model: c.model, Fallback: c.fallback, Patience: wire.Millis(c.patience)}
	const variable = "RIDETHROUGH_MODEL"
	if s.Model = cmp.Or(c.model, c.Streams.Env(variable)); s.Model == "" {
		return w, command.WithCode(noModel(app.Suggestions(c.Streams.Env)), command.ExitConfig)
	}
	if s.System, err = readSystem(c.system); err != nil {
		return w, err
	}
	switch s.Effort = c.effort; llm.Effort(s.Effort) {
	case "", llm.Low, llm.Medium, llm.High:
	default:
		return w, fmt.Errorf("--effort %q: want low, medium or high", c.effort)
	}
	w, err = agents.Agent(context.Background(), s)
	_, coded := errors.AsType[command.Error](modelError(err))
	switch {
	case err != nil && !coded && c.model == "" && len(c.fallback) == 0:
		return w, command.Misconfigured(variable, err)
	case err != nil:
		return w, modelError(err)
	}
	w.MaxTokens, w.NoStream = c.maxTokens, c.whole
	return w, nil
}

func (c *runCmd) agents() (app.Agents, error) {
	conf, err := c.ForUser("interactive", "run")
	if err != nil {
		return app.Agents{}, err
	}
	c.config = conf
	if c.maxWait, err = c.maxTotalWait(); err != nil {
		return app.Agents{}, err
	}
	models := app.NewModels(c.Streams.Env, func() *config.Config { return &c.config }, c.Faults(&c.config))
	return app.Agents{Models: models, Bound: func(p policy.Policy) policy.Policy {
		limited := p.Capped(c.maxWait)
		if limited.MaxWait != p.MaxWait {
			c.unlimited = p
			chosen := c.Command.Flags().Changed("max-wait") || c.Streams.Env("RIDETHROUGH_MAX_WAIT") != ""
			c.cut = !chosen && (p.Retries == policy.Unlimited || limited.Retries < p.Retries)
		}
		return limited
	}}, nil
}

// modelError adds the exit code to an error about credentials or the environment. An error in the model's name
// remains a usage error.
func modelError(err error) error {
	switch {
	case errors.Is(err, app.ErrCredentials):
		return command.WithCode(err, command.ExitNoAuth)
	case errors.Is(err, app.ErrConfig):
		return command.WithCode(configflags.Explain(err), command.ExitConfig)
	case errors.Is(err, app.ErrEnvironment):
		return command.WithCode(err, command.ExitConfig)
	}
	return err
}

func noModel(ready []string) error {
	const how = "no model; choose one with -m PROVIDER/MODEL or RIDETHROUGH_MODEL"
	if len(ready) == 0 {
		return fmt.Errorf("%s, where PROVIDER is one of %s", how, text.And(app.Providers()))
	}
	return fmt.Errorf("%s: %s", how, strings.Join(ready, ", "))
}

// waitLimit says which limit on waiting has ended the turn: --max-wait, or the longest wait that a provider may ask
// for; "": neither.
func (c *runCmd) waitLimit(e turn.Error) string {
	if e.Fault == nil {
		return ""
	}
	now := time.Now()
	run := policy.Run{Tries: e.Retries, Slept: e.Waited, Started: now.Add(-e.Waited)}
	if _, v := c.unlimited.Next(run, e.Fault, e.Committed(), now, 0); v.Stop == "" {
		return "the next retry would exceed --max-wait " + configflags.Duration(c.maxWait)
	}
	if c.serverURL() == "" && c.maxWait > 0 && c.maxWait < e.Waited+e.RetryAfter {
		return display.LongerWait(e, " with --max-wait 0")
	}
	return display.LongerWait(e, "")
}

// maxTotalWait returns the longest total wait; 0: the policy's limit applies.
func (c *runCmd) maxTotalWait() (time.Duration, error) {
	const variable = "RIDETHROUGH_MAX_WAIT"
	wait, text := c.maxWait, c.Streams.Env(variable)
	if text != "" && !c.Command.Flags().Changed("max-wait") {
		var err error
		if wait, err = time.ParseDuration(text); err != nil || wait < 0 {
			return 0, command.Misconfigured(variable, fmt.Errorf("%q; want a time such as 10m", text))
		}
	}
	if wait < 0 {
		return 0, errors.New("--max-wait must not be negative")
	}
	return wait, nil
}

func readSystem(system string) (string, error) {
	name, isFile := strings.CutPrefix(system, "@")
	if !isFile {
		return system, nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return "", command.Failed(err)
	}
	return strings.ToValidUTF8(string(text), "\uFFFD"), nil
}

func badLevel(not string) error {
	return fmt.Errorf("--log %q: want a level: debug, info, warn or error", not)
}

// promptLine bounds how much of a tool call is shown for approval: about one screen of characters.
const promptLine = 2000

func (c *runCmd) approve(ctx context.Context, call turn.ApprovalRequested) (turn.Decision, error) {
	denied := errors.New("no terminal to ask for approval (--yes allows it)")
	if c.json {
		return "", denied
	}
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return "", denied
	}
	defer tty.Close()
	fmt.Fprintf(tty, "\r\x1b[2KAllow %s to run with %s? [y/N] ", printable.Line(call.Name), printable.Truncate(display.Arguments(call.ToolCall), promptLine))
	answer := make(chan string, 1)
	go func() { // it may outlive the call, until the process ends
		line, _ := bufio.NewReader(tty).ReadString('\n')
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case a := <-answer:
		if a == "y" || a == "yes" {
			return turn.AllowOnce, nil
		}
		return turn.Deny, nil
	}
}

// exitOf returns the exit code of a failed turn. A turn with a partial answer is not worth repeating, so it has
// failed.
func exitOf(e turn.Error) int {
	switch {
	case e.Kind == fault.Auth.String():
		return command.ExitNoAuth
	case e.Committed() || e.Fault == nil:
		return command.ExitFailed
	case e.Fault.Kind == fault.Quota || fault.Transient.Has(e.Fault.Kind):
		return command.ExitExhausted
	}
	return command.ExitFailed
}
