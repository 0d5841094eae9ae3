package storecmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/app"
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/configflags"
	"github.com/ridethrough/ridethrough/internal/cli/datadir"
	"github.com/ridethrough/ridethrough/internal/cli/storeflags"
	"github.com/ridethrough/ridethrough/internal/lockfile"
	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/internal/operation/doctor"
	"github.com/ridethrough/ridethrough/internal/terminal/printable"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/jetstream"
)

// Doctor returns the command `doctor`.
func Doctor(s command.Streams) *cobra.Command {
	c := &doctorCmd{storing: storeflags.New(s), settings: configflags.Flags{Streams: s}}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check configuration, store, keys and providers",
		Long: "doctor checks the configuration, the store of conversations with its disk and all its logs, the clock, the\n" +
			"keys, and whether the providers can be reached. It prints a line for each check and changes nothing. The\n" +
			"exit code is 1 if there is a problem. Warnings are about things that work but need attention. No key is\n" +
			"ever shown or sent.\n\n" +
			"While `ridethrough serve` uses the store, doctor only checks that it is ready; it reads the logs when\n" +
			"`ridethrough serve` has stopped.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	c.storing.AddAll(cmd)
	c.settings.AddFile(cmd)
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	cmd.Flags().BoolVar(&c.offline, "offline", false, "contact no provider")
	return cmd
}

// doctorCmd is a call of `doctor`.
type doctorCmd struct {
	storing  storeflags.Flags
	settings configflags.Flags

	json, offline bool
	found         []doctor.Finding
}

// say adds a finding.
func (c *doctorCmd) say(check string, state doctor.State, format string, args ...any) {
	c.found = append(c.found, doctor.Finding{Check: check, State: state, Text: fmt.Sprintf(format, args...)})
}

// run runs all checks.
func (c *doctorCmd) run(ctx context.Context) error {
	began := time.Now()
	t := c.configuration()
	c.storing.Replicas = t.Config.Replicas
	if err := c.store(ctx, t); err != nil {
		return err
	}
	c.keys()
	c.versions()
	var clocks []doctor.Skew
	if !c.offline {
		clocks = c.reach(ctx, c.addresses(t))
	}
	now := time.Now()
	c.found = append(c.found, doctor.Clock(now, doctor.Jump(began, now), clocks))
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

// report prints the findings.
func (c *doctorCmd) report() error {
	if c.json {
		return json.NewEncoder(command.JSON(c.storing.Streams.Out)).Encode(struct {
			OK       bool             `json:"ok"`
			Findings []doctor.Finding `json:"findings"`
		}{doctor.Well(c.found), c.found})
	}
	for _, f := range c.found {
		text := strings.ReplaceAll(printable.Text(f.Text), "\n", "\n         ")
		if _, err := fmt.Fprintf(c.storing.Streams.Out, "%-8s %s: %s\n", f.State, f.Check, text); err != nil {
			return err
		}
	}
	return nil
}

// configuration checks the configuration of `serve`. If it is wrong, the other checks use the defaults.
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
		c.say("configuration", doctor.OK, "no file, defaults are used")
	} else {
		c.say("configuration", doctor.OK, "%s is valid", t.Config.File)
	}
	return t
}

// store checks the store, if there is one.
func (c *doctorCmd) store(ctx context.Context, t configflags.Resolved) error {
	var damaged []doctor.Finding
	if c.storing.URL() == "" {
		dir, err := c.storing.Dir()
		if err != nil {
			return err
		}
		switch {
		case dir == datadir.None:
			c.say("store", doctor.OK, "none, as --data says")
			return nil
		case !jetstream.Exists(dir):
			c.say("store", doctor.OK, "none in %s yet; `ridethrough serve` creates it", dir)
			return nil
		}
		if i, err := jetstream.Inspect(ctx, dir); err == nil { // else Open fails as well, and says why
			damaged = doctor.Files(i.Damaged, i.Losses)
		}
	}
	if len(damaged) > 0 { // opening it would change it
		c.found = append(c.found, damaged...)
		return nil
	}
	e, err := c.storing.OpenExisting(ctx, slog.New(slog.DiscardHandler))
	switch {
	case errors.Is(err, jetstream.ErrNone):
		c.say("store", doctor.OK, "%v yet; `ridethrough serve` creates them", jetstream.ErrNone)
		return nil
	case errors.Is(err, store.ErrInUse):
		c.held(ctx, t)
		return nil
	case errors.Is(err, jetstream.ErrMode):
		dir, _ := c.storing.Dir()
		c.say("store", doctor.OK, "%s belongs to a node of a cluster; check the cluster with --nats", dir)
		return nil
	case err != nil:
		c.say("store", doctor.Problem, "%v", err)
		return nil
	}
	c.found = append(c.found, doctor.Store(ctx, e)...)
	c.found = append(c.found, doctor.Logs(ctx, e, time.Now())...)
	return command.Failed(e.Close(context.WithoutCancel(ctx)))
}

