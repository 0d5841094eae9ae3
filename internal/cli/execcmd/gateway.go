package execcmd

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/configflags"
	"github.com/ridethrough/ridethrough/internal/cli/datadir"
	"github.com/ridethrough/ridethrough/internal/cli/gatewaycmd"
	"github.com/ridethrough/ridethrough/internal/cli/recipe"
	"github.com/ridethrough/ridethrough/internal/cli/running"
)

// gateway is the one that a program uses.
type gateway struct {
	running.Gateway
	own  bool // it runs in this process
	stop func()
}

// gateway returns the gateway at the configured address, or starts one: where none answers there, and where exec or
// the environment asks for another policy or another upstream than that gateway has. need is an upstream that it must
// have.
func (c *execCmd) gateway(ctx context.Context, need recipe.Upstream) (gateway, error) {
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
	if own := c.own || len(others) > 0 || flags.Changed("policy") || flags.Changed("upstream"); !own && there.Answers(ctx) {
		return gateway{Gateway: there, stop: func() {}}, nil
	}
	return c.start(ctx, others)
}

// upstreams returns the addresses that the environment has for providers, such as a company's own. That of the
// gateway itself is none of them.
func (c *execCmd) upstreams(gateway string) (others []string) {
	for variable, name := range recipe.Upstreams() {
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

// sameServer reports whether two addresses are one server's.
func sameServer(a, b string) bool {
	x, err := url.Parse(a)
	y, other := url.Parse(b)
	if err != nil || other != nil || x.Port() != y.Port() {
		return false
	}
	return x.Hostname() == y.Hostname() || command.IsLoopback(x.Hostname()) && command.IsLoopback(y.Hostname())
}

// start starts a gateway in this process, on a free port of this machine, with other upstreams in the form NAME=URL.
// Its log is a file.
func (c *execCmd) start(ctx context.Context, others []string) (gateway, error) {
	log, err := c.openLog()
	if err != nil {
		return gateway{}, command.Failed(err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	listening := &listener{log: log, url: make(chan string, 1)}
	s := command.Streams{Out: listening, Err: listening, Env: c.envOfServe()}
	serve := gatewaycmd.ServeUnprotected(s, gatewaycmd.Directory(s))
	serve.SetArgs(c.serveArgs(others))
	serve.SetOut(listening)
	serve.SetErr(listening)
	serve.SilenceErrors, serve.SilenceUsage = true, true
	ended := make(chan error, 1)
	go func() { ended <- serve.ExecuteContext(ctx) }()
	stop := func() {
		cancel(command.Interrupted{})
		<-ended
		_ = log.Close()
	}
	select {
	case url := <-listening.url:
		return gateway{Gateway: running.Gateway{URL: url}, own: true, stop: stop}, nil
	case err := <-ended:
		cancel(nil)
		return gateway{}, errors.Join(err, log.Close())
	}
}

// serveArgs returns the arguments of `serve`: where it listens, other upstreams, and those of exec's own flags that are
// set.
func (c *execCmd) serveArgs(others []string) []string {
	args := []string{"--listen", "127.0.0.1:0", "--data", datadir.None}
	for _, name := range []string{"config", "policy", "log"} {
		if f := c.Command.Flags().Lookup(name); f.Changed {
			args = append(args, "--"+name, f.Value.String())
		}
	}
	for _, u := range slices.Concat(others, c.Upstreams) {
		args = append(args, "--upstream", u)
	}
	return args
}

// envOfServe returns the environment of the gateway in this process. A service manager waits for news of the program,
// not of it.
func (c *execCmd) envOfServe() func(string) string {
	return func(name string) string {
		switch name {
		case "RIDETHROUGH_LISTEN", "NOTIFY_SOCKET":
			return ""
		}
		return c.Streams.Env(name)
	}
}

// maxLog is the size from which the log of earlier runs is dropped.
const maxLog = 8 << 20

// openLog opens the log of gateways that exec starts.
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

// listener is the log of a gateway, in which it says where it listens.
type listener struct {
	mu   sync.Mutex
	log  *os.File
	url  chan string
	told bool
}

// Write writes lines to the file, and notices the address.
func (l *listener) Write(lines []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range bytes.Lines(lines) {
		var said struct{ Msg, URL string }
		if !l.told && json.Unmarshal(line, &said) == nil && said.Msg == "listening" {
			l.told = true
			l.url <- said.URL
		}
	}
	return l.log.Write(lines)
}
