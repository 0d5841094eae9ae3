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

	"github.com/ridethrough/ridethrough/internal/atomicfile"
	"github.com/ridethrough/ridethrough/transport"
)

const (
	version  = 1
	saveTime = time.Minute
)

// record is the content of the file.
type record struct {
	V         int                  `json:"v"`
	Born      time.Time            `json:"born"`
	Upstreams map[string]*upstream `json:"upstreams"`
	Incidents []*incident          `json:"incidents"` // the oldest first

	Learned map[string]*transport.Learned `json:"learned,omitempty"` // of the gateway's upstreams
	Saved   time.Time                     `json:"saved,omitzero"`
	Joined  []string                      `json:"joined,omitempty"` // the gateways of a fleet whose histories were added
}

// Open restores the history from a file; path "": the history ends with the process.
// A damaged file is renamed and logged: the gateway must start without it.
func Open(path string, log *slog.Logger) *History {
	now := time.Now().UTC()
	h := &History{
		path: path, log: log, born: now, started: now,
		upstreams: map[string]*upstream{}, calls: map[callID]*call{}, learned: map[string]*transport.Learned{},
		unanswered: unanswered{waits: map[int64]asker{}},
		requests:   newRequests(),
	}
	if path == "" {
		return h
	}
	h.readWaiting()
	h.readRequests()
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

// read parses the text of a file.
func (h *History) read(text []byte) error {
	var r record
	if err := json.Unmarshal(text, &r); err != nil {
		return err
	}
	switch {
	case r.V != version:
		return fmt.Errorf("version %d is unknown, want %d", r.V, version)
	case max(len(r.Upstreams), len(r.Learned)) > upstreamBound || len(r.Incidents) > incidentBound:
		return errors.New("too many upstreams or incidents")
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
	h.incidents, h.saved, h.joined = r.Incidents, r.Saved, r.Joined
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

// whole reports whether an upstream that was read is complete. It restores members
// that are omitted when empty.
func (u *upstream) whole() bool {
	switch {
	case u == nil || max(len(u.Runs), len(u.Answers)) > modelBound:
		return false
	case !u.Strip.whole(Cells), !u.Hour.whole(Minutes), len(u.Saved.Shares) != 0 && len(u.Saved.Shares) != int(parts):
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

// whole reports whether a strip that was read has all of its periods, or none.
func (s *strip) whole(periods int) bool { return len(s.Periods) == 0 || len(s.Periods) == periods }

// resume restores the links between runs and open incidents.
func (h *History) resume() {
	for _, in := range h.incidents {
		in.seen = map[string]bool{}
		if in.Clients == nil {
			in.Clients = map[string]int{}
		}
		if u := h.at(in.Upstream); u != nil {
			u.latest = in
		}
	}
	for _, u := range h.upstreams {
		ends := false // a run is there to end the latest incident
		for model, r := range u.Runs {
			if r.Joined && u.latest != nil && u.latest.Open() {
				r.in, ends = u.latest, true
			} else if r.Joined {
				delete(u.Runs, model)
			}
		}
		if u.latest != nil && u.latest.Open() && !ends {
			u.latest.Ended = u.latest.Began
		}
	}
}

// Persist writes the files if there are changes, until ctx ends, and then once more: which calls wait every two
// seconds, the history and the latest requests every minute.
func (h *History) Persist(ctx context.Context) {
	if h.path == "" {
		return
	}
	tick := time.NewTicker(waitingTime)
	defer tick.Stop()
	h.report(h.saveWaiting())
	for saved, over := time.Now(), false; !over; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			over = true
		}
		h.report(h.saveWaiting())
		if over || time.Since(saved) >= saveTime {
			h.report(h.save())
			h.report(h.saveRequests())
			saved = time.Now()
		}
	}
}

// report logs that a file could not be written; it is tried again with the next change.
func (h *History) report(err error) {
	if err != nil {
		h.log.Warn("history not saved", "file", h.path, "error", err)
	}
}

// save writes the file if there are changes.
func (h *History) save() error {
	text, err := h.text()
	if err != nil || text == nil {
		return err
	}
	if err := atomicfile.Write(h.path, text); err != nil {
		h.mu.Lock()
		h.dirty = true
		h.mu.Unlock()
		return err
	}
	return nil
}

// text returns the new content of the file, or nil without changes.
func (h *History) text() ([]byte, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.dirty {
		return nil, nil
	}
	h.dirty = false
	now := time.Now().UTC()
	for _, u := range h.upstreams {
		h.rest(u, now)
	}
	return json.Marshal(record{
		V: version, Born: h.born, Upstreams: h.upstreams, Incidents: h.incidents, Learned: h.learned, Saved: now, Joined: h.joined,
	})
}
