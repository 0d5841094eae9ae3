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
	"github.com/ridethrough/ridethrough/internal/operation/alerts"
	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/internal/operation/history"
	"github.com/ridethrough/ridethrough/internal/operation/notify"
	"github.com/ridethrough/ridethrough/internal/server"
)

// notices are the notices of `serve`.
type notices struct {
	notifier *notify.Notifier
	follower *alerts.Follower
	end      func()
}

// board shows the upstreams of a gateway.
type board interface{ Upstreams() []gateway.Health }

// notices follows the incidents and the limits of what is served, and shows there what belongs to them.
func (c *serveCmd) notices(ctx context.Context, s notify.Settings, g board, served *server.Config) *notices {
	n := &notices{notifier: notify.New(served.Log, nil)}
	n.follower = alerts.New(alerts.Config{
		Incidents: served.History.Incidents, Upstreams: func() []alerts.Upstream { return upstreamsOf(g, served) },
		Send: n.notifier.Send, Host: hostname(), Log: served.Log,
	})
	n.use(s)
	served.Vendor = n.follower.Vendor
	warnings := served.Warnings
	served.Warnings = func() []string { return slices.Concat(warnings(), n.notifier.Warnings()) }
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		n.follower.Run(ctx)
	}()
	n.end = func() {
		cancel()
		<-ended
	}
	return n
}

// upstreamsOf returns the upstreams of what is served, the gateway's and those of conversations.
func upstreamsOf(g board, served *server.Config) (all []alerts.Upstream) {
	for _, u := range g.Upstreams() {
		all = append(all, alerts.Upstream{Name: u.Name, Outages: u.Breaker.Outages})
	}
	if served.Conversations == nil {
		return all
	}
	for u := range served.Conversations.Upstreams() {
		all = append(all, alerts.Upstream{Name: history.ConversationUpstream(u.Name), Outages: u.Outages})
	}
	return all
}

// use applies settings.
func (n *notices) use(s notify.Settings) {
	n.notifier.Use(s.Targets)
	n.follower.Use(s)
}

// closeTime is how long the program's end may wait for notices.
const closeTime = 2 * time.Second

// stop delivers what is queued, if that is soon done.
func (n *notices) stop() {
	n.end()
	n.notifier.Close(closeTime)
}

// hostname returns the name of this machine, if it has one.
func hostname() string {
	name, _ := os.Hostname()
	return name
}

// Notify returns the command `notify`.
func Notify(s command.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "notify",
		Short: "Test the notices about outages and limits",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(notifyTest(s))
	return cmd
}

// notifyTest returns the command `notify test`.
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

// noticeTargets returns the targets of a configuration with these names; none: all.
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

// testNotices sends a test notice to each target.
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
