package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"github.com/ridethrough/ridethrough/internal/disk"
	"github.com/ridethrough/ridethrough/transport"
)

const (
	version  = 1
	saveTime = time.Minute
)

type record struct {
	V         int                  `json:"v"`
	Born      time.Time            `json:"born"`
	Upstreams map[string]*upstream `json:"upstreams"`
	Incidents []*incident          `json:"incidents"` // the oldest first

	Learned  map[string]*transport.Learned `json:"learned,omitempty"`  // of the gateway's upstreams
	Requests []Request                     `json:"requests,omitempty"` // the oldest first
}

// Open restores the history from a file. Without a path the history ends with the process. A damaged file is
// renamed and logged: the gateway must start without it.
func Open(path string, log *slog.Logger) *History {
	now := time.Now().UTC()
	h := &History{
		path: path, log: log, born: now, started: now,
		upstreams: map[string]*upstream{}, calls: map[callID]*call{}, learned: map[string]*transport.Learned{},
		waiting: waiting{told: map[string]told{}, asks: map[int64]asker{}}, requests: requests{failing: map[callID]failure{}},
	}
	if path == "" {
		return h
	}
	h.readWaiting(now)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return h
	}
	if err == nil {
		err = h.read(text)
	}
	if err != nil {
		unread := path + ".unread"
		log.Warn("history cannot be read, starting with an empty one", "error", err, "renamed", unread)
		_ = os.Rename(path, unread)
	}
	return h
}

func (h *History) read(text []byte) error {
	var r record
	if err := json.Unmarshal(text, &r); err != nil {
		return err
	}
	switch {
	case r.V != version:
		return fmt.Errorf("version %d is unknown, want %d", r.V, version)
	case max(len(r.Upstreams), len(r.Learned)) > upstreamBound || len(r.Incidents) > incidentBound || len(r.Requests) > RequestBound:
		return errors.New("too many upstreams, incidents or requests")
	}
	for name, u := range r.Upstreams {
		if !u.whole() {
			return fmt.Errorf("upstream %q is incomplete", name)
		}
	}
	for _, in := range r.Incidents {
		if in == nil || in.Began.IsZero() || in.Models == nil || in.Kinds == nil {
			return errors.New("an incident is incomplete")
		}
	}
	if r.Upstreams != nil {
		h.upstreams = r.Upstreams
	}
	h.incidents, h.requests.all = r.Incidents, r.Requests
	for name, l := range r.Learned {
		if l != nil {
			h.learned[name] = l
		}
	}
	if !r.Born.IsZero() && r.Born.Before(h.born) {
		h.born = r.Born
	}
	h.resume()
	return nil
}

// whole reports whether an upstream that was read is complete. It restores fields that are omitted when empty.
func (u *upstream) whole() bool {
	switch {
	case u == nil, max(len(u.Runs), len(u.Answers)) > modelBound, len(u.Day) != 0 && len(u.Day) != quarters:
		return false
	}
	if u.Runs == nil {
		u.Runs = map[string]*run{}
	}
	if u.Answers == nil {
		u.Answers = map[string]time.Time{}
	}
	for _, r := range u.Runs {
		if r == nil {
			return false
		}
		if r.Kinds == nil {
			r.Kinds = map[string]int{}
		}
	}
	return true
}

// resume restores the links between runs and open incidents.
func (h *History) resume() {
	for _, in := range h.incidents {
		in.seen = map[string]bool{}
		if in.Clients == nil {
			in.Clients = map[string]int{}
		}
		if u := h.at(in.Upstream); u != nil && (u.latest == nil || !u.latest.isOpen()) {
			u.latest = in
		}
	}
	for _, u := range h.upstreams {
		ends := false // a run is there to end the latest incident
		for model, r := range u.Runs {
			if r.Joined && u.latest != nil && u.latest.isOpen() {
				r.in, ends = u.latest, true
			} else if r.Joined {
				delete(u.Runs, model)
			}
		}
		if u.latest != nil && u.latest.isOpen() && !ends {
			u.latest.Ended = u.latest.Began
		}
	}
}

// Persist writes the files if there are changes, until ctx ends, and then once more: the waits every second, and
// the history every minute.
func (h *History) Persist(ctx context.Context) {
	if h.path == "" {
		return
	}
	tick := time.NewTicker(waitingTime)
	defer tick.Stop()
	h.saveWaiting(time.Now(), true)
	for saved, over := time.Now(), false; !over; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			over = true
		}
		h.saveWaiting(time.Now(), over)
		if over || time.Since(saved) >= saveTime {
			h.save()
			saved = time.Now()
		}
	}
}

// save writes the file if there are changes. After a failed write, the next save tries again.
func (h *History) save() {
	text, err := h.text()
	if text != nil {
		err = disk.Write(h.path, text)
	}
	if err != nil {
		h.log.Warn("history not saved", "file", h.path, "error", err)
		h.mu.Lock()
		defer h.mu.Unlock()
		h.dirty = true
	}
}

// text returns the content of the file; nil: nothing has changed.
func (h *History) text() ([]byte, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.dirty {
		return nil, nil
	}
	h.dirty = false
	now := time.Now()
	for _, u := range h.upstreams {
		h.rest(u, now)
	}
	return json.Marshal(record{version, h.born, h.upstreams, h.incidents, h.learned, h.requests.all})
}
