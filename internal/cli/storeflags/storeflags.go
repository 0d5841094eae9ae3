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
	"github.com/ridethrough/ridethrough/store/jetstream"
)

// Flags is where a command keeps conversations: in a directory or on NATS
// servers, as flags and the environment say.
type Flags struct {
	Streams command.Streams
	command *cobra.Command

	Data, nats, creds, ca string // of the flags
}

// None is the name of the directory where nothing is kept.
const None = "none"

// ErrNone says that there is no store to open.
var ErrNone = errors.New("conversations are kept nowhere: --data is " + None)

// AddAll adds the flags that say where the store is.
func (o *Flags) AddAll(cmd *cobra.Command) {
	o.AddData(cmd)
	flags := cmd.Flags()
	flags.StringVar(&o.nats, "nats", "", "URL of NATS servers that keep the conversations instead, such as tls://nats.internal:4222 [RIDETHROUGH_NATS]")
	flags.StringVar(&o.creds, "nats-creds", "", "file with the credentials for them [RIDETHROUGH_NATS_CREDS]")
	flags.StringVar(&o.ca, "nats-ca", "", "file with the certificates that theirs are signed with [RIDETHROUGH_NATS_CA]")
	cmd.MarkFlagsMutuallyExclusive("data", "nats")
}

// AddData adds the flag that names a directory.
func (o *Flags) AddData(cmd *cobra.Command) {
	o.command = cmd
	cmd.Flags().StringVar(&o.Data, "data", "", "directory in which conversations are kept, or none; the default is ridethrough in $XDG_DATA_HOME or ~/.local/share [RIDETHROUGH_DATA]")
}

// URL gives the address of the servers; "": the store is in a directory.
func (o *Flags) URL() string {
	if o.Data != "" {
		return "" // a flag is nearer than the environment
	}
	return cmp.Or(o.nats, o.Streams.Env("RIDETHROUGH_NATS"))
}

// Dir gives the directory of the store, or of what belongs to it.
func (o *Flags) Dir() (string, error) {
	if dir := cmp.Or(o.Data, o.Streams.Env("RIDETHROUGH_DATA")); dir != "" {
		return dir, nil
	}
	home := o.Streams.Env("XDG_DATA_HOME")
	if !filepath.IsAbs(home) {
		home = filepath.Join(o.Streams.Env("HOME"), ".local", "share")
	}
	if !filepath.IsAbs(home) {
		return "", command.Misconfigured("RIDETHROUGH_DATA", errors.New("there is no home directory; say where conversations are to be kept, or none"))
	}
	return filepath.Join(home, "ridethrough"), nil
}

// Open opens the store, and makes it if it is not there. What goes wrong later
// is told to log. Where nothing is to be kept, the error is errNowhere.
func (o *Flags) Open(ctx context.Context, log *slog.Logger) (store.Store, error) {
	if url := o.URL(); url != "" {
		e, err := o.dial(ctx, url)
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
		err = fmt.Errorf("%w; end it, or choose another directory with --data", err)
	}
	return e, command.Failed(err)
}

// OpenExisting is open for commands that want a store that is there.
func (o *Flags) OpenExisting(ctx context.Context, log *slog.Logger) (store.Store, error) {
	if o.URL() != "" {
		return o.Open(ctx, log)
	}
	dir, err := o.Dir()
	if err != nil {
		return nil, err
	}
	if dir != None && !jetstream.Exists(dir) {
		return nil, command.Failed(fmt.Errorf("there are no conversations in %s", dir))
	}
	return o.Open(ctx, log)
}

// dial uses servers that are there.
func (o *Flags) dial(ctx context.Context, url string) (store.Store, error) {
	r := jetstream.Remote{URL: url, Credentials: cmp.Or(o.creds, o.Streams.Env("RIDETHROUGH_NATS_CREDS"))}
	if file := cmp.Or(o.ca, o.Streams.Env("RIDETHROUGH_NATS_CA")); file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		r.TLS = &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
		if !r.TLS.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("there is no certificate in %s", file)
		}
	}
	return jetstream.Dial(ctx, r)
}
