// Package gatewaycmd has the commands about the gateway: serve, config, policy, explain, notify and demo. It imports
// neither agents nor stores, so that a program with the gateway alone can be made of it.
package gatewaycmd

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
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
	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/internal/operation/history"
	"github.com/ridethrough/ridethrough/internal/operation/telemetry"
	"github.com/ridethrough/ridethrough/internal/server"
	"github.com/ridethrough/ridethrough/internal/server/live"
	"github.com/ridethrough/ridethrough/internal/server/rest"
	"github.com/ridethrough/ridethrough/internal/server/web"
	"github.com/ridethrough/ridethrough/internal/terminal/printable"
	"github.com/ridethrough/ridethrough/turn"
)

// ServeUnprotected does what `serve` does, for a program on this machine: on a free port, and without the
// configuration's certificate, tokens and extension. It calls listening with its address.
func ServeUnprotected(ctx context.Context, f configflags.Flags, listening func(url string), programs func() []server.Program) error {
	return (&serveCmd{Flags: f, listening: listening, programs: programs}).resolveAndRun(ctx, f.Streams.Err)
}

// Serve returns the command `serve`, with an extension. programs are what the page says about the programs that may
// use the gateway.
func Serve(s command.Streams, extension Extension, programs func() []server.Program) *cobra.Command {
	c := &serveCmd{Flags: configflags.Flags{Streams: s}, extension: extension, programs: programs, listening: func(string) {}}
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
			return c.logged(func(to io.Writer) error { return c.resolveAndRun(cmd.Context(), to) })
		},
	}
	c.AddAll(cmd)
	cmd.Flags().StringVar(&c.logFile, "log-file", "", "write the log to `FILE` and not to standard error; at 8 MiB it becomes FILE.1")
	if extension != nil {
		extension.AddFlags(cmd)
	}
	return cmd
}

type serveCmd struct {
	configflags.Flags
	extension Extension // nil: none
	programs  func() []server.Program
	listening func(url string)
	logFile   string // "": standard error

	level  *slog.LevelVar // of the log
	faults *config.FaultsFile
	shown  atomic.Pointer[config.Config] // the configuration in force
	tell   *telemetry.Telemetry
	dog    Watchdog
}

// Extension adds something to the server besides the gateway, such as conversations.
type Extension interface {
	AddFlags(*cobra.Command)
	// Attach adds it; detach ends it once nothing is served any more.
	// faults classifies the faults of providers.
	// conf returns the configuration in force, which may change.
	Attach(ctx context.Context, to *server.Config, conf func() *config.Config, faults classify.Classifier) (detach func(), err error)
	// Data returns where it keeps what it has, after Attach; "": nowhere.
	Data() string
}

func (c *serveCmd) resolveAndRun(ctx context.Context, log io.Writer) error {
	t, err := c.Resolve()
	if err != nil {
		return configflags.Explain(err)
	}
	return command.Failed(c.run(ctx, t, log))
}

