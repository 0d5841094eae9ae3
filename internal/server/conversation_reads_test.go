package server_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/ridethrough/ridethrough/internal/server"
	"github.com/ridethrough/ridethrough/store"
)

// readStore counts how often the record of a conversation is read: store.Load asks for its end first.
type readStore struct {
	store.Store
	reads atomic.Int64
}

func (s *readStore) End(ctx context.Context, conversation string) (store.Position, error) {
	s.reads.Add(1)
	return s.Store.End(ctx, conversation)
}

// A command that begins a turn reads the record once, and says whether the conversation is paused.
func TestConversations_CommandReadsTheRecordOnce(t *testing.T) {
	for _, paused := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := &readStore{Store: store.Memory()}
			p := newConversationServerOn(t, server.Config{}, s)
			c := p.create("")
			p.end() // what a worker reads is not counted
			if paused {
				p.ask("POST", "/"+c+"/pause", "")
			}
			for _, tt := range [][2]string{{"turns", `{"text":"hello","id":"t1"}`}, {"turns", `{"text":"hello","id":"t1"}`}, {"compact", ""}} {
				before := s.reads.Load()
				status, a := p.ask("POST", "/"+c+"/"+tt[0], tt[1])
				if got := s.reads.Load() - before; status != 202 || got != 1 || (a["paused"] == true) != paused {
					t.Errorf("%s %s: %d %v after %d reads; want 202, paused: %v, after one", tt[0], tt[1], status, a, got, paused)
				}
			}
		})
	}
}
