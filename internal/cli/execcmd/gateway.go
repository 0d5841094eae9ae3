package execcmd

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/configflags"
	"github.com/ridethrough/ridethrough/internal/cli/gatewaycmd"
	"github.com/ridethrough/ridethrough/internal/cli/running"
)

type gateway struct {
	running.Gateway
	own  bool // it runs in this process
	stop func()
}

// gateway returns the gateway at the configured address. It starts one where none answers, and where exec or the
// environment asks for a policy or an upstream that the running gateway does not have. need is an upstream that it
// must have.
func (c *execCmd) gateway(ctx context.Context, need upstream) (gateway, error) {
	conf, err := c.Read() // a certificate and tokens are those of the gateway that runs, and its own affair
	if err != nil {
		return gateway{}, configflags.Explain(err)
	}
	there := running.Gateway{URL: conf.URL(), Token: c.Streams.Env("RIDETHROUGH_TOKEN")}
	others := c.upstreams(there.URL)
	if need.Name != "" && !slices.Contains(conf.Upstreams(), need.Name) {
		others = append([]string{need.Name + "=" + need.URL}, others...) // the environment's is the later one
	}
	flags := c.Command.Flags()
	if own := c.own || len(others) > 0 || flags.Changed("policy") || flags.Changed("max-wait") || flags.Changed("upstream"); !own && there.Answers(ctx) {
		return gateway{Gateway: there, stop: func() {}}, nil
	}
	return c.start(ctx, others)
}

// upstreams returns the addresses that the environment has for providers, such as a company's own, but not the
// gateway's.
func (c *execCmd) upstreams(gateway string) (others []string) {
	for variable, name := range upstreamsOf(c.Streams.Env) {
		base := c.Streams.Env(variable)
		if base != "" && !strings.Contains(base, "://") { // as OLLAMA_HOST may be
			base = "http://" + base
		}
		if base != "" && !sameServer(base, gateway) {
			others = append(others, name+"="+base)
		}
	}
	slices.Sort(others)
	return others
}

// requests returns how many requests the gateway has had from programs; negative: unknown.
func (g gateway) requests(ctx context.Context) int {
	answer, err := g.Get(ctx, "/-/metrics", "text/plain")
	if err != nil {
		return -1
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return -1
	}
	n := 0
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), "} ")
		if one, err := strconv.Atoi(value); err == nil && strings.HasPrefix(name, `ridethrough_requests_total{face="gateway"`) {
			n += one
		}
	}
	return n
}

// hadNoneSince reports whether the gateway has had no further request. It counts a request shortly after answering
// it.
func (g gateway) hadNoneSince(ctx context.Context, before int) bool {
	ctx, cancel := context.WithTimeout(ctx, endTime)
	defer cancel()
	for again := time.NewTicker(endTime / 10); ; {
		switch n := g.requests(ctx); {
		case ctx.Err() != nil:
			return true
		case n != before:
			return false
		}
		select {
		case <-again.C:
		case <-ctx.Done():
		}
	}
}

func sameServer(a, b string) bool {
	x, err := url.Parse(a)
	y, other := url.Parse(b)
	if err != nil || other != nil || x.Port() != y.Port() {
		return false
	}
	return x.Hostname() == y.Hostname() || command.IsLoopback(x.Hostname()) && command.IsLoopback(y.Hostname())
}

// start starts a gateway in this process, on a free port of this machine, with other upstreams in the form
// NAME=URL. It logs to a file.
func (c *execCmd) start(ctx context.Context, others []string) (gateway, error) {
	log, err := c.openLog()
	if err != nil {
		return gateway{}, command.Failed(err)
	}
	flags := c.Flags
	flags.Unprotected, flags.Upstreams = true, slices.Concat(others, c.Upstreams)
	flags.Streams = command.Streams{Out: log, Err: log, Env: func(name string) string {
		if name == "NOTIFY_SOCKET" { // a service manager waits for news of the program
			return ""
		}
		return c.Streams.Env(name)
	}}
	ctx, cancel := context.WithCancelCause(ctx)
	listening, ended := make(chan string, 1), make(chan error, 1)
	go func() { ended <- gatewaycmd.ServeUnprotected(ctx, flags, func(url string) { listening <- url }, Hints) }()
	stop := func() {
		cancel(command.Interrupted{})
		<-ended
		_ = log.Close()
	}
	select {
	case url := <-listening:
		return gateway{Gateway: running.Gateway{URL: url}, own: true, stop: stop}, nil
	case err := <-ended:
		cancel(nil)
		return gateway{}, errors.Join(err, log.Close())
	}
}

// maxLog is the size at which the log of earlier runs is dropped.
const maxLog = 8 << 20

func (c *execCmd) openLog() (*os.File, error) {
	path := cmp.Or(c.Streams.StateFile("exec.log"), filepath.Join(os.TempDir(), "ridethrough-exec.log"))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	flags := os.O_CREATE | os.O_WRONLY | os.O_APPEND
	if info, err := os.Stat(path); err == nil && info.Size() > maxLog {
		flags |= os.O_TRUNC
	}
	return os.OpenFile(path, flags, 0o600)
}
