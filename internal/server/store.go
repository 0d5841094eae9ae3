package server

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/store"
)

// How long the health of the store counts as current, and how long it may take.
const (
	healthInterval = 2 * time.Second
	healthTimeout  = time.Second
)

// storeHealth is the state of the conversations' store. Its methods may be called concurrently.
type storeHealth struct {
	store store.Lifecycle // nil: there is none

	mu       sync.Mutex
	due      time.Time // of the next check
	err      error     // why the store cannot be used
	warnings []string
}

// current returns why the store cannot be used, and what an operator should know about it, in sentences.
func (h *storeHealth) current() (warnings []string, err error) {
	if h.store == nil {
		return nil, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if now := time.Now(); !now.Before(h.due) {
		h.check()
		h.due = time.Now().Add(healthInterval)
	}
	return h.warnings, h.err
}

func (h *storeHealth) check() {
	ctx, cancel := context.WithTimeoutCause(context.Background(), healthTimeout, store.ErrUnavailable)
	defer cancel()
	health, err := h.store.Health(ctx)
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

// warnings returns what an operator should know, in sentences.
func (s *Server) warnings() []string {
	all, _ := s.store.current()
	if s.config.Warnings != nil {
		all = append(slices.Clip(all), s.config.Warnings()...)
	}
	return all
}
