package server

import (
	"context"
	"time"

	"github.com/ridethrough/ridethrough/conversation"
)

// recentBound is how many conversations /-/live shows.
const recentBound = 100

// recent is a conversation in a list that somebody follows, as JSON.
type recent struct {
	heading
	TurnID  string `json:"turnId,omitzero"`  // the turn under way; left out: none is
	Waiting bool   `json:"waiting,omitzero"` // it waits for its provider
}

// key names the conversation.
func (v recent) key() string { return v.ID }

// loadRecent asks for the newest conversations. Where the store does not answer
// it gives those that were there before: who needs one is told why not.
func (s *Server) loadRecent() []recent {
	if s.config.Conversations == nil {
		return []recent{}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	views, err := s.config.Conversations.Recent(ctx, recentBound)
	if err != nil {
		s.config.Log.Debug("reading the newest conversations", "error", err)
	}
	all := make([]recent, len(views))
	for i, v := range views {
		all[i] = recent{head(v), v.Turn, v.Waits != nil}
	}
	return all
}

// head gives a conversation as it is in lists.
func head(v conversation.View) heading {
	return heading{ID: v.ID, Title: v.Settings.Title, Model: v.Settings.Model, Created: instant(v.Created), Changed: instant(v.Changed)}
}
