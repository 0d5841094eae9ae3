package history

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/ridethrough/ridethrough/internal/atomicfile"
)

// requestFile is the file beside the history's with the latest requests that have ended, the oldest first.
const requestFile = "requests.json"

func (h *History) requestPath() string { return filepath.Join(filepath.Dir(h.path), requestFile) }

// readRequests reads the requests of earlier processes.
func (h *History) readRequests() {
	text, err := os.ReadFile(h.requestPath())
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var all []Request
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		h.log.Warn("the requests of an earlier process cannot be read", "error", err)
		return
	}
	h.requests.restore(all)
}

// restore keeps requests that were read, within the bounds of those that are watched.
func (r *requests) restore(all []Request) {
	for _, one := range all[max(0, len(all)-RequestBound):] {
		for _, name := range []*string{&one.Turn, &one.Client, &one.Session, &one.Upstream, &one.Model, &one.Cause} {
			*name = r.name(*name)
		}
		if IsOutcome(one.Outcome) {
			r.all = append(r.all, one)
		}
	}
	r.next = len(r.all) % RequestBound
}

// saveRequests writes the latest requests, if there are others.
func (h *History) saveRequests() error {
	h.mu.Lock()
	r := &h.requests
	dirty := r.dirty
	r.dirty = false
	var all []Request
	if dirty {
		oldest := r.next % len(r.all)
		all = slices.Concat(r.all[oldest:], r.all[:oldest])
	}
	h.mu.Unlock()
	if !dirty {
		return nil
	}
	return writeJSON(h.requestPath(), all)
}

// writeJSON replaces a file with the JSON of a value.
func writeJSON(path string, v any) error {
	text, err := json.Marshal(v)
	if err == nil {
		err = atomicfile.Write(path, text)
	}
	return err
}
