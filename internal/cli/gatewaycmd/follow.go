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
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/configflags"
	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/internal/server"
	"github.com/ridethrough/ridethrough/internal/server/rest"
)

type reloader struct {
	inForce configflags.Resolved
	addr    string // where the gateway listens
	file    string // the configuration file
	gateway *gateway.Gateway
	log     *slog.Logger
	audit   *rest.AuditLog
	level   *slog.LevelVar
	shown   *atomic.Pointer[config.Config] // the configuration in force

	notices    *notices
	faults     *config.FaultsFile
	faultsFile func(*config.Config) (path string, named bool) // of a configuration
}

// follow applies the configuration whenever its file changes and on SIGHUP, until stop is called or ctx ends.
func (c *serveCmd) follow(ctx context.Context, g *reloader) (stop func()) {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	path, _ := c.File()
	g.file = path
	return command.Background(ctx, func(ctx context.Context) {
		defer signal.Stop(hangup)
		config.Watch(ctx, path, hangup, func() { g.use(c.Resolve()) })
	})
}

func (g *reloader) policies() []server.Policy {
	var all []server.Policy
	for _, u := range g.shown.Load().Uses() {
		o := u.Policy.Forecast(configflags.MaxRetries)
		first := configflags.PolicySummary(u.Policy, o)
		all = append(all, server.Policy{
			Name: u.Name, Preset: u.Preset, UsedBy: u.By, Policy: u.Policy,
			Sentence: strings.ToUpper(first[:1]) + first[1:] + ". " + configflags.PolicyEnd(u.Policy, o),
		})
	}
	return all
}

// use applies a new configuration. An invalid one changes nothing.
func (g *reloader) use(t configflags.Resolved, err error) {
	t.Gateway.OnEvent, t.Gateway.Learned = g.inForce.Gateway.OnEvent, g.inForce.Gateway.Learned
	t.Gateway.Share, t.Gateway.Fleet = g.inForce.Gateway.Share, g.inForce.Gateway.Fleet
	t.Gateway.Faults = g.inForce.Gateway.Faults
	if was := g.inForce.Config.File; err == nil && was != "" && t.Config.File == "" {
		err = fmt.Errorf("%s was deleted", was)
	}
	if err == nil {
		err = noLoop(g.addr, t.Gateway)
	}
	if err == nil {
		err = g.gateway.Use(t.Gateway)
	}
	if err != nil {
		g.log.Error("reload configuration failed, the previous one stays in force", "error", err.Error(), "fix", "run ridethrough config check "+g.file)
		return
	}
	logWarnings(g.log, &t.Config)
	g.faults.Follow(g.faultsFile(&t.Config))
	g.notices.use(t.Notices)
	g.level.Set(t.Level)
	changes, late := split(t.Config.Changes(&g.inForce.Config))
	if all := slices.Concat(changes, late); len(all) > 0 {
		g.audit.Act(rest.Actor{From: g.file}, "change the configuration", "changes", all)
	}
	g.inForce = t
	g.shown.Store(&t.Config)
	switch {
	case len(changes)+len(late) == 0:
		g.log.Info("configuration reloaded without changes")
	case len(late) == 0:
		g.log.Info("configuration changed", "changes", strings.Join(changes, ", "))
	default:
		g.log.Warn("configuration changed, some of it only after a restart", "changes", strings.Join(changes, ", "), "restart", strings.Join(late, ", "))
	}
}

func logWarnings(log *slog.Logger, c *config.Config) {
	for _, doubt := range c.Warnings() {
		log.Warn("configuration", "warning", doubt.Error())
	}
}

// split separates changes already in force from those that need a restart.
func split(all []config.Change) (now, late []string) {
	for _, c := range all {
		field, _, _ := strings.Cut(c.Field, ".")
		if slices.Contains([]string{"listen", "tls", "token", "tokens", "hosts", "origins", "spool", "fleet", "nats-replicas"}, field) {
			late = append(late, c.String())
		} else {
			now = append(now, c.String())
		}
	}
	return now, late
}
