package conversations

import (
	"context"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/store"
)

// How long the health of the store counts as current, and how long it may take.
const (
	healthInterval = 2 * time.Second
	healthTimeout  = time.Second
)

// Health is the state of the conversations' store. Its methods may be called concurrently.
type Health struct {
	Store store.Lifecycle

	mu       sync.Mutex
	due      time.Time // of the next check
	err      error     // why the store cannot be used
	warnings []string
}

// Current returns why the store cannot be used, and what an operator should know about it, in sentences.
func (h *Health) Current() (warnings []string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now := time.Now(); !now.Before(h.due) {
		h.check()
		h.due = time.Now().Add(healthInterval)
	}
	return h.warnings, h.err
}

func (h *Health) check() {
	ctx, cancel := context.WithTimeoutCause(context.Background(), healthTimeout, store.ErrUnavailable)
	defer cancel()
	health, err := h.Store.Health(ctx)
	h.err, h.warnings = err, nil
	if err != nil {
		h.warnings = []string{"Conversations are unavailable: " + err.Error()}
		return
	}
	h.warnings = append(h.warnings, health.Warnings...)
	for _, l := range health.Losses {
		h.warnings = append(h.warnings, l.String())
	}
}
