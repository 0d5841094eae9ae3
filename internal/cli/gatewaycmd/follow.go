package gatewaycmd

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/cli/configflags"
	"github.com/ridethrough/ridethrough/internal/cli/outlook"
	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/internal/server"
)

// following keeps a gateway to a configuration that changes.
type following struct {
	inForce configflags.Resolved
	addr    string // where it is reached
	file    string // that is followed
	gateway *gateway.Gateway
	log     *slog.Logger
	level   *slog.LevelVar
	shown   atomic.Pointer[config.Config] // that is in force
}

// follow keeps a gateway to the file until stop is called or ctx ends: whenever
// it changes, and on SIGHUP.
func (c *serveCmd) follow(ctx context.Context, g *following) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	path, _ := c.File()
	g.file = path
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		config.Watch(ctx, path, hangup, func() { g.use(c.Resolve()) })
	}()
	return func() {
		signal.Stop(hangup)
		cancel()
		<-ended
	}
}

// policies gives the policies that are in force, for people.
func (g *following) policies() []server.Policy {
	var all []server.Policy
	for _, u := range g.shown.Load().Uses() {
		o := u.Policy.Forecast(outlook.MaxRetries)
		first := outlook.Summary(u.Policy, o)
		all = append(all, server.Policy{
			Name: u.Name, Preset: u.Preset, UsedBy: u.By, Policy: u.Policy,
			Sentence: strings.ToUpper(first[:1]) + first[1:] + ". " + outlook.End(u.Policy, o),
		})
	}
	return all
}

// use takes a new configuration. One that has a mistake changes nothing.
func (g *following) use(t configflags.Resolved, err error) {
	t.Gateway.OnEvent = g.inForce.Gateway.OnEvent
	if was := g.inForce.Config.File; err == nil && was != "" && t.Config.File == "" {
		err = fmt.Errorf("%s is gone", was)
	}
	if err == nil {
		err = noLoop(g.addr, t.Gateway)
	}
	if err == nil {
		err = g.gateway.Use(t.Gateway)
	}
	if err != nil {
		g.log.Error("configuration not changed, the old one stays in force", "error", err.Error(), "do", "run ridethrough config check "+g.file)
		return
	}
	doubts(g.log, &t.Config)
	g.level.Set(t.Level)
	changes, late := split(t.Config.Changes(&g.inForce.Config))
	g.inForce = t
	g.shown.Store(&t.Config)
	switch {
	case len(changes)+len(late) == 0:
		g.log.Info("configuration read again, nothing has changed")
	case len(late) == 0:
		g.log.Info("configuration changed", "changes", strings.Join(changes, ", "))
	default:
		g.log.Warn("configuration changed, in part only after a restart", "changes", strings.Join(changes, ", "), "restart", strings.Join(late, ", "))
	}
}

// doubts says what is probably not meant in a configuration.
func doubts(log *slog.Logger, c *config.Config) {
	for _, doubt := range c.Warnings() {
		log.Warn("configuration", "doubt", doubt.Error())
	}
}

// split tells the changes that are in force from those that need a restart.
func split(all []config.Change) (now, late []string) {
	for _, c := range all {
		field, _, _ := strings.Cut(c.Field, ".")
		if slices.Contains([]string{"listen", "token", "hosts", "spool"}, field) {
			late = append(late, c.String())
		} else {
			now = append(now, c.String())
		}
	}
	return now, late
}
