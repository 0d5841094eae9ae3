// Package configflags reads the configuration from flags, the environment and
// a file, in this order of precedence, and says what a policy does.
package configflags

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/operation/access"
	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/internal/operation/notify"
)

// Flags are the flags about the configuration. [Flags.AddAll] or [Flags.AddFile] adds them to a command.
type Flags struct {
	Command     *cobra.Command
	Streams     command.Streams
	Unprotected bool     // the gateway is for a program on this machine: on a free port, without TLS and tokens
	Upstreams   []string // of the flag --upstream

	DefaultMaxWait time.Duration // where neither flag, environment nor file limits waiting; 0: the limit of each policy
}

// AddAll adds all flags that mirror the configuration.
func (f *Flags) AddAll(cmd *cobra.Command) {
	f.Command = cmd
	flags := cmd.Flags()
	f.AddFile(cmd)
	flags.String("listen", config.DefaultListen, "the address to listen on; port 0 picks a free port [RIDETHROUGH_LISTEN]")
	flags.String("policy", "patient", "the retry policy: patient, interactive, attended, worker, none, one from the configuration, or a file with one [RIDETHROUGH_POLICY]")
	flags.String("max-wait", "", "the longest that a call waits in all (default: the limit of its policy) [RIDETHROUGH_MAX_WAIT]")
	flags.String("log", "info", "the lowest level that is logged: debug, info, warn or error [RIDETHROUGH_LOG]")
	flags.StringArrayVar(&f.Upstreams, "upstream", nil, "the base URL of an upstream, as NAME=URL; NAME is "+
		strings.Join(gateway.APIs(), ", ")+" or one from the configuration; repeatable [RIDETHROUGH_UPSTREAM_NAME]")
}

// AddFile adds the flag that names the configuration file.
func (f *Flags) AddFile(cmd *cobra.Command) {
	f.Command = cmd
	cmd.Flags().String("config", "", "the configuration file (default ridethrough/config.yaml in $XDG_CONFIG_HOME or ~/.config, if it exists) [RIDETHROUGH_CONFIG]")
}

// File returns the path of the configuration file, "" without a home directory,
// and reports whether the user has named it.
func (f *Flags) File() (path string, named bool) {
	if flag := f.Command.Flags().Lookup("config"); flag != nil && flag.Changed {
		return flag.Value.String(), true
	}
	if path := f.Streams.Env("RIDETHROUGH_CONFIG"); path != "" {
		return path, true
	}
	home := f.Streams.Env("XDG_CONFIG_HOME")
	if !filepath.IsAbs(home) {
		home = filepath.Join(f.Streams.Env("HOME"), ".config")
	}
	if !filepath.IsAbs(home) {
		return "", false
	}
	return filepath.Join(home, "ridethrough", "config.yaml"), false
}

// Read returns the configuration in force: flags override the environment, which overrides the file.
func (f *Flags) Read() (config.Config, error) {
	path, named := f.File()
	c, err := config.Load(path)
	if errors.Is(err, fs.ErrNotExist) && !named {
		c, err = config.Parse("", nil)
	}
	if err != nil {
		return c, command.WithCode(err, command.ExitConfig)
	}
	for _, name := range []string{"listen", "policy", "max-wait", "log", "hosts", "origins"} {
		if err := f.override(&c, name); err != nil {
			return c, err
		}
	}
	if f.DefaultMaxWait > 0 {
		c.UseMaxWait(f.DefaultMaxWait, "a job of a CI system")
	}
	if f.Streams.Env("RIDETHROUGH_TOKEN") != "" { // the configuration names the variable, not the secret
		_ = c.Set("token", "RIDETHROUGH_TOKEN", "RIDETHROUGH_TOKEN")
	}
	if f.Unprotected {
		c.Unprotect()
		_ = c.Set("listen", "127.0.0.1:0", "exec")
	}
	return c, f.overrideUpstreams(&c)
}

// override applies the flag or variable of a field, such as --listen or RIDETHROUGH_LISTEN.
func (f *Flags) override(c *config.Config, name string) error {
	if flag := f.Command.Flags().Lookup(name); flag != nil && flag.Changed {
		if err := c.Set(name, flag.Value.String(), "--"+name); err != nil {
			return fmt.Errorf("--%s: %w", name, err)
		}
		return nil
	}
	variable := "RIDETHROUGH_" + strings.ToUpper(name)
	if value := f.Streams.Env(variable); value != "" {
		if err := c.Set(name, value, variable); err != nil {
			return command.Misconfigured(variable, err)
		}
	}
	return nil
}

