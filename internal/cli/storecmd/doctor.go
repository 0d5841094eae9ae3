package storecmd

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/internal/app"
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/configflags"
	"github.com/ridethrough/ridethrough/internal/cli/datadir"
	"github.com/ridethrough/ridethrough/internal/cli/gatewaycmd"
	"github.com/ridethrough/ridethrough/internal/cli/storeflags"
	"github.com/ridethrough/ridethrough/internal/lockfile"
	"github.com/ridethrough/ridethrough/internal/operation/doctor"
	"github.com/ridethrough/ridethrough/internal/operation/storecheck"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/jetstream"
)

// Checks returns what `doctor` checks besides the gateway: the store, and the keys of conversations.
func Checks(s command.Streams) gatewaycmd.Checks { return &checks{storing: storeflags.New(s)} }

// checks are those of one call of `doctor`.
type checks struct {
	storing storeflags.Flags
	found   []doctor.Finding
}

// Describe says what is checked, and adds the flags of the store.
func (c *checks) Describe(cmd *cobra.Command) {
	cmd.Short = "Check configuration, store, keys and providers"
	cmd.Long = "doctor checks the configuration, the store of conversations with its disk and all its logs, the clock, the\n" +
		"keys, and whether the providers can be reached. It prints a line for each check and changes nothing. The\n" +
		"exit code is 1 if there is a problem. Warnings are about things that work but need attention. No key is\n" +
		"ever shown or sent.\n\n" +
		"While `ridethrough serve` uses the store, doctor only checks that it is ready; it reads the logs when\n" +
		"`ridethrough serve` has stopped."
	c.storing.AddAll(cmd)
}

// Check checks the store and the keys.
func (c *checks) Check(ctx context.Context, t configflags.Resolved) ([]doctor.Finding, error) {
	c.storing.Replicas = t.Config.Replicas
	if err := c.store(ctx, t); err != nil {
		return nil, err
	}
	c.keys()
	c.versions()
	return c.found, nil
}

// Addresses returns the base URLs in the environment.
func (c *checks) Addresses() (all []doctor.Address) {
	for _, b := range app.Bases(c.storing.Streams.Env) {
		all = append(all, doctor.Address{Name: b.Provider, Variable: b.Variable, URL: b.URL})
	}
	return all
}

// HasKey reports whether the environment has a key for a provider.
func (c *checks) HasKey(provider string) bool {
	return slices.ContainsFunc(app.Suggestions(c.storing.Streams.Env), func(line string) bool { return strings.HasPrefix(line, provider+"/") })
}

// say adds a finding.
func (c *checks) say(check string, state doctor.State, format string, args ...any) {
	c.found = append(c.found, doctor.Find(check, state, format, args...))
}

// store checks the store, if there is one.
func (c *checks) store(ctx context.Context, t configflags.Resolved) error {
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
			damaged = storecheck.Files(i.Damaged, i.Losses)
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
	case err != nil:
		c.say("store", doctor.Problem, "%v", err)
		return nil
	}
	c.found = append(c.found, storecheck.Store(ctx, e)...)
	c.found = append(c.found, storecheck.Logs(ctx, e, time.Now())...)
	return command.Failed(e.Close(context.WithoutCancel(ctx)))
}

// held reports which process uses the store, and whether that is ready.
func (c *checks) held(ctx context.Context, t configflags.Resolved) {
	dir, _ := c.storing.Dir()
	c.say("store", doctor.OK, "process %d uses %s; its logs can be read when the process has ended", lockfile.Holder(dir), dir)
	losses, err := jetstream.Losses(dir)
	if err != nil {
		c.say("store", doctor.Problem, "%v", err)
	}
	c.found = append(c.found, storecheck.Losses(losses)...)
	c.found = append(c.found, doctor.Ready(ctx, t.Config.URL()))
}

// keys reports which keys are set.
func (c *checks) keys() {
	ready := app.Suggestions(c.storing.Streams.Env)
	if len(ready) == 0 {
		c.say("keys", doctor.Warning, "none set: `run` and conversations have no model, and clients of the gateway need their own keys")
		return
	}
	c.say("keys", doctor.OK, "%s", strings.Join(ready, ", "))
}

// versions warns of a base URL for OpenAI's API without the version that the clients' paths lack.
func (c *checks) versions() {
	for _, b := range app.Bases(c.storing.Streams.Env) {
		if b.Provider == "openai" && strings.Trim(b.URL.Path, "/") == "" {
			c.say(b.Variable, doctor.Warning, "%s has no /v1, and clients add none: want %s", b.URL.Redacted(), b.URL.JoinPath("v1").Redacted())
		}
	}
}
