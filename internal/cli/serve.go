package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/policy"
)

// grace is how long answers that are under way may go on when the server is
// asked to end.
const grace = 10 * time.Second

func serveCommand(s Streams) *cobra.Command {
	c := &serving{listen: "127.0.0.1:8484", policyName: "patient", policy: policy.Patient()}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the gateway between your programs and their providers",
		Long: "serve answers the APIs of Anthropic (/v1/messages) and OpenAI (/v1/chat/completions) and\n" +
			"hands each request on to the provider, again and again until it passes, as the policy says.\n" +
			"Clients keep their own credentials; they only get another base URL.",
		Example: "  ridethrough serve\n" +
			"  ANTHROPIC_BASE_URL=http://127.0.0.1:8484 claude\n" +
			"  OPENAI_BASE_URL=http://127.0.0.1:8484/v1 python script.py",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := c.read(cmd, s); err != nil {
				return err
			}
			return failed(c.run(cmd.Context(), s))
		},
	}
	f := cmd.Flags()
	f.String("listen", c.listen, "address to listen on; port 0 takes a free one [RIDETHROUGH_LISTEN]")
	f.String("policy", c.policyName, "when to try again: "+list(policy.Presets())+" [RIDETHROUGH_POLICY]")
	f.StringArrayVar(&c.flags, "upstream", nil, "another base URL for a provider, as NAME=URL; NAME is one of "+
		list(gateway.APIs())+" [RIDETHROUGH_UPSTREAM_NAME]")
	return cmd
}

// serving is what `serve` was asked for.
type serving struct {
	listen     string
	policyName string
	policy     policy.Policy
	flags      []string
	upstreams  map[string]*url.URL
}

// read reads flags and environment.
func (c *serving) read(cmd *cobra.Command, s Streams) (err error) {
	err = setting(cmd, s, "listen", func(v string) error { c.listen = v; return loopback(v) })
	if err != nil {
		return err
	}
	err = setting(cmd, s, "policy", func(v string) (err error) { c.policyName = v; c.policy, err = preset(v); return err })
	if err != nil {
		return err
	}
	c.upstreams, err = upstreams(s, c.flags)
	return err
}

// run serves until ctx ends.
func (c *serving) run(ctx context.Context, s Streams) error {
	l, err := listen(c.listen)
	if err != nil {
		return err
	}
	log := logger(s.Err)
	if err := c.noLoop(l.Addr().String()); err != nil {
		return errors.Join(err, l.Close())
	}
	g, err := gateway.New(gateway.Config{Upstreams: at(c.upstreams), Policy: c.policy, Watch: func(e gateway.Event) { report(log, e) }})
	if err != nil {
		return errors.Join(err, l.Close())
	}
	base := "http://" + l.Addr().String()
	log.Info("listening", "url", base, "policy", c.policyName)
	for _, name := range gateway.APIs() {
		if u := c.upstreams[name]; u != nil {
			log.Info("upstream", "name", name, "url", u.String())
		}
	}
	log.Info("point your clients here", "ANTHROPIC_BASE_URL", base, "OPENAI_BASE_URL", base+"/v1")
	err = serveUntil(ctx, l, localOnly(g), g, log)
	log.Info("stopped")
	return err
}

// at gives the upstreams with other addresses.
func at(bases map[string]*url.URL) []gateway.Upstream {
	all := gateway.Defaults()
	for i := range all {
		all[i].Base = bases[all[i].Name]
	}
	return all
}

// noLoop refuses an upstream that is the address we listen on. One that leads
// here by another way is found when a request comes back.
func (c *serving) noLoop(addr string) error {
	_, port, _ := net.SplitHostPort(addr)
	for name, u := range c.upstreams {
		if u.Host == addr || u.Host == "localhost:"+port {
			return fmt.Errorf("the upstream %s is %s, where the gateway itself listens; give the provider's address", name, u)
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
