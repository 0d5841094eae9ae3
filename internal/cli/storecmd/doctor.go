package storecmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/app"
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/configflags"
	"github.com/ridethrough/ridethrough/internal/cli/storeflags"
	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/internal/operation/doctor"
	"github.com/ridethrough/ridethrough/internal/terminal/display"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/jetstream"
)

func Doctor(s command.Streams) *cobra.Command {
	c := &doctorCmd{storing: storeflags.Flags{Streams: s}, settings: configflags.Flags{Streams: s}}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look whether everything is as it should be",
		Long: "doctor looks at the configuration, at the store of conversations and its disk, reads all logs in it,\n" +
			"and looks at the clock, at which keys are set, and whether the providers can be reached. It says in\n" +
			"a line each what it has found, and changes nothing. The exit code is 1 if there is a problem;\n" +
			"warnings are what works and somebody should look after. No key is ever shown or sent.\n\n" +
			"While `ridethrough serve` has the store, it asks that whether it is ready; the logs are read when it\n" +
			"has ended.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	c.storing.AddAll(cmd)
	c.settings.AddFile(cmd)
	cmd.Flags().BoolVar(&c.json, "json", false, "say it in JSON")
	cmd.Flags().BoolVar(&c.offline, "offline", false, "ask no provider")
	return cmd
}

// doctorCmd is what `doctor` was asked for.
type doctorCmd struct {
	storing  storeflags.Flags
	settings configflags.Flags

	json, offline bool
	found         []doctor.Finding
}

// say notes a finding.
func (c *doctorCmd) say(check string, state doctor.State, format string, args ...any) {
	c.found = append(c.found, doctor.Finding{Check: check, State: state, Text: fmt.Sprintf(format, args...)})
}

// run looks at everything.
func (c *doctorCmd) run(ctx context.Context) error {
	began := time.Now()
	t := c.configuration()
	if err := c.store(ctx, t); err != nil {
		return err
	}
	c.keys()
	var clocks []doctor.Told
	if !c.offline {
		clocks = c.reach(ctx, c.addresses(t))
	}
	now := time.Now()
	c.found = append(c.found, doctor.Clock(now, doctor.Beside(began, now), clocks))
	if ctx.Err() != nil {
		return command.Failed(context.Cause(ctx))
	}
	if err := c.report(); err != nil {
		return command.Failed(err)
	}
	if !doctor.Well(c.found) {
		return command.WithCode(command.Reported{}, command.ExitFailed)
	}
	return nil
}

// report says what was found.
func (c *doctorCmd) report() error {
	if c.json {
		return json.NewEncoder(c.storing.Streams.Out).Encode(struct {
			OK       bool             `json:"ok"`
			Findings []doctor.Finding `json:"findings"`
		}{doctor.Well(c.found), c.found})
	}
	for _, f := range c.found {
		text := strings.ReplaceAll(display.Sanitize(f.Text), "\n", "\n         ")
		if _, err := fmt.Fprintf(c.storing.Streams.Out, "%-8s %s: %s\n", f.State, f.Check, text); err != nil {
			return err
		}
	}
	return nil
}

// configuration reads it as `serve` would. Where it is wrong, the rest goes by
// what is usual.
func (c *doctorCmd) configuration() configflags.Resolved {
	t, err := c.settings.Resolve()
	if all, ok := errors.AsType[config.Errors](err); ok {
		c.say("configuration", doctor.Problem, "%s", strings.TrimSpace(config.Excerpts(all)))
	} else if err != nil {
		c.say("configuration", doctor.Problem, "%v", err)
	}
	if err != nil {
		return configflags.Resolved{}
	}
	for _, doubt := range t.Config.Warnings() {
		c.say("configuration", doctor.Warning, "%s", strings.TrimSpace(doubt.Excerpt()))
	}
	if t.Config.File == "" {
		c.say("configuration", doctor.OK, "there is no file; everything is as usual")
	} else {
		c.say("configuration", doctor.OK, "%s is right", t.Config.File)
	}
	return t
}

