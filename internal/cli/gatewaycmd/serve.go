// Package gatewaycmd has the commands about the gateway: serve, config, policy, explain, notify and demo. It imports
// neither agents nor stores, so that a program with the gateway alone can be made of it.
//
// It has many files because each command has its own.
package gatewaycmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/configflags"
	"github.com/ridethrough/ridethrough/internal/operation/collector"
	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/internal/operation/history"
	"github.com/ridethrough/ridethrough/internal/operation/logging"
	"github.com/ridethrough/ridethrough/internal/operation/telemetry"
	"github.com/ridethrough/ridethrough/internal/operation/watchdog"
	"github.com/ridethrough/ridethrough/internal/server"
	"github.com/ridethrough/ridethrough/internal/server/audit"
	"github.com/ridethrough/ridethrough/internal/server/feed"
	"github.com/ridethrough/ridethrough/internal/server/web"
)

// Serve returns the command `serve`, with an extension.
func Serve(s command.Streams, extension Extension) *cobra.Command {
	return serveFor(configflags.Flags{Streams: s}, extension)
}

// ServeUnprotected returns `serve` for a program on this machine, which knows neither a certificate of the
// configuration nor a token.
func ServeUnprotected(s command.Streams, extension Extension) *cobra.Command {
	return serveFor(configflags.Flags{Streams: s, Unprotected: true}, extension)
}

func serveFor(flags configflags.Flags, extension Extension) *cobra.Command {
	c := &serveCmd{Flags: flags, extension: extension}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the gateway between your programs and their providers",
		Long: "serve accepts requests in the APIs of Anthropic, OpenAI, Gemini, Bedrock, Ollama and LM Studio, forwards them to\n" +
			"the provider and retries them as the policy says. Clients keep their own credentials and only need another\n" +
			"base URL. A configuration is optional; `ridethrough config init` prints one to start from, and a running\n" +
			"gateway applies changes to it.\n\n" +
			"Below /-/ it serves a page and an API that show waiting requests, and conversations that survive restarts.",
		Example: "  ridethrough serve\n" +
			"  ANTHROPIC_BASE_URL=http://127.0.0.1:8484 claude\n" +
			"  OPENAI_BASE_URL=http://127.0.0.1:8484/v1 python script.py",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.logged(func(to io.Writer) error {
				t, err := c.Resolve()
				if err != nil {
					return configflags.Explain(err)
				}
				return command.Failed(c.run(cmd.Context(), t, to))
			})
		},
	}
	c.AddAll(cmd)
	cmd.Flags().StringVar(&c.logFile, "log-file", "", "write the log to `FILE` and not to standard error; at 8 MiB it becomes FILE.1")
	extension.AddFlags(cmd)
	return cmd
}

// serveCmd is a call of `serve`.
type serveCmd struct {
	configflags.Flags
	extension Extension
	logFile   string // "": standard error

	log    *logging.Log
	level  *slog.LevelVar // of the log
	faults *config.FaultsFile
	shown  atomic.Pointer[config.Config] // the configuration in force
	tell   *telemetry.Telemetry
	dog    watchdog.Watchdog
}

// Extension adds something to what `serve` serves besides the gateway, such as conversations.
type Extension interface {
	AddFlags(*cobra.Command)
	// Attach adds it; detach ends it once nothing is served any more.
	// faults classifies the faults of providers.
	// conf returns the configuration in force, which may change.
	Attach(ctx context.Context, to *server.Config, conf func() *config.Config, faults classify.Classifier) (detach func(), err error)
}

