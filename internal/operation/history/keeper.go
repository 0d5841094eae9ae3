package history

import (
	"context"
	"errors"
	"time"
)

// Keeper keeps the text of a history elsewhere than in a file.
type Keeper interface {
	// Load returns the text that was kept last; nil: there is none.
	Load(ctx context.Context) ([]byte, error)
	// Save keeps a text in place of that.
	Save(ctx context.Context, text []byte) error
}

// How long a keeper may take, and when it is asked again after an error.
const (
	keeperTime  = 5 * time.Second
	keeperRetry = 2 * time.Second
)

// PersistIn loads the history from a keeper, as soon as that answers, and saves it there every minute if there are
// changes, until ctx ends, and then once more. Of several gateways with one keeper only the one saves for which saves
// reports true.
func (h *History) PersistIn(ctx context.Context, k Keeper, saves func() bool) {
	tick := time.NewTicker(keeperRetry)
	defer tick.Stop()
	for !h.loadFrom(ctx, k) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return // what is kept is more than what this process knows
		}
	}
	for saved, over := time.Now(), false; !over; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			over = true
		}
		if (over || time.Since(saved) >= saveTime) && saves() {
			h.saveIn(ctx, k)
			saved = time.Now()
		}
	}
}

// loadFrom adds what a keeper has; false: it does not answer.
func (h *History) loadFrom(ctx context.Context, k Keeper) bool {
	ctx, cancel := context.WithTimeout(ctx, keeperTime)
	defer cancel()
	text, err := k.Load(ctx)
	if err != nil {
		return false
	}
	if text == nil {
		return true
	}
	before := Open("", h.log)
	if err := before.read(text); err != nil {
		h.log.Warn("history cannot be read, starting with an empty one", "error", err)
		return true
	}
	h.add(before)
	return true
}

// saveIn saves the history if there are changes.
func (h *History) saveIn(ctx context.Context, k Keeper) {
	text, err := h.text()
	if text == nil && err == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keeperTime)
	defer cancel()
	if err = errors.Join(err, k.Save(ctx, text)); err == nil {
		return
	}
	h.mu.Lock()
	h.dirty = true
	h.mu.Unlock()
	h.log.Warn("history not saved", "error", err)
}

// add adds an earlier history, which has ended. Of upstreams that are known already it has the incidents only.
func (h *History) add(before *History) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, u := range before.upstreams {
		if own := h.upstreams[name]; own == nil || own.Last.IsZero() && len(own.Runs) == 0 {
			h.upstreams[name] = u
		}
	}
	for _, in := range before.incidents {
		if u := h.upstreams[in.Upstream]; in.Open() && (u == nil || u.latest != in) {
			in.Ended = in.Began // its end is not known
		}
	}
	h.incidents = append(before.incidents, h.incidents...)
	h.incidents = h.incidents[max(0, len(h.incidents)-incidentBound):]
	for name, l := range before.learned {
		if h.learned[name] == nil {
			h.learned[name] = l
		}
	}
	if before.born.Before(h.born) {
		h.born = before.born
	}
	h.dirty = true
}