// store looks at the store, if there is one.
func (c *doctorCmd) store(ctx context.Context, t configflags.Resolved) error {
	if c.storing.URL() == "" {
		dir, err := c.storing.Dir()
		if err != nil {
			return err
		}
		switch {
		case dir == storeflags.None:
			c.say("store", doctor.OK, "conversations are kept nowhere, as --data says")
			return nil
		case !jetstream.Exists(dir):
			c.say("store", doctor.OK, "there is none in %s yet; `ridethrough serve` makes one", dir)
			return nil
		}
	}
	e, err := c.storing.Open(ctx, slog.New(slog.DiscardHandler))
	switch {
	case errors.Is(err, store.ErrInUse):
		c.held(ctx, t)
		return nil
	case errors.Is(err, jetstream.ErrMode):
		dir, _ := c.storing.Dir()
		c.say("store", doctor.OK, "%s is that of a node of a cluster; what is in it can be asked of the cluster, with --nats", dir)
		return nil
	case err != nil:
		c.say("store", doctor.Problem, "%v", err)
		return nil
	}
	c.found = append(c.found, doctor.Store(ctx, e)...)
	c.found = append(c.found, doctor.Logs(ctx, e, time.Now())...)
	return command.Failed(e.Close(context.WithoutCancel(ctx)))
}

// held tells who has the store, and asks it whether it is ready.
func (c *doctorCmd) held(ctx context.Context, t configflags.Resolved) {
	dir, _ := c.storing.Dir()
	holder, _ := os.ReadFile(filepath.Join(dir, "lock"))
	c.say("store", doctor.OK, "process %s has %s; its logs can be read when that has ended", strings.TrimSpace(string(holder)), dir)
	listen := t.Config.Listen
	if listen == "" {
		listen = config.DefaultListen
	}
	host, port, _ := net.SplitHostPort(listen)
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	c.found = append(c.found, doctor.Ready(ctx, "http://"+net.JoinHostPort(host, port)))
}

// keys tells which keys are set.
func (c *doctorCmd) keys() {
	ready := app.Suggestions(c.storing.Streams.Env)
	if len(ready) == 0 {
		c.say("keys", doctor.Warning, "none is set: `run` and conversations have no model, and clients of the gateway need keys of their own")
		return
	}
	c.say("keys", doctor.OK, "%s", strings.Join(ready, ", "))
}

// addresses gives everybody who is to be asked: the upstreams of the gateway,
// and where the environment says that providers are.
func (c *doctorCmd) addresses(t configflags.Resolved) (all []doctor.Address) {
	ready := app.Suggestions(c.storing.Streams.Env)
	add := func(name string, u *url.URL, known bool) {
		bare := *u
		bare.RawQuery, bare.Fragment = "", ""
		if slices.ContainsFunc(all, func(a doctor.Address) bool { return a.URL.String() == bare.String() }) {
			return
		}
		used := slices.ContainsFunc(ready, func(line string) bool { return strings.HasPrefix(line, name+"/") })
		all = append(all, doctor.Address{Name: name, URL: &bare, Known: known, Used: used})
	}
	usual := map[string]*url.URL{}
	for _, u := range gateway.Defaults() {
		usual[u.API] = u.Base
	}
	for _, u := range t.Gateway.Upstreams { // none where the configuration is wrong
		base := u.Base
		if base == nil {
			base = usual[u.API]
		}
		add(u.Name, base, base.String() == usual[u.API].String())
	}
	for _, b := range app.Bases(c.storing.Streams.Env) {
		add(b.Provider, b.URL, false)
	}
	return all
}

// reach asks everybody at the same time.
func (c *doctorCmd) reach(ctx context.Context, all []doctor.Address) (told []doctor.Told) {
	found, clocks := make([]doctor.Finding, len(all)), make([][]doctor.Told, len(all))
	var asking sync.WaitGroup
	for i, a := range all {
		asking.Go(func() { found[i], clocks[i] = doctor.Reach(ctx, a) })
	}
	asking.Wait()
	c.found = append(c.found, found...)
	return slices.Concat(clocks...)
}
