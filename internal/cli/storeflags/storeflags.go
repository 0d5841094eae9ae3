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
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/background"
	"github.com/ridethrough/ridethrough/store/jetstream"
)

// Flags are the flags about the store. [Flags.AddAll] or [Flags.AddData] adds them to a command.
type Flags struct {
	Streams command.Streams
	command *cobra.Command

	Data, nats, creds, ca string // of the flags
}

// None is the value of --data for no store.
const None = "none"

// ErrNone is the error of [Flags.Open] without a store.
var ErrNone = errors.New("conversations are not stored: --data is " + None)

// AddAll adds all flags.
func (o *Flags) AddAll(cmd *cobra.Command) {
	o.AddData(cmd)
	flags := cmd.Flags()
	flags.StringVar(&o.nats, "nats", "", "`URL` of NATS servers that store the conversations instead, such as tls://nats.internal:4222 [RIDETHROUGH_NATS]")
	flags.StringVar(&o.creds, "nats-creds", "", "the credentials file for the NATS servers [RIDETHROUGH_NATS_CREDS]")
	flags.StringVar(&o.ca, "nats-ca", "", "the file with the CA certificates of the NATS servers [RIDETHROUGH_NATS_CA]")
	cmd.MarkFlagsMutuallyExclusive("data", "nats")
}

// AddData adds only the flag that names a directory.
func (o *Flags) AddData(cmd *cobra.Command) {
	o.command = cmd
	cmd.Flags().StringVar(&o.Data, "data", "", "the `DIR` of stored conversations, or none (default ridethrough in $XDG_DATA_HOME or ~/.local/share) [RIDETHROUGH_DATA]")
}

// URL returns the address of the NATS servers; "": the store is a directory.
func (o *Flags) URL() string {
	if o.Data != "" {
		return "" // a flag overrides the environment
	}
	return cmp.Or(o.nats, o.Streams.Env("RIDETHROUGH_NATS"))
}

// Dir returns the data directory, or [None].
func (o *Flags) Dir() (string, error) {
	if dir := cmp.Or(o.Data, o.Streams.Env("RIDETHROUGH_DATA")); dir != "" {
		return dir, nil
	}
	home := o.Streams.Env("XDG_DATA_HOME")
	if !filepath.IsAbs(home) {
		home = filepath.Join(o.Streams.Env("HOME"), ".local", "share")
	}
	if !filepath.IsAbs(home) {
		return "", command.Misconfigured("RIDETHROUGH_DATA", errors.New("no home directory; name a directory for conversations, or none"))
	}
	return filepath.Join(home, "ridethrough"), nil
}

// Open opens the store, and creates it if it does not exist. The error is [ErrNone]
// if conversations are not stored.
func (o *Flags) Open(ctx context.Context, log *slog.Logger) (store.Store, error) {
	if url := o.URL(); url != "" {
		e, err := o.dial(ctx, url, log)
		return e, command.Failed(err)
	}
	dir, err := o.Dir()
	if err != nil {
		return nil, err
	}
	if dir == None {
		return nil, command.Failed(ErrNone)
	}
	e, err := jetstream.Open(ctx, jetstream.Config{Dir: dir, Log: log})
	if errors.Is(err, store.ErrInUse) {
		err = fmt.Errorf("%w; stop it, or choose another directory with --data", err)
	}
	return e, command.Failed(err)
}

// OpenInBackground is [Flags.Open] for a caller that does not wait for the store. Only settings that cannot be
// right are an error.
func (o *Flags) OpenInBackground(log *slog.Logger) (*background.Store, error) {
	if o.URL() == "" {
		dir, err := o.Dir()
		if err != nil {
			return nil, err
		}
		if dir == None {
			return nil, command.Failed(ErrNone)
		}
	}
	return background.Open(func(ctx context.Context) (store.Store, error) { return o.Open(ctx, log) }, log), nil
}

// OpenExisting is [Flags.Open] for a store that must exist.
func (o *Flags) OpenExisting(ctx context.Context, log *slog.Logger) (store.Store, error) {
	if o.URL() != "" {
		return o.Open(ctx, log)
	}
	dir, err := o.Dir()
	if err != nil {
		return nil, err
	}
	if dir != None && !jetstream.Exists(dir) {
		return nil, command.Failed(fmt.Errorf("no conversations in %s", dir))
	}
	return o.Open(ctx, log)
}

// dial connects to the NATS servers.
func (o *Flags) dial(ctx context.Context, url string, log *slog.Logger) (store.Store, error) {
	r := jetstream.Remote{URL: url, Credentials: cmp.Or(o.creds, o.Streams.Env("RIDETHROUGH_NATS_CREDS")), Log: log}
	if file := cmp.Or(o.ca, o.Streams.Env("RIDETHROUGH_NATS_CA")); file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		r.TLS = &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
		if !r.TLS.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("no certificate in %s", file)
		}
	}
	return jetstream.Dial(ctx, r)
}
