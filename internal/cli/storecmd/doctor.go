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

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/app"
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/configflags"
	"github.com/ridethrough/ridethrough/internal/disk"
	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/internal/operation/doctor"
	"github.com/ridethrough/ridethrough/internal/operation/transfer"
	"github.com/ridethrough/ridethrough/internal/terminal/printable"
	"github.com/ridethrough/ridethrough/internal/text"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/bolt"
	"github.com/ridethrough/ridethrough/store/nats"
)

// Doctor returns the command `doctor`.
func Doctor(s command.Streams) *cobra.Command {
	c := &doctorCmd{settings: configflags.Flags{Streams: s}, storing: Flags{Streams: s}}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check configuration, store, keys and providers",
		Long: "doctor checks the configuration, the store of conversations with its disk and all its logs, the clock, the\n" +
			"keys, and whether the providers that are configured or have a key can be reached. It prints a line for each\n" +
			"check, at last \"ready\" or \"not ready\", and changes nothing. The exit code is 1 if there is a problem.\n" +
			"Warnings are about things that work but need attention. No key is ever shown or sent.\n\n" +
			"While `ridethrough serve` uses the store, doctor only checks that it is ready; it reads the logs when\n" +
			"`ridethrough serve` has stopped.",
		Example: "  ridethrough doctor\n  ridethrough doctor --offline --json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	c.storing.AddAll(cmd)
	c.settings.AddFile(cmd)
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	cmd.Flags().BoolVar(&c.offline, "offline", false, "contact no provider")
	return cmd
}

type doctorCmd struct {
	settings configflags.Flags
	storing  Flags

	json, offline bool
	found         []doctor.Finding
}

func (c *doctorCmd) say(check string, state doctor.State, format string, args ...any) {
	c.found = append(c.found, doctor.Find(check, state, format, args...))
}

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
	verdict := "ready"
	if !doctor.Well(c.found) {
		verdict = "not ready"
	}
	_, err := fmt.Fprintln(c.settings.Streams.Out, verdict)
	return err
}

// configuration checks the configuration of `serve`. If it is invalid, the other checks use the defaults.
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

