package live

import (
	"context"
	"time"

	"github.com/ridethrough/ridethrough/internal/server/api"
)

// recentBound is how many conversations are listed.
const recentBound = 100

// Recent is one of the newest conversations, as JSON.
type Recent struct {
	api.Summary
	TurnID  string `json:"turnId,omitzero"`  // the turn in progress; left out: none is
	Waiting bool   `json:"waiting,omitzero"` // that turn waits for its provider
}

// key returns the id.
func (v *Recent) key() key { return key{text: v.ID} }

// same reports whether nothing has changed.
func (v *Recent) same(other item) bool { return *v == *other.(*Recent) }

// loadRecent returns the newest conversations; those known so far if the store does not answer.
func (l *Live) loadRecent() []Recent {
	if l.Conversations == nil {
		return []Recent{}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	all, err := l.Conversations.Recent(ctx, recentBound)
	if err != nil {
		l.Log.Debug("list newest conversations", "error", err)
	}
	return all
}
