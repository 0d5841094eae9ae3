package gatewaycmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/configflags"
	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/internal/operation/notify"
	"github.com/ridethrough/ridethrough/internal/server"
)

type notices struct {
	notifier *notify.Notifier
	follower *notify.Follower
	end      func()
}

type board interface{ Upstreams() []gateway.Health }

func (c *serveCmd) notices(ctx context.Context, s notify.Settings, g board, served *server.Config) *notices {
	n := &notices{notifier: notify.New(served.Log, nil)}
	n.follower = notify.NewFollower(notify.Config{
		Incidents: served.History.Incidents, Upstreams: func() []notify.Upstream { return upstreamsOf(g, served) },
		Send: n.notifier.Send, Host: hostname(), Log: served.Log,
	})
	n.use(s)
	served.Vendor = n.follower.Vendor
	warnings := served.Warnings
	served.Warnings = func() []string { return slices.Concat(warnings(), n.notifier.Warnings()) }
	n.end = command.Background(ctx, n.follower.Run)
	return n
}

func upstreamsOf(g board, served *server.Config) (all []notify.Upstream) {
	for _, u := range g.Upstreams() {
		all = append(all, notify.Upstream{Name: u.Name, Outages: u.Breaker.Outages})
	}
	if served.Conversations == nil {
		return all
	}
	for u := range served.Conversations.Upstreams() {
		if !slices.ContainsFunc(all, func(o notify.Upstream) bool { return o.Name == u.Name }) {
			all = append(all, notify.Upstream{Name: u.Name, Outages: u.Outages})
		}
	}
	return all
}

func (n *notices) use(s notify.Settings) {
	n.notifier.Use(s.Targets)
	n.follower.Use(s)
}

const closeTime = 2 * time.Second

// stop delivers the queued notices if that takes a moment only.
func (n *notices) stop() {
	n.end()
	n.notifier.Close(closeTime)
}

func hostname() string {
	name, _ := os.Hostname()
	return name
}

// Notify returns the command `notify`.
func Notify(s command.Streams) *cobra.Command {
	return group("notify", "Test the notices about outages and limits", "", notifyTest(s))
}

func notifyTest(s command.Streams) *cobra.Command {
	f := configflags.Flags{Streams: s}
	cmd := &cobra.Command{
		Use:   "test [TARGET…]",
		Short: "Send a test notice to each target",
		Long: "test sends a notice to each target of the configuration, or to those that are named, once. It prints a line\n" +
			"for each. The exit code is 1 if one could not be delivered.",
		Example: "  ridethrough notify test\n  ridethrough notify test phone",
		RunE: func(cmd *cobra.Command, names []string) error {
			c, err := f.Read()
			if err != nil {
				return configflags.Explain(err)
			}
			chosen, err := noticeTargets(&c, s.Env, names)
			if err != nil {
				return configflags.Explain(err)
			}
			return testNotices(cmd.Context(), s, chosen)
		},
	}
	f.AddFile(cmd)
	return cmd
}

func noticeTargets(c *config.Config, env func(string) string, names []string) ([]notify.Target, error) {
	settings, err := c.Notices(env)
	switch {
	case err != nil:
		return nil, command.WithCode(err, command.ExitConfig)
	case len(settings.Targets) == 0:
		return nil, command.WithCode(errors.New("the configuration has no targets for notices; set notices.to"), command.ExitConfig)
	case len(names) == 0:
		return settings.Targets, nil
	}
	var known []string
	for _, t := range settings.Targets {
		known = append(known, t.Name)
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("unknown target %q; want %s", name, strings.Join(known, ", "))
		}
	}
	return slices.DeleteFunc(settings.Targets, func(t notify.Target) bool { return !slices.Contains(names, t.Name) }), nil
}

func testNotices(ctx context.Context, s command.Streams, to []notify.Target) error {
	out, failed := command.Text(s.Out), 0
	client := notify.NewClient()
	defer client.CloseIdleConnections()
	for i := range to {
		result := "sent"
		if err := to[i].Send(ctx, client, notify.Notice{Event: notify.Test, ID: "test", At: time.Now(), Host: hostname()}); err != nil {
			failed++
			result = "failed: " + fault.Scrub(err.Error())
		}
		if _, err := fmt.Fprintf(out, "%s (%s): %s\n", to[i].Name, to[i].Kind, result); err != nil {
			return command.Failed(err)
		}
	}
	if failed > 0 {
		return command.Failed(command.Reported{Message: fmt.Sprintf("%d of %d notices failed", failed, len(to))})
	}
	return nil
}