// addresses returns the addresses to check: those of the gateway's upstreams, and the base URLs in the environment.
func (c *doctorCmd) addresses(t configflags.Resolved) (all []doctor.Address) {
	add := func(a doctor.Address) {
		bare := *a.URL
		bare.RawQuery, bare.Fragment = "", ""
		same := func(o doctor.Address) bool {
			return o.URL.String() == bare.String() || o.Name == a.Name && unversioned(o.URL) == unversioned(&bare)
		}
		if !slices.ContainsFunc(all, same) {
			a.URL, a.HasKey = &bare, c.hasKey(a.Name)
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
	for _, b := range app.Bases(c.storing.Streams.Env) {
		add(doctor.Address{Name: b.Provider, Variable: b.Variable, URL: b.URL})
	}
	return all
}

// unversioned strips the version from the end of an address's path: the same upstream may be configured with or
// without it.
func unversioned(u *url.URL) string {
	path := strings.TrimSuffix(u.Path, "/")
	return u.Scheme + "://" + u.Host + strings.TrimSuffix(strings.TrimSuffix(path, "/v1"), "/v1beta")
}

// reach concurrently contacts the upstreams that are configured or have a key. Without any, clients bring their own
// keys to one of the usual providers: those are one line.
func (c *doctorCmd) reach(ctx context.Context, all []doctor.Address) []doctor.Skew {
	usual := func(a doctor.Address) bool { return a.Default && !a.HasKey && a.Variable == "" }
	used := slices.DeleteFunc(slices.Clone(all), usual)
	if len(used) > 0 {
		all = used
	}
	found, clocks := make([]doctor.Finding, len(all)), make([][]doctor.Skew, len(all))
	var asking sync.WaitGroup
	for i, a := range all {
		asking.Go(func() { found[i], clocks[i] = doctor.Reach(ctx, a) })
	}
	asking.Wait()
	if len(used) == 0 {
		var answered []string
		for i, a := range all {
			if found[i].State == doctor.OK {
				answered = append(answered, a.Name)
			}
		}
		found = []doctor.Finding{doctor.Usual(answered)}
	}
	c.found = append(c.found, found...)
	return slices.Concat(clocks...)
}

func (c *doctorCmd) hasKey(provider string) bool {
	return slices.ContainsFunc(app.Suggestions(c.storing.Streams.Env), func(line string) bool { return strings.HasPrefix(line, provider+"/") })
}

func (c *doctorCmd) store(ctx context.Context, t configflags.Resolved) error {
	if c.storing.URL() == "" {
		dir, err := c.storing.Dir()
		if err != nil {
			return err
		}
		switch {
		case dir == None:
			c.say("store", doctor.OK, "none, as --data says")
			return nil
		case !bolt.Exists(dir):
			c.say("store", doctor.OK, "none in %s yet; `ridethrough serve` creates it", dir)
			return nil
		}
		problems, err := bolt.Check(dir) // without problems its error is that of OpenExisting, too
		for _, text := range problems {
			c.say("store", doctor.Problem, "the file of %s is damaged: %s", dir, text)
		}
		if len(problems) > 0 && err != nil {
			return nil
		}
	}
	e, err := c.storing.OpenExisting(ctx, slog.New(slog.DiscardHandler))
	switch {
	case errors.Is(err, nats.ErrNone):
		c.say("store", doctor.OK, "%v yet; `ridethrough serve` creates them", nats.ErrNone)
		return nil
	case errors.Is(err, store.ErrInUse):
		c.held(ctx, t)
		return nil
	case err != nil:
		c.say("store", doctor.Problem, "%v", err)
		return nil
	}
	c.found = append(c.found, CheckStore(ctx, e)...)
	c.found = append(c.found, CheckLogs(ctx, e, time.Now())...)
	return command.Failed(e.Close(context.WithoutCancel(ctx)))
}

// held reports which process uses the store, and whether that process is ready.
func (c *doctorCmd) held(ctx context.Context, t configflags.Resolved) {
	dir, _ := c.storing.Dir()
	c.say("store", doctor.OK, "process %d uses %s; its logs can be read when the process has ended", disk.LockHolder(dir), dir)
	c.found = append(c.found, doctor.Ready(ctx, t.Config.URL()))
}

func (c *doctorCmd) keys() {
	ready := app.Suggestions(c.storing.Streams.Env)
	if len(ready) == 0 {
		c.say("keys", doctor.Warning, "none set: `run` and conversations have no model, and clients of the gateway need their own keys")
		return
	}
	c.say("keys", doctor.OK, "%s", strings.Join(ready, ", "))
}

// versions warns about a base URL for OpenAI's API without the version, which clients do not add to their paths.
func (c *doctorCmd) versions() {
	for _, b := range app.Bases(c.storing.Streams.Env) {
		if b.Provider == "openai" && strings.Trim(b.URL.Path, "/") == "" {
			c.say(b.Variable, doctor.Warning, "%s has no /v1, and clients add none: want %s", b.URL.Redacted(), b.URL.JoinPath("v1").Redacted())
		}
	}
}

// CheckStore checks a store's health.
func CheckStore(ctx context.Context, e store.Store) []doctor.Finding {
	h, err := e.Health(ctx)
	if err != nil {
		return []doctor.Finding{doctor.Find("store", doctor.Problem, "%v", err)}
	}
	contents := fmt.Sprintf("%s, %s; %s waiting, %d due", conversations(int(h.Logs)), size(h.Bytes), text.Count(int(h.Scheduled), "turn", "turns"), h.Due+h.Leased)
	if h.Mode == "remote" {
		return append([]doctor.Finding{
			doctor.Find("store", doctor.OK, "NATS servers of version %s, stored on %s: %s", h.Server, servers(h.Replicas), contents),
			doctor.Find("sync", doctor.Warning, "cannot see whether the servers have sync_interval: always; without it, a power failure loses acknowledged writes"),
		}, warnings(h)...)
	}
	all := []doctor.Finding{doctor.Find("store", doctor.OK, "%s, used by one process: %s", h.Dir, contents)}
	if !h.Full && h.FreeBytes > 0 {
		all = append(all, doctor.Find("disk", doctor.OK, "%s free", size(h.FreeBytes)))
	}
	if h.SyncLatency > 0 && len(h.Warnings) == 0 { // a slow disk is one of them
		all = append(all, doctor.Find("sync", doctor.OK, "the disk takes %v to sync a write", h.SyncLatency.Round(10*time.Microsecond)))
	}
	all = append(all, LossFindings(h.Losses)...)
	return append(all, warnings(h)...)
}

func conversations(n int) string { return text.Count(n, "conversation", "conversations") }

func servers(n int) string {
	if n == 1 {
		return "one server"
	}
	return fmt.Sprintf("%d servers", n)
}

const lossesShown = 20

// LossFindings reports what a store has lost.
func LossFindings(all []store.Loss) (found []doctor.Finding) {
	for _, l := range all[:min(len(all), lossesShown)] {
		found = append(found, doctor.Find("store", doctor.Problem, "%s", l))
	}
	if more := len(all) - lossesShown; more > 0 {
		found = append(found, doctor.Find("store", doctor.Problem, "and %s", text.Count(more, "more loss", "more losses")))
	}
	return found
}

// warnings returns the store's own warnings, which are problems if it is full.
func warnings(h store.Health) (all []doctor.Finding) {
	state := doctor.Warning
	if h.Full {
		state = doctor.Problem
	}
	for _, text := range h.Warnings {
		all = append(all, doctor.Find("store", state, "%s", text))
	}
	return all
}

func size(n uint64) string {
	const units = "kMGT"
	if n < 1000 {
		return fmt.Sprintf("%d bytes", n)
	}
	f, i := float64(n)/1000, 0
	for ; f >= 1000 && i < len(units)-1; i++ {
		f /= 1000
	}
	return fmt.Sprintf("%.1f %cB", f, units[i])
}

// CheckLogs reads all conversations and reports the damaged ones.
func CheckLogs(ctx context.Context, e store.Store, now time.Time) (all []doctor.Finding) {
	h := conversation.New(conversation.Config{Store: e})
	var logs, records, active int64
	future := ""
	for head, err := range transfer.All(ctx, e) {
		var v conversation.View
		if err == nil {
			v, err = h.Get(ctx, head.ID)
		}
		_, damaged := errors.AsType[*store.Damage](err)
		switch {
		case damaged:
			all = append(all, doctor.Find("logs", doctor.Problem, "%v", err))
		case errors.Is(err, conversation.ErrNotFound), errors.Is(err, store.ErrDeleted):
		case err != nil:
			return append(all, doctor.Find("logs", doctor.Problem, "%v", err))
		case len(v.Lost) > 0:
			for _, d := range v.Lost {
				all = append(all, doctor.Find("logs", doctor.Problem, "%v", &d))
			}
		default:
			logs, records = logs+1, records+v.Last
			if v.Turn != "" || len(v.Inputs) > 0 {
				active++
			}
			if v.Changed.After(now.Add(doctor.MaxSkew)) {
				future = fmt.Sprintf("conversation %s was written at %s", v.ID, v.Changed.Format(time.RFC3339))
			}
		}
	}
	if future != "" {
		all = append(all, doctor.Find("clock", doctor.Warning, "%s, in the future: the clock has been set back, or was wrong", future))
	}
	return append(all, doctor.Find("logs", doctor.OK, "%s with %s intact; %d active", conversations(int(logs)), text.Count(int(records), "record", "records"), active))
}
