package live

import (
	"context"
	"time"

	"github.com/ridethrough/ridethrough/internal/server/api"
)

// recentBound is how many conversations are listed.
const recentBound = 100

// recent is one of the newest conversations, as JSON.
type recent struct {
	api.Summary
	TurnID  string `json:"turnId,omitzero"`  // the turn in progress; left out: none is
	Waiting bool   `json:"waiting,omitzero"` // that turn waits for its provider
}

// key returns the id.
func (v recent) key() string { return v.ID }

// loadRecent returns the newest conversations; those known so far if the store does not answer.
func (l *Live) loadRecent() []recent {
	if l.Conversations == nil {
		return []recent{}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	views, err := l.Conversations.Recent(ctx, recentBound)
	if err != nil {
		l.Log.Debug("list newest conversations", "error", err)
	}
	all := make([]recent, len(views))
	for i, v := range views {
		all[i] = recent{api.SummaryOf(v), v.Turn, v.Wait != nil}
	}
	return all
}
