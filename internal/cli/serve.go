package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/gateway"
)

// grace is how long answers that are under way may go on when the server is
// asked to end.
const grace = 10 * time.Second

func serveCommand(s Streams) *cobra.Command {
	c := &serving{settings: settings{s: s}}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the gateway between your programs and their providers",
		Long: "serve answers the APIs of Anthropic, OpenAI, Gemini, Ollama and LM Studio and\n" +
			"hands each request on to the provider, again and again until it passes, as the policy says.\n" +
			"Clients keep their own credentials; they only get another base URL. It needs no\n" +
			"configuration; `ridethrough config init` prints one to begin with, and a running\n" +
			"gateway follows it as it changes.",
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
	return cmd
}

// serving is what `serve` was asked for.
type serving struct{ settings }

// run serves until ctx ends.
func (c *serving) run(ctx context.Context, t terms) error {
	if host, _, _ := net.SplitHostPort(t.config.Listen); t.token != "" || !isLocal(host) {
		return failure{errors.New("nothing asks clients for a token yet; listen on an address of this machine, without one"), exitConfig}
	}
	l, err := listen(t.config.Listen)
	if err != nil {
		return err
	}
	var level slog.LevelVar
	level.Set(t.level)
	log := logger(c.s.Err, &level)
	doubts(log, &t.config)
	t.gateway.Watch = func(e gateway.Event) { report(log, e) }
	g, err := start(l.Addr().String(), t)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	base := "http://" + l.Addr().String()
	log.Info("listening", "url", base, "policy", t.config.Policy(), "config", cmp.Or(t.config.File, "none"))
	for _, u := range t.gateway.Upstreams {
		if u.Base != nil {
			log.Info("upstream", "name", u.Name, "url", u.Base.String())
		}
	}
	stop := c.follow(ctx, &following{inForce: t, addr: l.Addr().String(), gateway: g, log: log, level: &level})
	log.Info("point your clients here", "ANTHROPIC_BASE_URL", base, "OPENAI_BASE_URL", base+"/v1")
	err = serveUntil(ctx, l, localOnly(g), g, log)
	stop()
	log.Info("stopped")
	return err
}

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

// serveUntil serves a gateway until ctx ends. Then its waits end at once, and
// the answers that are under way when the grace is over.
func serveUntil(ctx context.Context, l net.Listener, h http.Handler, g *gateway.Gateway, log *slog.Logger) error {
	server := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 30 * time.Second,
		IdleTimeout:       5 * time.Minute,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	log.Info("stopping", "answers under way may take", grace.String(), "at once", "with a second signal")
	g.Drain()
	late := context.WithoutCancel(ctx)
	if shutdown(late, server, grace) != nil {
		g.Close()
		_ = shutdown(late, server, time.Second) // the time to say goodbye
	}
	_ = server.Close()
	<-ended
	return nil
}

// shutdown waits for a server's requests to end, so long at the most.
func shutdown(ctx context.Context, server *http.Server, d time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return server.Shutdown(ctx)
}

// localOnly refuses requests that name another host: a web page whose name
// was pointed at this machine (DNS rebinding) must not reach the gateway.
func localOnly(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		if !isLocal(strings.TrimSuffix(host, ".")) {
			http.Error(w, fmt.Sprintf("ridethrough: it does not answer for the host %q; use localhost or 127.0.0.1", r.Host), http.StatusMisdirectedRequest)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// isLocal tells whether a host is a name of this machine for itself.
func isLocal(host string) bool {
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}
