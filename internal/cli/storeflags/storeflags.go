// Package storeflags opens the store of conversations that flags and the
// environment name: a directory or NATS servers.
package storeflags

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/datadir"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/background"
	"github.com/ridethrough/ridethrough/store/jetstream"
)

// Flags are the flags about the store. [Flags.AddAll] or AddFlags adds them to a command.
type Flags struct {
	datadir.Flags
	Replicas int // on NATS servers, unless a flag or the environment says otherwise; 0: as many as is usual

	nats, creds, ca, replicas string // of the flags
}

// New returns flags for a command with streams.
func New(s command.Streams) Flags { return Flags{Flags: datadir.Flags{Streams: s}} }

// ErrNone is the error of [Flags.Open] without a store.
var ErrNone = errors.New("conversations are not stored: --data is " + datadir.None)

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
	if dir == datadir.None {
		return nil, command.Failed(ErrNone)
	}
	e, err := jetstream.Open(ctx, jetstream.Config{Dir: dir, Log: log})
	return e, failed(err)
}

// failed returns the error of a command that could not open the store in a directory.
func failed(err error) error {
	if errors.Is(err, store.ErrInUse) {
		err = fmt.Errorf("%w; stop it, or choose another directory with --data", err)
	}
	return command.Failed(err)
}

// OpenInBackground is [Flags.Open] for a caller that does not wait for the store. The store in a directory is
// opened when it is used. Only settings that cannot be right are an error.
func (o *Flags) OpenInBackground(log *slog.Logger) (*background.Store, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.URL() != "" {
		return background.Open(func(ctx context.Context) (store.Store, error) { return o.dial(ctx, false, log) }, log), nil
	}
	return background.OpenWhenUsed(func(context.Context) (background.Reservation, error) { return o.reserve(log) }, log), nil
}

// reserve reserves the store in the directory.
func (o *Flags) reserve(log *slog.Logger) (background.Reservation, error) {
	dir, err := o.Dir()
	if err != nil {
		return nil, err
	}
	r, err := jetstream.Reserve(jetstream.Config{Dir: dir, Log: log})
	if err != nil {
		return nil, failed(err)
	}
	return r, nil
}

// check returns an error for settings that cannot be right.
func (o *Flags) check() error {
	if o.URL() != "" {
		_, err := o.remote()
		return command.Failed(err)
	}
	dir, err := o.Dir()
	if err != nil {
		return err
	}
	if dir == datadir.None {
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
	if dir != datadir.None && !jetstream.Exists(dir) {
		return nil, command.Failed(fmt.Errorf("no conversations in %s", dir))
	}
	return o.Open(ctx, log)
}

// dial uses the store on the NATS servers.
func (o *Flags) dial(ctx context.Context, existing bool, log *slog.Logger) (store.Store, error) {
	r, err := o.remote()
	if err != nil {
		return nil, command.Failed(err)
	}
	r.Existing, r.Log = existing, log
	s, err := jetstream.Dial(ctx, r)
	return s, command.Failed(err)
}

// remote returns what flags and the environment say of the NATS servers.
func (o *Flags) remote() (jetstream.Remote, error) {
	r := jetstream.Remote{URL: o.URL(), Credentials: cmp.Or(o.creds, o.Streams.Env("RIDETHROUGH_NATS_CREDS")), Replicas: o.Replicas}
	if n := cmp.Or(o.replicas, o.Streams.Env("RIDETHROUGH_NATS_REPLICAS")); n != "" {
		var err error
		if r.Replicas, err = strconv.Atoi(n); err != nil || r.Replicas < 1 || r.Replicas > jetstream.MaxReplicas {
			return r, fmt.Errorf("--nats-replicas %s: want a number from 1 to %d", n, jetstream.MaxReplicas)
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
