package agentcmd

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/server/api"
	"github.com/ridethrough/ridethrough/internal/server/client"
	"github.com/ridethrough/ridethrough/internal/terminal/chat"
	"github.com/ridethrough/ridethrough/internal/terminal/display"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// stopTime is how long a server may take to end a turn that the user has stopped.
const stopTime = 5 * time.Second

func (c *runCmd) serverURL() string { return cmp.Or(c.server, c.Streams.Env("RIDETHROUGH_SERVER")) }

func (c *runCmd) checkServerFlags() error {
	if c.tools.local() || c.save+c.metrics != "" {
		return errors.New("--files, --mcp, --yes, --save and --metrics cannot be combined with --server")
	}
	if c.whole || c.maxTokens != 0 || c.effort != "" || c.Command.Flags().Changed("max-wait") {
		return errors.New("--whole, --max-tokens, --effort and --max-wait cannot be combined with --server")
	}
	return nil
}

// runAtServer has a server answer the prompt. The turn continues there whatever happens to this process.
func (c *runCmd) runAtServer(ctx context.Context, args []string) error {
	if err := c.checkServerFlags(); err != nil {
		return err
	}
	text, images, err := c.prompt(ctx, args)
	if err != nil {
		return err
	}
	server := client.Client{Base: c.serverURL(), Token: c.Streams.Env("RIDETHROUGH_TOKEN")}
	id, err := c.conversation(ctx, server)
	if err != nil {
		return serverError(err)
	}
	if events, ok := c.view.(*jsonView); ok {
		events.conversation, events.server = id, c.serverURL()
	}
	err = c.watch(ctx, server, id, text, images)
	if c.ended.Status != turn.Done {
		c.continued = id
	}
	return err
}

func (c *runCmd) conversation(ctx context.Context, server client.Client) (string, error) {
	switch c.continued {
	case "":
	case latest:
		for e, err := range (chat.Server{Client: server}).List(ctx) {
			return e.ID, err
		}
		return "", command.Failed(errors.New("no conversation to continue at this server"))
	default:
		return c.continued, nil
	}
	model := cmp.Or(c.model, c.Streams.Env("RIDETHROUGH_MODEL"))
	if model == "" {
		return "", command.WithCode(noModel(nil), command.ExitConfig)
	}
	system, err := readSystem(c.system)
	if err != nil {
		return "", err
	}
	name := c.Streams.Env("RIDETHROUGH_POLICY")
	if flag := c.Command.Flags().Lookup("policy"); flag.Changed || name == "" {
		name = flag.Value.String()
	}
	return server.Create(ctx, conversation.Settings{
		Model: model, Fallback: c.fallback, Patience: wire.Millis(c.patience), System: system, Policy: name,
		Agent: c.tools.agent, Dir: c.tools.dir,
	})
}

func serverError(err error) error {
	if _, ok := errors.AsType[command.Error](err); ok {
		return err
	}
	code := command.ExitFailed
	if p, ok := errors.AsType[*api.Problem](err); ok && p.Code == "unauthorized" {
		code = command.ExitNoAuth
	}
	return command.WithCode(err, code)
}

func (c *runCmd) showPause(b wire.Body) {
	_, paused := b.(wire.ConversationPaused)
	switch v := c.view.(type) {
	case *jsonView:
		v.write(b)
	case *textView:
		v.stopCountdown()
		if !paused {
			v.note(command.Amber, "%s", display.Unpaused)
			return
		}
		v.note(command.Amber, "▲ The conversation is paused; resume it on the page, or with /unpause in: ridethrough chat --server %s --continue=%s",
			quoted(c.serverURL()), quoted(c.at))
	}
}

// watch shows a turn until it is sealed: that of a new text, or without text the turn in progress. When ctx ends,
// it stops the turn at the server.
func (c *runCmd) watch(ctx context.Context, server client.Client, id, text string, images []llm.Image) error {
	watching, leave := context.WithCancel(context.WithoutCancel(ctx))
	defer leave()
	c.at = id
	stopped := context.AfterFunc(ctx, func() {
		limit := time.AfterFunc(stopTime, leave)
		defer limit.Stop()
		if err := server.Stop(watching, id, ""); err != nil {
			leave()
		}
	})
	defer stopped()
	events := server.Say(watching, id, conversation.NewID(), text, images...)
	if text == "" {
		v, err := server.Get(watching, id)
		if err != nil {
			return serverError(err)
		}
		if v.Turn == "" {
			return errors.New("no turn is in progress in this conversation; give a prompt")
		}
		events = server.Watch(watching, id, v.Turn)
	}
	for e, err := range events {
		if err != nil {
			return serverError(err)
		}
		switch b := e.Body.(type) {
		case wire.Turn:
			c.show(b.Event)
		case wire.ConversationPaused, wire.ConversationResumed:
			c.showPause(b)
		}
	}
	return c.verdict(ctx)
}
