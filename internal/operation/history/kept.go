package history

import (
	"log/slog"
	"slices"
	"time"
)

// Text returns the history as a text that Read reads; nil: nothing has changed since the last text.
func (h *History) Text() ([]byte, error) { return h.text() }

// Unsaved has the next Text return all: the last one is not kept.
func (h *History) Unsaved() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dirty = true
}

// Read returns the history of a text.
func Read(text []byte) (*History, error) {
	h := Open("", slog.New(slog.DiscardHandler))
	if err := h.read(text); err != nil {
		return nil, err
	}
	return h, nil
}

// Saved returns when the text of the history was made; zero: unknown.
func (h *History) Saved() time.Time { return h.saved }

// Joined returns the gateways of a fleet whose histories have been added for good, see [History.Join].
func (h *History) Joined() []string { return h.joined }

// joinedBound is how many of them are known.
const joinedBound = 256

// Join returns the sum of the history and those of gateways that run no more, to be kept in place of them.
func (h *History) Join(now time.Time, gone ...Part) *History {
	parts, joined := []Part{{History: h, Over: true}}, slices.Clone(h.joined)
	for _, p := range gone {
		p.Over = true
		parts, joined = append(parts, p), append(joined, p.Name)
	}
	sum := Sum(now, parts...)
	sum.joined, sum.dirty = joined[max(0, len(joined)-joinedBound):], true
	return sum
}

// Learn takes over what an earlier history has learned of upstreams, where nothing is known so far.
func (h *History) Learn(from *History) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, l := range from.learned {
		if h.learned[name] == nil {
			h.learned[name] = l
		}
	}
}
