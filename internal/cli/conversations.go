package cli

import (
	"context"
	"path/filepath"

	"github.com/ridethrough/ridethrough/internal/app"
	"github.com/ridethrough/ridethrough/internal/config"
	"github.com/ridethrough/ridethrough/internal/server"
)

// noData is said in place of a directory where none is wanted.
const noData = "none"

// dataDir gives the directory of the conversations, and whether somebody has
// named it; "": there is none.
func (c *serving) dataDir() (dir string, named bool) {
	flag := c.cmd.Flags().Lookup("data")
	dir, named = flag.Value.String(), flag.Changed
	if !named {
		dir = c.s.Env("RIDETHROUGH_DATA")
		named = dir != ""
	}
	if dir == noData {
		return "", true
	}
	if named {
		return dir, true
	}
	home := c.s.Env("XDG_DATA_HOME")
	if !filepath.IsAbs(home) {
		home = filepath.Join(c.s.Env("HOME"), ".local", "share")
	}
	if !filepath.IsAbs(home) {
		return "", false
	}
	return filepath.Join(home, "ridethrough"), false
}

// converse adds the conversations to what is served. Where nobody has asked for
// them, a gateway without them is better than none.
func (c *serving) converse(ctx context.Context, to *server.Config, from *config.Config) (end func(), err error) {
	dir, named := c.dataDir()
	if dir == "" {
		return func() {}, nil
	}
	w := app.Worlds{Env: c.s.Env, Policy: from.Named}
	host, end, err := w.Converse(ctx, dir, to.Log)
	switch {
	case err != nil && named:
		return nil, err
	case err != nil:
		to.Log.Warn("there are no conversations", "error", err.Error(), "do", "name another directory with --data, or none")
		return func() {}, nil
	}
	to.Log.Info("conversations", "data", dir)
	to.Sessions, to.Settle = host, w.Settle
	return end, nil
}