// overrideUpstreams applies RIDETHROUGH_UPSTREAM_NAME, then --upstream NAME=URL.
func (f *Flags) overrideUpstreams(c *config.Config) error {
	for _, name := range slices.Concat(c.Upstreams(), gateway.APIs()) {
		variable := "RIDETHROUGH_UPSTREAM_" + strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(name))
		if base := f.Streams.Env(variable); base != "" {
			if err := c.SetUpstream(name, base, variable); err != nil {
				return command.Misconfigured(variable, err)
			}
		}
	}
	for _, flag := range f.Upstreams {
		name, base, ok := strings.Cut(flag, "=")
		if !ok {
			return errors.New("--upstream: want NAME=URL, such as anthropic=http://127.0.0.1:8485")
		}
		if err := c.SetUpstream(name, base, "--upstream"); err != nil {
			return fmt.Errorf("--upstream %s: %w", name, err)
		}
	}
	return nil
}

// Faults returns what classifies faults, with the user's own readings, whose file it follows. It reports mistakes
// in the file on standard error.
func (f *Flags) Faults(c *config.Config) classify.Classifier {
	path, named := f.FaultsFile(c)
	file := config.OpenFaults(path, named, func(int, string) {})
	for _, w := range file.Warnings() {
		fmt.Fprintln(f.Streams.Err, w)
	}
	return classify.Classifier{Judges: []classify.Judge{file.Judge}}
}

// FaultsFile returns the path of the file with the user's own readings of faults, and whether the configuration
// names it. The path is "" without a home directory.
func (f *Flags) FaultsFile(c *config.Config) (path string, named bool) {
	beside, _ := f.File()
	return c.Faults(f.Streams.Env, beside)
}

// Resolved is a configuration with everything it refers to.
type Resolved struct {
	Config  config.Config
	Gateway gateway.Config
	Token   string
	Tokens  func() []access.Token // nil: none
	Level   slog.Level
	Notices notify.Settings
}

// Resolve reads the configuration and its keys and files. A gateway that other
// machines can reach must have a token, since its clients can use every upstream.
func (f *Flags) Resolve() (t Resolved, err error) {
	if t.Config, err = f.Read(); err != nil {
		return t, err
	}
	if t.Gateway, err = t.Config.Gateway(f.Streams.Env); err != nil {
		return t, command.WithCode(err, command.ExitConfig)
	}
	if t.Token, err = t.Config.Token(f.Streams.Env); err != nil {
		return t, command.WithCode(err, command.ExitConfig)
	}
	if _, err = t.Config.TLS(f.Streams.Env, func(*tls.Certificate, error) {}); err != nil {
		return t, command.WithCode(err, command.ExitConfig)
	}
	if t.Tokens, err = t.Config.Tokens(f.Streams.Env, func([]access.Token, error) {}); err != nil {
		return t, command.WithCode(err, command.ExitConfig)
	}
	if t.Notices, err = t.Config.Notices(f.Streams.Env); err != nil {
		return t, command.WithCode(err, command.ExitConfig)
	}
	if host, _, _ := net.SplitHostPort(t.Config.Listen); t.Token == "" && t.Tokens == nil && !command.IsLoopback(host) {
		return t, command.WithCode(fmt.Errorf("%s is open to other machines, so the gateway needs a token: "+
			"set RIDETHROUGH_TOKEN, or token or tokens in the configuration, or listen on %s", t.Config.Listen, config.DefaultListen), command.ExitConfig)
	}
	return t, t.Level.UnmarshalText([]byte(t.Config.Log))
}

// ForUser returns the configuration for a command with a waiting user. The policy of the flag or the environment
// applies to every upstream; without any policy the preset applies, by default of the command user.
func (f *Flags) ForUser(preset, user string) (conf config.Config, err error) {
	path, named := f.File()
	conf, err = config.Load(path)
	if errors.Is(err, fs.ErrNotExist) && !named {
		conf, err = config.Parse("", nil)
	}
	if err != nil {
		return conf, command.WithCode(err, command.ExitConfig)
	}
	if err := errors.Join(f.override(&conf, "policy"), f.overrideUpstreams(&conf)); err != nil {
		return conf, err
	}
	if conf.Overridden("policy") != "" {
		conf.UseOnePolicy()
	}
	conf.UseDefault(preset, "default of "+user)
	return conf, nil
}

// Explain returns an error in the configuration with the lines that it is about.
func Explain(err error) error {
	if _, ok := errors.AsType[config.Errors](err); !ok {
		return err
	}
	return ExplainIn(err, "the configuration")
}

// ExplainIn is [Explain] for another file. It adds the exit code to other errors too.
func ExplainIn(err error, what string) error {
	if err == nil {
		return nil
	}
	all, ok := errors.AsType[config.Errors](err)
	if !ok {
		return command.WithCode(err, command.ExitConfig)
	}
	mistakes := "a mistake"
	if len(all) > 1 {
		mistakes = fmt.Sprintf("%d mistakes", len(all))
	}
	return command.WithCode(fmt.Errorf("%s in %s\n%s", mistakes, what, config.Excerpts(all)), command.ExitConfig)
}
