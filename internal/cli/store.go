package cli

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

	"github.com/ridethrough/ridethrough/store"
)

// storing is where a command keeps conversations: in a directory or on NATS
// servers, as flags and the environment say.
type storing struct {
	s   Streams
	cmd *cobra.Command

	dir, nats, creds, ca string // of the flags
}

// nowhere is the name of the directory where nothing is kept.
const nowhere = "none"

// errNowhere says that there is no store to open.
var errNowhere = errors.New("conversations are kept nowhere: --data is " + nowhere)

// flags adds the flags that say where the store is.
func (o *storing) flags(cmd *cobra.Command) {
	o.dirFlag(cmd)
	flags := cmd.Flags()
	flags.StringVar(&o.nats, "nats", "", "URL of NATS servers that keep the conversations instead, such as tls://nats.internal:4222 [RIDETHROUGH_NATS]")
	flags.StringVar(&o.creds, "nats-creds", "", "file with the credentials for them [RIDETHROUGH_NATS_CREDS]")
	flags.StringVar(&o.ca, "nats-ca", "", "file with the certificates that theirs are signed with [RIDETHROUGH_NATS_CA]")
	cmd.MarkFlagsMutuallyExclusive("data", "nats")
}

// dirFlag adds the flag that names a directory.
func (o *storing) dirFlag(cmd *cobra.Command) {
	o.cmd = cmd
	cmd.Flags().StringVar(&o.dir, "data", "", "directory in which conversations are kept, or none; the default is ridethrough in $XDG_DATA_HOME or ~/.local/share [RIDETHROUGH_DATA]")
}

// url gives the address of the servers; "": the store is in a directory.
func (o *storing) url() string {
	if o.dir != "" {
		return "" // a flag is nearer than the environment
	}
	return cmp.Or(o.nats, o.s.Env("RIDETHROUGH_NATS"))
}

// place gives the directory of the store, or of what belongs to it.
func (o *storing) place() (string, error) {
	if dir := cmp.Or(o.dir, o.s.Env("RIDETHROUGH_DATA")); dir != "" {
		return dir, nil
	}
	home := o.s.Env("XDG_DATA_HOME")
	if !filepath.IsAbs(home) {
		home = filepath.Join(o.s.Env("HOME"), ".local", "share")
	}
	if !filepath.IsAbs(home) {
		return "", misconfigured("RIDETHROUGH_DATA", errors.New("there is no home directory; say where conversations are to be kept, or none"))
	}
	return filepath.Join(home, "ridethrough"), nil
}

// open opens the store, and makes it if it is not there. What goes wrong later
// is told to log. Where nothing is to be kept, the error is errNowhere.
func (o *storing) open(ctx context.Context, log *slog.Logger) (store.Store, error) {
	if url := o.url(); url != "" {
		e, err := o.dial(ctx, url)
		return e, failed(err)
	}
	dir, err := o.place()
	if err != nil {
		return nil, err
	}
	if dir == nowhere {
		return nil, failed(errNowhere)
	}
	e, err := store.Open(ctx, store.Config{Dir: dir, Log: log})
	if errors.Is(err, store.ErrInUse) {
		err = fmt.Errorf("%w; end it, or choose another directory with --data", err)
	}
	return e, failed(err)
}

// existing is open for commands that want a store that is there.
func (o *storing) existing(ctx context.Context, log *slog.Logger) (store.Store, error) {
	if o.url() != "" {
		return o.open(ctx, log)
	}
	dir, err := o.place()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(dir, "mode")); dir != nowhere && err != nil {
		return nil, failed(fmt.Errorf("there are no conversations in %s", dir))
	}
	return o.open(ctx, log)
}

// dial uses servers that are there.
func (o *storing) dial(ctx context.Context, url string) (store.Store, error) {
	r := store.Remote{URL: url, Credentials: cmp.Or(o.creds, o.s.Env("RIDETHROUGH_NATS_CREDS"))}
	if file := cmp.Or(o.ca, o.s.Env("RIDETHROUGH_NATS_CA")); file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		r.TLS = &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
		if !r.TLS.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("there is no certificate in %s", file)
		}
	}
	return store.Dial(ctx, r)
}
