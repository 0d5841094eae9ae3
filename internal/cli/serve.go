package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/server"
	"github.com/ridethrough/ridethrough/internal/server/web"
)

func serveCommand(s Streams) *cobra.Command {
	c := &serving{settings: settings{s: s}, storing: storing{s: s}}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the gateway between your programs and their providers",
		Long: "serve answers the APIs of Anthropic, OpenAI, Gemini, Ollama and LM Studio and\n" +
			"hands each request on to the provider, again and again until it passes, as the policy says.\n" +
			"Clients keep their own credentials; they only get another base URL. It needs no\n" +
			"configuration; `ridethrough config init` prints one to begin with, and a running\n" +
			"gateway follows it as it changes.\n\n" +
			"Below /-/ it shows who waits, and has conversations of its own, which outlive it.",
		Example: "  ridethrough serve\n" +
			"  ANTHROPIC_BASE_URL=http://127.0.0.1:8484 claude\n" +
			"  OPENAI_BASE_URL=http://127.0.0.1:8484/v1 python script.py",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			t, err := c.terms()
			if err != nil {
				return explained(err)
			}
			return failed(c.run(cmd.Context(), t))
		},
	}
	c.flags(cmd)
	c.storing.flags(cmd)
	return cmd
}

// serving is what `serve` was asked for.
type serving struct {
	settings
	storing storing
}

// run serves until ctx ends.
func (c *serving) run(ctx context.Context, t terms) error {
	signal.Ignore(syscall.SIGPIPE) // whoever reads the log may end; those who wait stay
	l, err := listen(t.config.Listen)
	if err != nil {
		return err
	}
	var level slog.LevelVar
	level.Set(t.level)
	log := logger(c.s.Err, &level)
	doubts(log, &t.config)
	served := server.Config{Feed: server.NewFeed(), Token: t.token, Hosts: t.config.Hosts, Log: log, Version: version(), Page: web.Files()}
	end, err := c.converse(ctx, &served, &t.config)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	err = c.serve(ctx, l, t, served, &level)
	end()
	log.Info("stopped")
	return err
}

// serve serves the gateway, and what there is beside it, until ctx ends.
func (c *serving) serve(ctx context.Context, l net.Listener, t terms, served server.Config, level *slog.LevelVar) error {
	log := served.Log
	tell := c.telemetry(ctx, log)
	defer flush(ctx, tell)
	events := newInbox(func(e gateway.Event) { tell.Watch(e); served.Feed.Watch(e); served.History.Watch(e) })
	defer events.close()
	t.gateway.OnEvent = events.Watch
	g, err := start(l.Addr().String(), t)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	tell.Show(g)
	base := "http://" + l.Addr().String()
	log.Info("listening", "url", base, "policy", t.config.Policy(), "config", cmp.Or(t.config.File, "none"))
	for _, u := range t.gateway.Upstreams {
		if u.Base != nil {
			log.Info("upstream", "name", u.Name, "url", u.Base.String())
		}
	}
	following := &following{inForce: t, addr: l.Addr().String(), gateway: g, log: log, level: level}
	following.shown.Store(&t.config)
	defer c.follow(ctx, following)()
	defer time.AfterFunc(startTime, dropText).Stop()
	log.Info("page", "url", base+"/-/ui/")
	log.Info("point your clients here", "ANTHROPIC_BASE_URL", base, "OPENAI_BASE_URL", base+"/v1")
	served.Gateway, served.Metrics, served.Policies = g, tell, following.policies
	return server.New(served).Run(ctx, l)
}

// startTime is after how long everything that only the start needs has been run.
const startTime = 5 * time.Second

// start makes the gateway that is to be reached at an address.
func start(addr string, t terms) (*gateway.Gateway, error) {
	if err := noLoop(addr, t.gateway); err != nil {
		return nil, err
	}
	return gateway.New(t.gateway)
}

// noLoop refuses an upstream that is the address we listen on. One that leads
// here by another way is found when a request comes back.
func noLoop(addr string, c gateway.Config) error {
	_, port, _ := net.SplitHostPort(addr)
	for _, u := range c.Upstreams {
		if u.Base != nil && (u.Base.Host == addr || u.Base.Host == "localhost:"+port) {
			return fmt.Errorf("the upstream %s is %s, where the gateway itself listens; give the provider's address", u.Name, u.Base)
		}
	}
	return nil
}

// isLocal tells whether a host is a name of this machine for itself.
func isLocal(host string) bool {
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}
