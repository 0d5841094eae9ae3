package setupcmd

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ridethrough/ridethrough/internal/atomicfile"
	"github.com/ridethrough/ridethrough/internal/cli/recipe"
	"github.com/ridethrough/ridethrough/internal/cli/settingsfile"
)

// record is what --write did to a file, for --undo. It is the backup of the file too.
type record struct {
	File    string                `json:"file"` // "": nothing is recorded
	Format  settingsfile.Format   `json:"format"`
	Existed bool                  `json:"existed"`
	MadeDir bool                  `json:"madeDir"` // for the file
	Before  string                `json:"before"`
	After   string                `json:"after"`
	Changes []settingsfile.Change `json:"changes"`
}

// path returns where the record of a program is.
func (c *setupCmd) path(program string) (string, error) {
	path := c.Streams.StateFile(filepath.Join("setup", program+".json"))
	if path == "" {
		return "", errors.New("no home directory for the backup")
	}
	return path, nil
}

// recorded returns the record of a program, which may be none.
func (c *setupCmd) recorded(program string) (r record, err error) {
	path, err := c.path(program)
	if err != nil {
		return r, err
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(text, &r)
}

// forget removes the record.
func (c *setupCmd) forget(program string) error {
	path, err := c.path(program)
	if err != nil {
		return err
	}
	return os.Remove(path)
}

// apply writes the record, and then the file: whatever is written can be undone. A second --write is undone with the
// first one.
func (c *setupCmd) apply(program string, l recipe.Lasting, r record) error {
	first, err := c.recorded(program)
	if err != nil {
		return err
	}
	r.MadeDir = !exists(filepath.Dir(l.File))
	if first.File == l.File {
		if first.After == r.Before {
			r.Before, r.Existed, r.MadeDir = first.Before, first.Existed, first.MadeDir
		} else if r.Before, _, err = l.Format.Revert(r.Before, first.Changes); err != nil {
			return err
		}
		r.Changes = joined(first.Changes, r.Changes)
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	path, err := c.path(program)
	if err != nil {
		return err
	}
	for _, dir := range []string{filepath.Dir(path), filepath.Dir(l.File)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	if err := atomicfile.Write(path, text); err != nil {
		return err
	}
	return atomicfile.Write(l.File, []byte(r.After))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// joined returns two runs of changes as one: what the later one changed again has the first one's old value.
func joined(first, later []settingsfile.Change) []settingsfile.Change {
	all := append([]settingsfile.Change(nil), first...)
	for _, c := range later {
		again := false
		for i := range all {
			if all[i].Name() == c.Name() {
				all[i].New, again = c.New, true
			}
		}
		if !again {
			all = append(all, c)
		}
	}
	return all
}