// run serves until ctx ends.
func (c *serveCmd) run(ctx context.Context, t configflags.Resolved, to io.Writer) error {
	signal.Ignore(syscall.SIGPIPE) // a closed log must not end waiting requests
	defer collector.Start().Stop()
	l, err := command.Listen(t.Config.Listen, "--listen")
	if err != nil {
		return err
	}
	var level slog.LevelVar
	level.Set(t.Level)
	log := command.ServerLog(to, &level)
	defer log.Close()
	logWarnings(log.Logger, &t.Config)
	served := server.Config{
		Feed: feed.New(), History: history.Open("", log.Logger), Log: log.Logger, Audit: audit.New(log.Logger),
		Token: t.Token, Hosts: t.Config.Hosts, Origins: t.Config.Origins,
		Version: command.Version(), Page: web.Files(),
	}
	if served.TLS, err = certificate(&t.Config, c.Streams.Env, log.Logger); err != nil {
		return errors.Join(err, l.Close())
	}
	c.faults = c.openFaults(&t.Config, log.Logger)
	served.Warnings = c.faults.Warnings
	t.Gateway.Faults = c.classifier()
	c.shown.Store(&t.Config)
	c.level, c.log = &level, log
	c.tell = c.telemetry(ctx, log.Logger)
	defer c.tell.Flush(ctx)
	served.Tenants = c.tell.Tenants()
	served.OnTurn, served.Group = func(e *gateway.Event) { c.tell.Watch(e); served.Feed.Watch(e) }, c.tell.Group
	end, err := c.extension.Attach(ctx, &served, c.shown.Load, c.classifier())
	if err != nil {
		return errors.Join(err, l.Close())
	}
	if served.Tokens, err = tokens(&t.Config, c.Streams.Env, log.Logger, served.Audit); err != nil {
		end()
		return errors.Join(err, l.Close())
	}
	err = c.serve(ctx, l, t, served)
	end()
	log.Info("stopped")
	return err
}

// openFaults follows the user's own readings of faults, and logs what becomes of them.
func (c *serveCmd) openFaults(conf *config.Config, log *slog.Logger) *config.FaultsFile {
	path, named := c.FaultsFile(conf)
	return config.OpenFaults(path, named, func(rows int, problem string) {
		if problem != "" {
			log.Error("read own readings of faults failed, the previous ones stay in force", "error", problem)
			return
		}
		log.Info("own readings of faults", "rows", rows)
	})
}

// classifier returns what classifies faults.
func (c *serveCmd) classifier() classify.Classifier {
	return classify.Classifier{Judges: []classify.Judge{c.faults.Judge}}
}

// serve serves the gateway and the extension until ctx ends.
func (c *serveCmd) serve(ctx context.Context, l net.Listener, t configflags.Resolved, served server.Config) error {
	log := served.Log
	events := newEventQueue(
		func(e *gateway.Event) { c.tell.Watch(e); served.Feed.Watch(e); served.History.Watch(e) },
		c.dog.Loop("the loop that handles the gateway's events"))
	defer events.close()
	t.Gateway.OnEvent, t.Gateway.Learned, t.Gateway.Share = events.Watch, served.History.Learned, served.Share
	if served.Replica != nil {
		t.Gateway.Fleet = served.Replica.Fleet()
	}
	g, err := start(l.Addr().String(), t)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer join(&served, g)()
	c.tell.Show(g, served.History)
	if served.Fleet != nil {
		c.tell.ShowFleet(served.Fleet)
	}
	if served.Conversations != nil {
		c.tell.ShowTurns(served.Conversations.Upstreams, served.History)
	}
	told := c.notices(ctx, t.Notices, g, &served)
	defer told.stop()
	base := "http://" + l.Addr().String()
	if served.TLS != nil {
		base = "https://" + l.Addr().String()
	}
	log.Info("listening", "url", base, "policy", t.Config.Policy(), "config", cmp.Or(t.Config.File, "none"))
	for _, u := range t.Gateway.Upstreams {
		if u.Base != nil {
			log.Info("upstream", "name", u.Name, "url", u.Base.String())
		}
	}
	following := &reloader{inForce: t, addr: l.Addr().String(), gateway: g, log: log, audit: served.Audit, level: c.level, faults: c.faults, faultsFile: c.FaultsFile, notices: told, shown: &c.shown}
	defer c.follow(ctx, following)()
	log.Info("page", "url", base+"/-/ui/")
	log.Info("point your clients here", "ANTHROPIC_BASE_URL", base, "OPENAI_BASE_URL", base+"/v1", "GOOGLE_GEMINI_BASE_URL", base,
		"ANTHROPIC_BEDROCK_BASE_URL", base, "ANTHROPIC_VERTEX_BASE_URL", base+"/v1")
	served.Metrics, served.Policies, served.Programs = c.tell, following.policies, programs
	defer c.watch(ctx, &served)()
	defer c.tellManager(ctx, g, base, log)()
	return server.New(served).Run(ctx, l)
}

