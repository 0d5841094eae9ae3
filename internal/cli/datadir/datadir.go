// Package datadir names the directory in which the program keeps what outlives it.
package datadir

import (
	"cmp"
	"errors"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/internal/cli/command"
)

// None is the value of --data for no directory.
const None = "none"

// Flags are the flag about the directory.
type Flags struct {
	Streams command.Streams
	Data    string // of the flag; "": as the environment says
}

// AddFlags adds the flag.
func (f *Flags) AddFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.Data, "data", "", "the `DIR` of what is kept, such as conversations, or none (default ridethrough in $XDG_DATA_HOME or ~/.local/share) [RIDETHROUGH_DATA]")
}

// Dir returns the data directory, or [None].
func (f *Flags) Dir() (string, error) {
	if dir := cmp.Or(f.Data, f.Streams.Env("RIDETHROUGH_DATA")); dir != "" {
		return dir, nil
	}
	home := f.Streams.Env("XDG_DATA_HOME")
	if !filepath.IsAbs(home) {
		home = filepath.Join(f.Streams.Env("HOME"), ".local", "share")
	}
	if !filepath.IsAbs(home) {
		return "", command.Misconfigured("RIDETHROUGH_DATA", errors.New("no home directory; name a directory, or none"))
	}
	return filepath.Join(home, "ridethrough"), nil
}
