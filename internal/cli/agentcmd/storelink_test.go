package agentcmd_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/internal/cli/agentcmd"
	"github.com/ridethrough/ridethrough/internal/fleet"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/background"
)

// wantMembers checks which replicas a replica knows to live, by their ids in a row.
func wantMembers(t *testing.T, when string, f *fleet.Fleet, connected bool, want string) {
	t.Helper()
	s := f.Status()
	if got := strings.Join(s.Members, ""); got != want || s.Connected != connected {
		t.Errorf("%s: replica %s has members %q, connected %v; want %q, %v", when, f.ID, got, s.Connected, want, connected)
	}
}

// join joins a replica by a store.
func join(t *testing.T, id string, s store.PubSub) *fleet.Fleet {
	t.Helper()
	l := agentcmd.OpenStoreLink(s)
	f := fleet.Join(fleet.Config{Name: "main", ID: id, Transport: l})
	t.Cleanup(l.Close)
	t.Cleanup(f.Close)
	return f
}

func TestLink_CarriesAFleet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := store.Memory()
		a, b := join(t, "a", s), join(t, "b", s)
		time.Sleep(5 * time.Second)
		wantMembers(t, "after 5 s", a, true, "ab")
		wantMembers(t, "after 5 s", b, true, "ab")
		heard := make(chan string, 1)
		fleet.On(b, "note", func(from, text string) { heard <- from + " " + text })
		if err := a.SendTo("b", "note", "hello"); err != nil {
			t.Errorf("send: %v", err)
		}
		if got := <-heard; got != "a hello" {
			t.Errorf("b has heard %q, want %q", got, "a hello")
		}
	})
}

func TestLink_LeavingIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := store.Memory()
		a := join(t, "a", s)
		l := agentcmd.OpenStoreLink(s)
		b := fleet.Join(fleet.Config{Name: "main", ID: "b", Transport: l})
		time.Sleep(5 * time.Second)
		wantMembers(t, "after 5 s", a, true, "ab")
		b.Close()
		l.Close()
		time.Sleep(10 * time.Millisecond)
		wantMembers(t, "b has left", a, true, "a")
		if err := l.Publish("x", nil); err == nil {
			t.Error("publish on a closed link: no error")
		}
	})
}

// flaky is a store whose servers may be away.
type flaky struct {
	store.Store
	away atomic.Bool
}

func (f *flaky) Publish(ctx context.Context, topic string, data []byte) error {
	if f.away.Load() {
		return store.ErrUnavailable
	}
	return f.Store.Publish(ctx, topic, data)
}

func TestLink_ReplicasAreAloneWhileTheServersAreAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &flaky{Store: store.Memory()}
		a, b := join(t, "a", s), join(t, "b", s)
		time.Sleep(5 * time.Second)
		s.away.Store(true)
		time.Sleep(5 * time.Second)
		wantMembers(t, "5 s after the servers have gone", a, false, "a")
		wantMembers(t, "5 s after the servers have gone", b, false, "b")
		s.away.Store(false)
		time.Sleep(5 * time.Second)
		wantMembers(t, "5 s after they are back", a, true, "ab")
	})
}

func TestLink_StoreThatOpensLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := store.Memory()
		var there atomic.Bool
		open := func(context.Context) (store.Store, error) {
			if !there.Load() {
				return nil, errors.Join(store.ErrUnavailable)
			}
			return shared, nil
		}
		s := background.Open(open, slog.New(slog.DiscardHandler))
		t.Cleanup(func() { _ = s.Close(context.Background()) })
		a, b := join(t, "a", s), join(t, "b", shared)
		time.Sleep(time.Minute)
		wantMembers(t, "a's servers are away from the start", a, false, "a")
		wantMembers(t, "b's are not", b, true, "b")
		there.Store(true)
		time.Sleep(40 * time.Second)
		wantMembers(t, "they have come", a, true, "ab")
	})
}