// watch watches the loops and the locks of what is served, for /-/livez, until stop is called. Loops that wait for
// a disk are not among them: a restart would end waiting requests and free no disk.
func (c *serveCmd) watch(ctx context.Context, served *server.Config) (stop func()) {
	g, host := served.Gateway, served.Conversations
	c.dog.Probe("the list of waiting requests", func() { g.Act(0, gateway.RetryNow) }) // there is no request 0
	c.dog.Probe("a circuit breaker of the gateway", func() { g.Upstreams() })
	c.dog.Probe("the list of events", func() { served.Feed.CallEnd(0) })
	if host != nil {
		c.dog.Probe("a circuit breaker of the conversations", func() { host.Upstreams() })
	}
	served.Frozen = c.dog.Frozen
	ctx, cancel := context.WithCancel(ctx)
	ticker, ended := time.NewTicker(watchdog.Interval), make(chan struct{})
	go func() {
		defer close(ended)
		c.dog.Run(ctx, ticker.C)
	}()
	return func() {
		cancel()
		ticker.Stop()
		<-ended
	}
}

// start returns the gateway for the address that it listens on.
func start(addr string, t configflags.Resolved) (*gateway.Gateway, error) {
	if err := noLoop(addr, t.Gateway); err != nil {
		return nil, err
	}
	return gateway.New(t.Gateway)
}

// noLoop refuses an upstream at the gateway's own address. A loop by way of another name or another gateway is
// detected when a request comes back.
func noLoop(addr string, c gateway.Config) error {
	own, err := netip.ParseAddrPort(addr)
	if err != nil {
		return nil // no address of TCP
	}
	for _, u := range c.Upstreams {
		if u.Base != nil && leadsTo(own, u.Base) {
			return fmt.Errorf("upstream %s is at %s, the gateway's own address; use the provider's", u.Name, u.Base)
		}
	}
	return nil
}

// leadsTo reports whether a URL is at the address that a gateway listens on.
func leadsTo(own netip.AddrPort, to *url.URL) bool {
	port := cmp.Or(to.Port(), map[string]string{"http": "80", "https": "443"}[to.Scheme])
	if port != fmt.Sprint(own.Port()) {
		return false
	}
	listens := own.Addr().Unmap()
	host := strings.TrimSuffix(strings.ToLower(to.Hostname()), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return listens.IsLoopback() || listens.IsUnspecified()
	}
	if name, err := os.Hostname(); err == nil && host == strings.ToLower(name) {
		return !listens.IsLoopback()
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return false // another name: it may lead anywhere
	}
	switch ip = ip.Unmap().WithZone(""); {
	case ip == listens:
		return true
	case ip.IsUnspecified(): // it connects to this machine
		return listens.IsLoopback() || listens.IsUnspecified()
	}
	return listens.IsUnspecified() && (ip.IsLoopback() || isLocal(ip))
}

// isLocal reports whether an address is one of this machine.
func isLocal(ip netip.Addr) bool {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.Equal(ip.AsSlice()) {
			return true
		}
	}
	return false
}

// telemetry returns the metrics and spans of the gateway. Spans that cannot be
// exported as the environment asks are left out.
func (c *serveCmd) telemetry(ctx context.Context, log *slog.Logger) *telemetry.Telemetry {
	t, err := telemetry.New(ctx, telemetry.Config{Log: log, Dropped: c.log.Dropped, Version: command.Version(), Env: c.Streams.Env})
	if err != nil {
		log.Warn("spans are not exported", "error", err.Error())
	}
	return t
}