// held reports which process uses the store, and whether that is ready.
func (c *doctorCmd) held(ctx context.Context, t configflags.Resolved) {
	dir, _ := c.storing.Dir()
	c.say("store", doctor.OK, "process %d uses %s; its logs can be read when the process has ended", lockfile.Holder(dir), dir)
	losses, err := jetstream.Losses(dir)
	if err != nil {
		c.say("store", doctor.Problem, "%v", err)
	}
	c.found = append(c.found, doctor.Losses(losses)...)
	c.found = append(c.found, doctor.Ready(ctx, t.Config.URL()))
}

// keys reports which keys are set.
func (c *doctorCmd) keys() {
	ready := app.Suggestions(c.storing.Streams.Env)
	if len(ready) == 0 {
		c.say("keys", doctor.Warning, "none set: `run` and conversations have no model, and clients of the gateway need their own keys")
		return
	}
	c.say("keys", doctor.OK, "%s", strings.Join(ready, ", "))
}

// addresses returns the addresses to check: those of the gateway's upstreams and
// the base URLs in the environment.
func (c *doctorCmd) addresses(t configflags.Resolved) (all []doctor.Address) {
	ready := app.Suggestions(c.storing.Streams.Env)
	add := func(name, variable string, u *url.URL, known bool) {
		bare := *u
		bare.RawQuery, bare.Fragment = "", ""
		same := func(a doctor.Address) bool {
			return a.URL.String() == bare.String() || a.Name == name && unversioned(a.URL) == unversioned(&bare)
		}
		if slices.ContainsFunc(all, same) {
			return
		}
		used := slices.ContainsFunc(ready, func(line string) bool { return strings.HasPrefix(line, name+"/") })
		if variable != "" {
			name += " (" + variable + ")"
		}
		all = append(all, doctor.Address{Name: name, URL: &bare, Default: known, HasKey: used})
	}
	usual := map[string]*url.URL{}
	for _, u := range gateway.Defaults() {
		usual[u.API] = u.Base
	}
	for _, u := range t.Gateway.Upstreams { // none if the configuration is wrong
		base := u.Base
		if base == nil {
			base = usual[u.API]
		}
		add(u.Name, "", base, usual[u.API] != nil && base.String() == usual[u.API].String())
	}
	for _, b := range app.Bases(c.storing.Streams.Env) {
		add(b.Provider, b.Variable, b.URL, false)
	}
	return all
}

// unversioned returns an address without the version at the end of its path: the same upstream may have it or not.
func unversioned(u *url.URL) string {
	path := strings.TrimSuffix(u.Path, "/")
	return u.Scheme + "://" + u.Host + strings.TrimSuffix(strings.TrimSuffix(path, "/v1"), "/v1beta")
}

// versions warns of a base URL for OpenAI's API without the version that the clients' paths lack.
func (c *doctorCmd) versions() {
	for _, b := range app.Bases(c.storing.Streams.Env) {
		if b.Provider == "openai" && strings.Trim(b.URL.Path, "/") == "" {
			c.say(b.Variable, doctor.Warning, "%s has no /v1, and clients add none: want %s", b.URL.Redacted(), b.URL.JoinPath("v1").Redacted())
		}
	}
}

// reach contacts all addresses at the same time.
func (c *doctorCmd) reach(ctx context.Context, all []doctor.Address) (told []doctor.Skew) {
	found, clocks := make([]doctor.Finding, len(all)), make([][]doctor.Skew, len(all))
	var asking sync.WaitGroup
	for i, a := range all {
		asking.Go(func() { found[i], clocks[i] = doctor.Reach(ctx, a) })
	}
	asking.Wait()
	c.found = append(c.found, found...)
	return slices.Concat(clocks...)
}