func (c *serveCmd) run(ctx context.Context, t configflags.Resolved, to io.Writer) error {
	signal.Ignore(syscall.SIGPIPE) // a closed log must not end waiting requests
	collectRarely(c.Streams.Env)
	defer returnMemory(ctx)()
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
		Feed: live.NewFeed(), History: history.Open("", log.Logger), Log: log.Logger, Audit: rest.NewAudit(log.Logger),
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
	c.level = &level
	c.tell, err = telemetry.New(ctx, telemetry.Config{Log: log.Logger, Dropped: log.Dropped, Version: command.Version(), Env: c.Streams.Env})
	if err != nil { // it measures all the same
		log.Warn("spans are not exported", "error", err.Error())
	}
	defer c.tell.Flush(ctx)
	served.Tenants = c.tell.Tenants()
	served.OnTurn, served.Group = func(e *gateway.Event) { c.tell.Watch(e); served.Feed.Watch(e) }, c.tell.Group
	end := func() {}
	if c.extension != nil {
		if end, err = c.extension.Attach(ctx, &served, c.shown.Load, c.classifier()); err != nil {
			return errors.Join(err, l.Close())
		}
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

func (c *serveCmd) classifier() classify.Classifier {
	return classify.Classifier{Judges: []classify.Judge{c.faults.Judge}}
}

func (c *serveCmd) serve(ctx context.Context, l net.Listener, t configflags.Resolved, served server.Config) error {
	log := served.Log
	watch, endEvents := queueEvents(
		func(e *gateway.Event) {
			c.tell.Watch(e)
			served.Feed.Watch(e)
			served.History.Watch(e)
			if _, recovered := e.Event.(turn.Recovered); recovered && served.Recovered != nil {
				served.Recovered(e.Call.Upstream)
			}
		},
		c.dog.Loop("the loop that handles the gateway's events"))
	defer endEvents()
	t.Gateway.OnEvent, t.Gateway.Learned, t.Gateway.Share = watch, served.History.Learned, served.Share
	if t.Gateway.Fleet = served.History.Fleet(); served.Replica != nil {
		t.Gateway.Fleet = served.Replica.Fleet()
	}
	if err := noLoop(l.Addr().String(), t.Gateway); err != nil {
		return errors.Join(err, l.Close())
	}
	g, err := gateway.New(t.Gateway)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	if served.Gateway = g; served.Replica != nil { // it is a part of its fleet
		served.Replica.Join(g, served.Tenants)
		served.Gateway = served.Replica
		defer served.Replica.Leave()
	}
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
	c.greet(base, &t, log)
	c.listening(base)
	following := &reloader{inForce: t, addr: l.Addr().String(), gateway: g, log: log, audit: served.Audit, level: c.level, faults: c.faults, faultsFile: c.FaultsFile, notices: told, shown: &c.shown}
	defer c.follow(ctx, following)()
	served.Metrics, served.Policies, served.Programs = c.tell, following.policies, c.programs
	defer c.watch(ctx, &served)()
	defer c.tellManager(ctx, g, base, log)()
	return server.New(served).Run(ctx, l)
}

// greet says where everything is: as a card on a terminal, else in the log.
func (c *serveCmd) greet(base string, t *configflags.Resolved, log *slog.Logger) {
	data := ""
	if c.extension != nil {
		data = c.extension.Data()
		if command.IsTerminal(c.Streams.Err) {
			_, _ = io.WriteString(c.Streams.Err, card(base, &t.Config, t.Gateway.Upstreams, data))
			return
		}
	}
	if data != "" {
		log.Info("conversations", "data", data)
	}
	log.Info("listening", "url", base, "policy", t.Config.Policy(), "config", cmp.Or(t.Config.File, "none"))
	for _, u := range t.Gateway.Upstreams {
		if u.Base != nil {
			log.Info("upstream", "name", u.Name, "url", u.Base.String())
		}
	}
	log.Info("page", "url", base+"/-/ui/")
	var point []any
	for _, v := range baseVariables {
		point = append(point, v[0], base+v[1])
	}
	log.Info("point your clients here", point...)
}

// watch watches the server's loops and locks for /-/livez, until stop is called. Loops that wait for a disk are
// excluded: a restart would end waiting requests and free no disk.
func (c *serveCmd) watch(ctx context.Context, served *server.Config) (stop func()) {
	g, host := served.Gateway, served.Conversations
	c.dog.Probe("the list of waiting requests", func() { g.Act(0, gateway.RetryNow) }) // there is no request 0
	c.dog.Probe("a circuit breaker of the gateway", func() { g.Upstreams() })
	c.dog.Probe("the list of events", func() { served.Feed.CallEnd(0) })
	if host != nil {
		c.dog.Probe("a circuit breaker of the conversations", func() { host.Upstreams() })
	}
	served.Frozen = c.dog.Frozen
	return command.Every(ctx, WatchdogInterval, c.dog.Tick)
}

// noLoop refuses an upstream at the gateway's own address. A loop through another name or another gateway is
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

func leadsTo(own netip.AddrPort, to *url.URL) bool {
	port := cmp.Or(to.Port(), map[string]string{"http": "80", "https": "443"}[to.Scheme])
	if port != fmt.Sprint(own.Port()) {
		return false
	}
	listens := own.Addr().Unmap()
	host := strings.TrimSuffix(strings.ToLower(to.Hostname()), ".")
	ip, err := netip.ParseAddr(host) // another name may lead anywhere
	switch ip = ip.Unmap().WithZone(""); {
	case host == "localhost", strings.HasSuffix(host, ".localhost"), err == nil && ip.IsUnspecified():
		return listens.IsLoopback() || listens.IsUnspecified()
	case err != nil:
		return false
	}
	return ip == listens || listens.IsUnspecified() && ip.IsLoopback()
}

// expiresSoon is how long before its end a certificate causes a warning.
const expiresSoon = 14 * 24 * time.Hour

// certificate returns the TLS configuration of the gateway, and logs each certificate; nil: without TLS.
func certificate(c *config.Config, env func(string) string, log *slog.Logger) (*tls.Config, error) {
	report := func(pair *tls.Certificate, err error) {
		switch {
		case err != nil:
			log.Error("read certificate failed, the previous one stays in use", "error", err.Error())
		case time.Until(pair.Leaf.NotAfter) < expiresSoon:
			log.Warn("the certificate expires soon", "names", pair.Leaf.DNSNames, "expires", pair.Leaf.NotAfter)
		default:
			log.Info("certificate", "names", pair.Leaf.DNSNames, "expires", pair.Leaf.NotAfter)
		}
	}
	made, err := c.TLS(env, report)
	if made != nil {
		pair, _ := made.GetCertificate(nil)
		report(pair, nil)
	}
	return made, err
}

// queuedEvents is how many events of the gateway may be queued; beyond that requests wait for their handling.
const queuedEvents = 256

// queueEvents handles events of the gateway in order on its own goroutine. A request's own goroutine does not log
// and count, since its stack would stay twice as large while thousands of requests wait. end handles the remaining
// events; later ones may be lost as the process ends.
func queueEvents(handle func(*gateway.Event), loop *Loop) (watch func(gateway.Event), end func()) {
	queue := make(chan gateway.Event, queuedEvents)
	ctx, cancel := context.WithCancel(context.Background())
	wait := command.Background(context.Background(), func(context.Context) {
		var e gateway.Event
		for ctx.Err() == nil || len(queue) > 0 {
			select {
			case e = <-queue:
				loop.Begin()
				handle(&e)
				loop.End()
			case <-ctx.Done():
			}
		}
	})
	watch = func(e gateway.Event) {
		select {
		case queue <- e:
		case <-ctx.Done():
		}
	}
	return watch, func() { cancel(); wait() }
}

// baseVariables are the variables that point clients at a gateway, with what each adds to its address.
var baseVariables = [][2]string{
	{"ANTHROPIC_BASE_URL", ""},
	{"OPENAI_BASE_URL", "/v1"},
	{"GOOGLE_GEMINI_BASE_URL", ""},
	{"ANTHROPIC_BEDROCK_BASE_URL", ""},
	{"ANTHROPIC_VERTEX_BASE_URL", "/v1"},
}

// card tells a person who starts serve in a terminal what to know first.
func card(base string, c *config.Config, upstreams []gateway.Upstream, data string) string {
	var b strings.Builder
	row := func(name, text string) { fmt.Fprintf(&b, "  %-15s%s\n", name, text) }
	fmt.Fprintf(&b, "ridethrough is ready at %s\n\n", base)
	row("page", base+"/-/ui/")
	row("a command", "ridethrough exec -- claude      (or any other program)")
	for i, v := range baseVariables[:3] {
		row(map[bool]string{true: "other clients"}[i == 0], v[0]+"="+base+v[1])
	}
	row("waiting", "ridethrough waits --watch       (what waits, and why)")
	row("policy", c.Policy())
	row("configuration", cmp.Or(printable.Text(c.File), "none; `ridethrough config init` prints one"))
	if data != "" {
		row("conversations", printable.Text(data))
	}
	if c.File != "" {
		names := make([]string, len(upstreams))
		for i, u := range upstreams {
			names[i] = u.Name
		}
		row("upstreams", strings.Join(names, ", "))
	}
	return b.String() + "\nCtrl+C stops it. The log follows.\n\n"
}
