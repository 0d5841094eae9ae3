package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/policy"
)

// settings is where the configuration of `serve` comes from: flags, the
// environment, a file. The one before wins.
type settings struct {
	cmd       *cobra.Command
	s         Streams
	upstreams []string // of the flag
}

// flags adds the flags that mirror the configuration to a command.
func (f *settings) flags(cmd *cobra.Command) {
	f.cmd = cmd
	flags := cmd.Flags()
	f.fileFlag(cmd)
	flags.String("listen", config.DefaultListen, "address to listen on; port 0 takes a free one [RIDETHROUGH_LISTEN]")
	flags.String("policy", "patient", "when to try again: "+list(policy.Presets())+", none, one of the file, or a file that holds one [RIDETHROUGH_POLICY]")
	flags.String("log", "info", "the least level that is logged: debug, info, warn or error [RIDETHROUGH_LOG]")
	flags.StringArrayVar(&f.upstreams, "upstream", nil, "another base URL for a provider, as NAME=URL; NAME is one of "+
		list(gateway.APIs())+", or of the file [RIDETHROUGH_UPSTREAM_NAME]")
}

// fileFlag adds the flag that names the file.
func (f *settings) fileFlag(cmd *cobra.Command) {
	f.cmd = cmd
	cmd.Flags().String("config", "", "file with the configuration; the default is ridethrough/config.yaml in $XDG_CONFIG_HOME or ~/.config, if there is one [RIDETHROUGH_CONFIG]")
}

// file gives the path of the file, and whether somebody has named it; "": there
// is no place for one.
func (f *settings) file() (path string, named bool) {
	if flag := f.cmd.Flags().Lookup("config"); flag != nil && flag.Changed {
		return flag.Value.String(), true
	}
	if path := f.s.Env("RIDETHROUGH_CONFIG"); path != "" {
		return path, true
	}
	home := f.s.Env("XDG_CONFIG_HOME")
	if !filepath.IsAbs(home) {
		home = filepath.Join(f.s.Env("HOME"), ".config")
	}
	if !filepath.IsAbs(home) {
		return "", false
	}
	return filepath.Join(home, "ridethrough", "config.yaml"), false
}

// read gives the configuration as it is in force.
func (f *settings) read() (config.Config, error) {
	path, named := f.file()
	c, err := config.Load(path)
	if errors.Is(err, fs.ErrNotExist) && !named {
		c, err = config.Parse("", nil)
	}
	if err != nil {
		return c, failure{err, exitConfig}
	}
	for _, name := range []string{"listen", "policy", "log", "hosts"} {
		if err := f.setting(&c, name); err != nil {
			return c, err
		}
	}
	if f.s.Env("RIDETHROUGH_TOKEN") != "" { // the secret itself: the configuration only knows where it is
		_ = c.Set("token", "RIDETHROUGH_TOKEN", "RIDETHROUGH_TOKEN")
	}
	return c, f.bases(&c)
}

// setting puts a flag or a variable in the place of what the file says:
// --listen, RIDETHROUGH_LISTEN.
func (f *settings) setting(c *config.Config, name string) error {
	if flag := f.cmd.Flags().Lookup(name); flag != nil && flag.Changed {
		if err := c.Set(name, flag.Value.String(), "--"+name); err != nil {
			return fmt.Errorf("--%s: %w", name, err)
		}
		return nil
	}
	variable := "RIDETHROUGH_" + strings.ToUpper(name)
	if value := f.s.Env(variable); value != "" {
		if err := c.Set(name, value, variable); err != nil {
			return misconfigured(variable, err)
		}
	}
	return nil
}

// bases puts other base URLs in the place of the upstreams': those of
// RIDETHROUGH_UPSTREAM_NAME, then those of --upstream NAME=URL.
func (f *settings) bases(c *config.Config) error {
	for _, name := range slices.Concat(c.Upstreams(), gateway.APIs()) {
		variable := "RIDETHROUGH_UPSTREAM_" + strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(name))
		if base := f.s.Env(variable); base != "" {
			if err := c.SetUpstream(name, base, variable); err != nil {
				return misconfigured(variable, err)
			}
		}
	}
	for _, flag := range f.upstreams {
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

// terms are what a configuration comes to: all that `serve` needs.
type terms struct {
	config  config.Config
	gateway gateway.Config
	token   string
	level   slog.Level
}

// terms reads the configuration and looks for all that it needs. Whoever
// reaches the gateway can use what it forwards to, so that one that others
// reach has to have a token.
func (f *settings) terms() (t terms, err error) {
	if t.config, err = f.read(); err != nil {
		return t, err
	}
	if t.gateway, err = t.config.Gateway(f.s.Env); err != nil {
		return t, failure{err, exitConfig}
	}
	if t.token, err = t.config.Token(f.s.Env); err != nil {
		return t, failure{err, exitConfig}
	}
	if host, _, _ := net.SplitHostPort(t.config.Listen); t.token == "" && !isLocal(host) {
		return t, failure{fmt.Errorf("%s is open to other machines, and whoever reaches the gateway can use it: give it a token "+
			"that clients have to show, in RIDETHROUGH_TOKEN or as token in the configuration, or listen on %s", t.config.Listen, config.DefaultListen), exitConfig}
	}
	return t, t.level.UnmarshalText([]byte(t.config.Log))
}

// loopback checks an address to listen on. Whoever reaches the gateway can use
// what it forwards to, so it stays on this machine.
func loopback(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if n, perr := strconv.Atoi(port); err != nil || perr != nil || n < 0 || n > 65535 {
		return fmt.Errorf("%q is no address; want HOST:PORT, such as 127.0.0.1:8484", addr)
	}
	if !isLocal(host) {
		return fmt.Errorf("%q is open to other machines; want an address of this one, such as 127.0.0.1:8484, with a proxy in front that asks for credentials if others are to use it", addr)
	}
	return nil
}

// listen opens an address; its errors say what to do.
func listen(addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err == nil {
		return l, nil
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s is in use; stop what listens there or choose another address with --listen", addr)
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err
	}
	return nil, fmt.Errorf("cannot listen on %s: %w; choose another address with --listen", addr, err)
}

// list writes names for people: "a, b and c".
func list(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}
