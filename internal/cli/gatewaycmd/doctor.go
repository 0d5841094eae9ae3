package gatewaycmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/configflags"
	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/internal/operation/doctor"
	"github.com/ridethrough/ridethrough/internal/terminal/printable"
)

// Checks are what `doctor` checks besides the gateway, such as the store of conversations.
type Checks interface {
	Describe(doctor *cobra.Command) // sets its texts and adds flags
	Check(ctx context.Context, of configflags.Resolved) ([]doctor.Finding, error)
	Addresses() []doctor.Address // to contact besides the upstreams
	HasKey(provider string) bool // there is a key for it
}

// Doctor returns the command `doctor`. more may be nil.
func Doctor(s command.Streams, more Checks) *cobra.Command {
	c := &doctorCmd{settings: configflags.Flags{Streams: s}, more: more}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check configuration, clock and providers",
		Long: "doctor checks the configuration, the clock, and whether the providers can be reached. It prints a line for each\n" +
			"check and changes nothing. The exit code is 1 if there is a problem. Warnings are about things that work but\n" +
			"need attention. No key is ever shown or sent.",
		Example: "  ridethrough doctor\n  ridethrough doctor --offline --json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	if more != nil {
		more.Describe(cmd)
	}
	c.settings.AddFile(cmd)
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	cmd.Flags().BoolVar(&c.offline, "offline", false, "contact no provider")
	return cmd
}

// doctorCmd is a call of `doctor`.
type doctorCmd struct {
	settings configflags.Flags
	more     Checks // nil: none

	json, offline bool
	found         []doctor.Finding
}

// say adds a finding.
func (c *doctorCmd) say(check string, state doctor.State, format string, args ...any) {
	c.found = append(c.found, doctor.Find(check, state, format, args...))
}

// run runs all checks.
func (c *doctorCmd) run(ctx context.Context) error {
	began := time.Now()
	t := c.configuration()
	if c.more != nil {
		found, err := c.more.Check(ctx, t)
		if err != nil {
			return err
		}
		c.found = append(c.found, found...)
	}
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
		return json.NewEncoder(command.JSON(c.settings.Streams.Out)).Encode(struct {
			OK       bool             `json:"ok"`
			Findings []doctor.Finding `json:"findings"`
		}{doctor.Well(c.found), c.found})
	}
	for _, f := range c.found {
		text := strings.ReplaceAll(printable.Text(f.Text), "\n", "\n         ")
		if _, err := fmt.Fprintf(c.settings.Streams.Out, "%-8s %s: %s\n", f.State, f.Check, text); err != nil {
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

// addresses returns the addresses to check: those of the gateway's upstreams, and more.
func (c *doctorCmd) addresses(t configflags.Resolved) (all []doctor.Address) {
	add := func(a doctor.Address) {
		bare := *a.URL
		bare.RawQuery, bare.Fragment = "", ""
		same := func(o doctor.Address) bool {
			return o.URL.String() == bare.String() || o.Name == a.Name && unversioned(o.URL) == unversioned(&bare)
		}
		if !slices.ContainsFunc(all, same) {
			a.URL, a.HasKey = &bare, c.more != nil && c.more.HasKey(a.Name)
			all = append(all, a)
		}
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
		add(doctor.Address{
			Name: u.Name, URL: base, Default: usual[u.API] != nil && base.String() == usual[u.API].String(), Transport: u.Network.Standard(doctor.Timeout),
		})
	}
	if c.more != nil {
		for _, a := range c.more.Addresses() {
			add(a)
		}
	}
	return all
}

// unversioned returns an address without the version at the end of its path: the same upstream may have it or not.
func unversioned(u *url.URL) string {
	path := strings.TrimSuffix(u.Path, "/")
	return u.Scheme + "://" + u.Host + strings.TrimSuffix(strings.TrimSuffix(path, "/v1"), "/v1beta")
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
