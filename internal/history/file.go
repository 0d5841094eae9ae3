package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"
)

const (
	version  = 1
	saveTime = time.Minute
)

// record is the file.
type record struct {
	V         int                  `json:"v"`
	Born      time.Time            `json:"born"`
	Upstreams map[string]*upstream `json:"upstreams"`
	Incidents []*incident          `json:"incidents"` // the oldest first
}

// Open goes on with what is in a file; path "": nothing outlives the process. A
// file that cannot be understood is put aside and told of: what was measured is
// not worth to be without a gateway.
func Open(path string, log *slog.Logger) *History {
	h := &History{path: path, log: log, born: time.Now().UTC(), upstreams: map[string]*upstream{}, calls: map[callID]*call{}}
	if path == "" {
		return h
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return h
	}
	if err == nil {
		err = h.read(text)
	}
	if err != nil {
		aside := path + ".unread"
		log.Warn("what was measured before cannot be read; measuring begins anew", "error", err, "kept", aside)
		_ = os.Rename(path, aside) // it is worth no more
	}
	return h
}

// read takes in the text of a file.
func (h *History) read(text []byte) error {
	var r record
	if err := json.Unmarshal(text, &r); err != nil {
		return err
	}
	switch {
	case r.V != version:
		return fmt.Errorf("it is of version %d, and this program knows %d", r.V, version)
	case len(r.Upstreams) > upstreamBound || len(r.Incidents) > incidentBound:
		return errors.New("there is more in it than is ever written")
	}
	for name, u := range r.Upstreams {
		if u == nil || len(u.Strip.Quarters) != 0 && len(u.Strip.Quarters) != Cells || len(u.Saved.Shares) != 0 && len(u.Saved.Shares) != int(parts) {
			return fmt.Errorf("the upstream %q is not whole", name)
		}
		u.runs = map[string]*run{}
	}
	for _, in := range r.Incidents {
		if in == nil || in.Began.IsZero() || in.Models == nil || in.Kinds == nil {
			return errors.New("an incident is not whole")
		}
	}
	if r.Upstreams != nil {
		h.upstreams = r.Upstreams
	}
	h.incidents = r.Incidents
	if !r.Born.IsZero() && r.Born.Before(h.born) {
		h.born = r.Born
	}
	h.resume()
	return nil
}

// resume goes on with the incidents that were open. How long nobody has asked
// counts from now on: a process that was not there could not ask.
func (h *History) resume() {
	now := time.Now()
	for _, in := range h.incidents {
		in.seen = map[string]bool{}
		if in.Clients == nil {
			in.Clients = map[string]int{}
		}
		u := h.at(in.Upstream)
		if u == nil {
			continue
		}
		u.latest = in
		for model, fails := range in.Models {
			if in.Open() && fails && len(u.runs) < modelBound {
				u.runs[model] = &run{since: in.Began, last: now, n: enough, in: in, as: model}
			}
		}
		if in.Open() && len(u.runs) == 0 {
			in.Ended = in.Began
		}
	}
}

// Keep writes the file every minute where there is something new, until ctx
// ends, and then once more.
func (h *History) Keep(ctx context.Context) {
	if h.path == "" {
		return
	}
	tick := time.NewTicker(saveTime)
	defer tick.Stop()
	for over := false; !over; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			over = true
		}
		if err := h.save(); err != nil {
			h.log.Warn("what was measured cannot be kept", "file", h.path, "error", err)
		}
	}
}

// save writes the file if there is something new.
func (h *History) save() error {
	h.mu.Lock()
	dirty := h.dirty
	h.dirty = false
	text, err := json.Marshal(record{version, h.born, h.upstreams, h.incidents})
	h.mu.Unlock()
	if err != nil || !dirty {
		return err
	}
	if err := replace(h.path, text); err != nil {
		h.mu.Lock()
		h.dirty = true
		h.mu.Unlock()
		return err
	}
	return nil
}

// replace puts a file into the place of another, so that there is always a
// whole one.
func replace(path string, text []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
