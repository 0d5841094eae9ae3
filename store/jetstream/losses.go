package jetstream

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/ridethrough/ridethrough/store"
)

// lossesName is the file of a directory that reports losses until an operator deletes it: a line of JSON each.
const lossesName = "losses"

// addLosses adds losses to the file of a directory.
func addLosses(dir string, all []store.Loss) error {
	if len(all) == 0 {
		return nil
	}
	f, err := os.OpenFile(filepath.Join(dir, lossesName), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(f)
	for _, l := range all {
		err = errors.Join(err, encoder.Encode(l))
	}
	return errors.Join(err, f.Sync(), f.Close())
}

// readLosses returns the losses in the file of a directory, and the lines of it that are none.
func readLosses(dir string) (all []store.Loss, other []string, err error) {
	text, err := os.ReadFile(filepath.Join(dir, lossesName))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil, nil
	}
	for line := range strings.Lines(string(text)) {
		var l store.Loss
		if json.Unmarshal([]byte(line), &l) == nil {
			all = append(all, l)
		} else {
			other = append(other, strings.TrimSpace(line))
		}
	}
	return all, other, err
}
