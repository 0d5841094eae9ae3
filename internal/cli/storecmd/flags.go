package storecmd

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/background"
	"github.com/ridethrough/ridethrough/store/bolt"
	"github.com/ridethrough/ridethrough/store/nats"
)

// Flags are the flags about the store. [Flags.AddAll] or AddFlags adds them to a command.
type Flags struct {
	Streams  command.Streams
	Data     string // of the flag --data; "": as the environment says
	Replicas int    // on NATS servers, unless a flag or the environment says otherwise; 0: as many as is usual

	nats, creds, ca, replicas string // of the flags
}

// ErrNone is the error of [Flags.Open] without a store.
var ErrNone = errors.New("conversations are not stored: --data is " + None)

// AddAll adds all flags.
func (o *Flags) AddAll(cmd *cobra.Command) {
	o.AddFlags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&o.nats, "nats", "", "`URL` of NATS servers that store the conversations instead, such as tls://nats.internal:4222 [RIDETHROUGH_NATS]")
	flags.StringVar(&o.creds, "nats-creds", "", "the credentials file for the NATS servers [RIDETHROUGH_NATS_CREDS]")
	flags.StringVar(&o.ca, "nats-ca", "", "the file with the CA certificates of the NATS servers [RIDETHROUGH_NATS_CA]")
	flags.StringVar(&o.replicas, "nats-replicas", "", "how many NATS servers have a copy: `N` from 1 to 5 (default one on each server, up to 3) [RIDETHROUGH_NATS_REPLICAS]")
	cmd.MarkFlagsMutuallyExclusive("data", "nats")
}

// Named reports whether a flag names the store, which overrides the environment.
func (o *Flags) Named() bool { return o.Data != "" || o.nats != "" }

// URL returns the address of the NATS servers; "": the store is a directory.
func (o *Flags) URL() string {
	if o.Data != "" {
		return "" // a flag overrides the environment
	}
	return cmp.Or(o.nats, o.Streams.Env("RIDETHROUGH_NATS"))
}

// Open opens the store, and creates it if it does not exist. The error is [ErrNone]
// if conversations are not stored.
func (o *Flags) Open(ctx context.Context, log *slog.Logger) (store.Store, error) {
	if o.URL() != "" {
		return o.dial(ctx, false, log)
	}
	dir, err := o.Dir()
	if err != nil {
		return nil, err
	}
	if dir == None {
		return nil, command.Failed(ErrNone)
	}
	e, err := bolt.Open(ctx, bolt.Config{Dir: dir, Log: log})
	if errors.Is(err, store.ErrInUse) {
		err = fmt.Errorf("%w; stop it, or choose another directory with --data", err)
	}
	return e, command.Failed(err)
}

// OpenInBackground is [Flags.Open] for a caller that does not wait for the store. It returns an error only for
// impossible settings.
func (o *Flags) OpenInBackground(log *slog.Logger) (*background.Store, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	return background.Open(func(ctx context.Context) (store.Store, error) { return o.Open(ctx, log) }, log), nil
}

func (o *Flags) check() error {
	if o.URL() != "" {
		_, err := o.remote()
		return err
	}
	dir, err := o.Dir()
	if err != nil {
		return err
	}
	if dir == None {
		return command.Failed(ErrNone)
	}
	return nil
}

// OpenExisting is [Flags.Open] for a store that must exist.
func (o *Flags) OpenExisting(ctx context.Context, log *slog.Logger) (store.Store, error) {
	if o.URL() != "" {
		return o.dial(ctx, true, log)
	}
	dir, err := o.Dir()
	if err != nil {
		return nil, err
	}
	if dir != None && !bolt.Exists(dir) {
		return nil, command.Failed(fmt.Errorf("no conversations in %s", dir))
	}
	return o.Open(ctx, log)
}

func (o *Flags) dial(ctx context.Context, existing bool, log *slog.Logger) (store.Store, error) {
	r, err := o.remote()
	if err != nil {
		return nil, err
	}
	r.Existing, r.Log = existing, log
	s, err := nats.Dial(ctx, r)
	return s, command.Failed(err)
}

// remote returns how the NATS servers are reached. A mistake in the settings is one of the configuration.
func (o *Flags) remote() (nats.Remote, error) {
	r, err := o.readRemote()
	if err != nil {
		return r, command.WithCode(err, command.ExitConfig)
	}
	return r, nil
}

func (o *Flags) readRemote() (nats.Remote, error) {
	if err := checkNATS(o.URL()); err != nil {
		return nats.Remote{}, err
	}
	r := nats.Remote{URL: o.URL(), Credentials: cmp.Or(o.creds, o.Streams.Env("RIDETHROUGH_NATS_CREDS")), Replicas: o.Replicas}
	if n := cmp.Or(o.replicas, o.Streams.Env("RIDETHROUGH_NATS_REPLICAS")); n != "" {
		var err error
		if r.Replicas, err = strconv.Atoi(n); err != nil || r.Replicas < 1 || r.Replicas > nats.MaxReplicas {
			return r, fmt.Errorf("--nats-replicas %s: want a number from 1 to %d", n, nats.MaxReplicas)
		}
	}
	if file := cmp.Or(o.ca, o.Streams.Env("RIDETHROUGH_NATS_CA")); file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return r, err
		}
		r.TLS = &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
		if !r.TLS.RootCAs.AppendCertsFromPEM(text) {
			return r, fmt.Errorf("no certificate in %s", file)
		}
	}
	return r, nil
}

// checkNATS returns an error if an address of NATS servers is invalid. The error does not repeat the address, which
// may have a password.
func checkNATS(urls string) error {
	for one := range strings.SplitSeq(urls, ",") {
		scheme, _, stated := strings.Cut(strings.TrimSpace(one), "://")
		if stated && !slices.Contains([]string{"nats", "tls", "ws", "wss"}, strings.ToLower(scheme)) {
			return fmt.Errorf("--nats %s://…: want the address of a NATS server, such as nats://127.0.0.1:4222 or tls://nats.internal:4222", scheme)
		}
	}
	return nil
}

// None is the value of --data for no directory.
const None = "none"

// ErrNotDirectory reports a file in place of the data directory.
var ErrNotDirectory = errors.New("it is no directory")

// AddFlags adds the flag about the directory.
func (o *Flags) AddFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.Data, "data", "", "the `DIR` of what is kept, such as conversations, or none (default ridethrough in $XDG_DATA_HOME or ~/.local/share) [RIDETHROUGH_DATA]")
}

// Dir returns the data directory, or [None]. A path that is no directory is a configuration error.
func (o *Flags) Dir() (string, error) {
	if dir := cmp.Or(o.Data, o.Streams.Env("RIDETHROUGH_DATA")); dir == None {
		return dir, nil
	} else if dir != "" {
		return dir, checkDir(dir)
	}
	home := o.Streams.Env("XDG_DATA_HOME")
	if !filepath.IsAbs(home) {
		home = filepath.Join(o.Streams.Env("HOME"), ".local", "share")
	}
	if !filepath.IsAbs(home) {
		return "", command.Misconfigured("RIDETHROUGH_DATA", errors.New("no home directory; name a directory, or none"))
	}
	return filepath.Join(home, "ridethrough"), nil
}

func checkDir(dir string) error {
	info, err := os.Stat(dir)
	if errors.Is(err, syscall.ENOTDIR) || err == nil && !info.IsDir() {
		return command.Misconfigured("--data "+dir, ErrNotDirectory)
	}
	return nil
}
