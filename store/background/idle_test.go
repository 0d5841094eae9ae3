package background_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/background"
	"github.com/ridethrough/ridethrough/store/storetest"
)

// place is what stores are reserved in, like a directory.
type place struct {
	used     bool
	refusals []error                                    // of attempts to reserve it, in turn
	open     func(context.Context) (store.Store, error) // nil: a store in memory

	opened, ended atomic.Int32
}

func (p *place) reserve(context.Context) (background.Reservation, error) {
	if len(p.refusals) > 0 {
		err := p.refusals[0]
		p.refusals = p.refusals[1:]
		return nil, err
	}
	return reservation{p}, nil
}

type reservation struct{ *place }

func (r reservation) Unused() bool { return !r.used }

func (r reservation) Open(ctx context.Context) (store.Store, error) {
	r.opened.Add(1)
	if r.open != nil {
		return r.open(ctx)
	}
	return store.Memory(), nil
}

func (r reservation) Health(context.Context) (store.Health, error) {
	return store.Health{Mode: "standalone", Dir: "d"}, nil
}

func (r reservation) Close(context.Context) error {
	r.ended.Add(1)
	return nil
}

// openWhenUsed opens a store until the test ends, after it is idle or open.
func openWhenUsed(t *testing.T, p *place) *background.Store {
	t.Helper()
	s := background.OpenWhenUsed(p.reserve, slog.New(slog.DiscardHandler))
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	if err := s.Available(t.Context()); err != nil {
		t.Fatalf("wait until it is available: %v", err)
	}
	return s
}

func (p *place) wantOpened(t *testing.T, after string, want int32) {
	t.Helper()
	if got := p.opened.Load(); got != want {
		t.Errorf("opened %d times after %s, want %d", got, after, want)
	}
}

func TestOpenWhenUsed_IdlePassesTheSuite(t *testing.T) {
	for _, c := range storetest.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &place{}
				s := openWhenUsed(t, p)
				p.wantOpened(t, "the start", 0)
				c.Test(t, storetest.Subject{Store: s, Lease: 30 * time.Second, Tick: time.Second})
			})
		})
	}
}

func TestOpenWhenUsed_ReadingOpensNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &place{}
		s := openWhenUsed(t, p)
		for head, err := range s.Conversations(t.Context(), "") {
			t.Errorf("conversations: got %v, %v; want none", head, err)
		}
		storetest.WantLog(t, s, "c1", 0)
		if end, err := s.End(t.Context(), "c1"); end != (store.Position{}) || err != nil {
			t.Errorf("end: got %v, %v; want that of an empty log", end, err)
		}
		if e, err := s.Get(t.Context(), "k"); e.Value != nil || err != nil {
			t.Errorf("get: got %v, %v; want no value", e, err)
		}
		if h, err := s.Health(t.Context()); h.Dir != "d" || len(h.Warnings) > 0 || err != nil {
			t.Errorf("health: got %+v, %v; want that of the reservation", h, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := s.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("wait for an hour until it is open: got %v, want the deadline", err)
		}
		p.wantOpened(t, "reading", 0)
		storetest.Append(t, s, "c1", store.Position{}, "a")
		p.wantOpened(t, "an append", 1)
		storetest.WantLog(t, s, "c1", 0, storetest.Numbered(1, "a")...)
		if err := s.Wait(t.Context()); err != nil {
			t.Errorf("wait until it is open: %v", err)
		}
	})
}

func TestOpenWhenUsed_UsedIsOpenedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &place{used: true}
		s := openWhenUsed(t, p)
		p.wantOpened(t, "the start", 1)
		if h, err := s.Health(t.Context()); h.Mode != "memory" || err != nil {
			t.Errorf("health: got %+v, %v; want that of the store", h, err)
		}
	})
}

// slowly opens a store in memory after a time, even if ctx ends.
func slowly(d time.Duration) func(context.Context) (store.Store, error) {
	return func(context.Context) (store.Store, error) {
		time.Sleep(d)
		return store.Memory(), nil
	}
}

func TestOpenWhenUsed_FirstUsersOpenItOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &place{open: slowly(2 * time.Second)}
		s := openWhenUsed(t, p)
		began := time.Now()
		var users sync.WaitGroup
		for i := range 10 {
			users.Go(func() { storetest.Append(t, s, fmt.Sprint("c", i), store.Position{}, "a") })
		}
		hasty, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.Enqueue(hasty, storetest.Job("t1")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("enqueue with a second of patience: got %v, want the deadline", err)
		}
		if _, err := s.Health(t.Context()); !errors.Is(err, store.ErrNotOpen) {
			t.Errorf("health while it is being opened: got %v, want %v", err, store.ErrNotOpen)
		}
		heads := 0
		for _, err := range s.Conversations(t.Context(), "") { // waits
			if heads++; err != nil {
				t.Errorf("conversations while it is being opened: %v", err)
			}
		}
		users.Wait()
		if took := time.Since(began); took != 2*time.Second || heads > 10 {
			t.Errorf("the first operations took %v and %d logs were listed, want 2 s and at most 10", took, heads)
		}
		p.wantOpened(t, "ten users at once", 1)
	})
}

func TestOpenWhenUsed_SlowOpeningIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openWhenUsed(t, &place{open: slowly(time.Minute)})
		began := time.Now()
		err := s.Publish(t.Context(), "c1", nil)
		if took := time.Since(began); !errors.Is(err, store.ErrNotOpen) || took != 3*time.Second {
			t.Errorf("publish: got %v after %v, want %v after 3 s", err, took, store.ErrNotOpen)
		}
		time.Sleep(time.Minute)
		storetest.Append(t, s, "c1", store.Position{}, "a")
	})
}

func TestOpenWhenUsed_FailureIsOfWhoNeedsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		errs := []error{errors.New("disk 1 is damaged"), store.ErrFull}
		p := &place{open: func(context.Context) (store.Store, error) {
			if len(errs) == 0 {
				return store.Memory(), nil
			}
			err := errs[0]
			errs = errs[1:]
			return nil, err
		}}
		s := openWhenUsed(t, p)
		for _, want := range slices.Clone(errs) {
			if _, err := s.Append(t.Context(), "c1", store.Position{}, storetest.Records("a")...); !errors.Is(err, store.ErrNotOpen) || !errors.Is(err, want) {
				t.Errorf("append: got %v, want %v and %v", err, store.ErrNotOpen, want)
			}
			storetest.WantLog(t, s, "c1", 0)
			h, err := s.Health(t.Context())
			if err != nil || len(h.Warnings) != 1 || !strings.Contains(h.Warnings[0], want.Error()) {
				t.Errorf("health after a failure: got %q, %v; want a warning with %q", h.Warnings, err, want)
			}
		}
		began := time.Now()
		storetest.Append(t, s, "c1", store.Position{}, "a")
		if took := time.Since(began); took > 0 {
			t.Errorf("the attempt after two failures came after %v, want it at once", took)
		}
		p.wantOpened(t, "two failures", 3)
	})
}

// A store that could not be opened is reserved anew. Another process may have it by then, or the disk be away.
func TestOpenWhenUsed_LostReservationIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &place{}
		p.open = func(context.Context) (store.Store, error) {
			p.open, p.refusals = nil, []error{store.ErrInUse, errors.New("read-only")}
			return nil, store.ErrFull
		}
		s := openWhenUsed(t, p)
		if err := s.Enqueue(t.Context(), storetest.Job("t1")); !errors.Is(err, store.ErrFull) {
			t.Errorf("enqueue that opens it: got %v, want %v", err, store.ErrFull)
		}
		synctest.Wait()
		if err := s.Enqueue(t.Context(), storetest.Job("t1")); !errors.Is(err, store.ErrInUse) {
			t.Errorf("enqueue while another process has it: got %v, want %v", err, store.ErrInUse)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if _, err := s.Health(t.Context()); err == nil || err.Error() != "the store is not open: read-only" {
			t.Errorf("health while the disk is read-only: got %v, want it to say so", err)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		storetest.Enqueue(t, storetest.Subject{Store: s}, storetest.Job("t1"))
	})
}

func TestOpenWhenUsed_UnreservableIsTriedAgainWhileThatCanHelp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		p := &place{refusals: []error{store.ErrInUse, store.ErrFull}}
		s := openWhenUsed(t, p)
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("available after %v, want 3 s", took)
		}
		storetest.WantLog(t, s, "c1", 0)
		p.wantOpened(t, "reading", 0)

		s = background.OpenWhenUsed((&place{refusals: []error{errors.New("not a directory")}}).reserve, slog.New(slog.DiscardHandler))
		if err := s.Available(t.Context()); !errors.Is(err, store.ErrNotOpen) || err.Error() != "the store is not open: not a directory" {
			t.Errorf("wait until it is available: got %v, want the reason", err)
		}
	})
}

func TestOpenWhenUsed_CloseEndsTheReservation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &place{}
		s := openWhenUsed(t, p)
		for range 2 {
			if err := s.Close(t.Context()); err != nil {
				t.Errorf("close: %v", err)
			}
		}
		if ended := p.ended.Load(); ended != 1 {
			t.Errorf("the reservation was ended %d times, want once", ended)
		}
		p.wantOpened(t, "close", 0)
		wantRefused(t, s, store.ErrClosed, "the store is closed: the store is not open: nothing has been stored")
	})
}

func TestOpenWhenUsed_CloseWhileItIsBeingOpened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := closing{store.Memory(), make(chan struct{})}
		p := &place{open: func(context.Context) (store.Store, error) {
			time.Sleep(2 * time.Second)
			return late, nil
		}}
		s := openWhenUsed(t, p)
		var user sync.WaitGroup
		user.Go(func() {
			if err := s.Enqueue(t.Context(), storetest.Job("t1")); !errors.Is(err, store.ErrNotOpen) {
				t.Errorf("enqueue during which it was closed: got %v, want %v", err, store.ErrNotOpen)
			}
		})
		synctest.Wait()
		if err := s.Close(t.Context()); err != nil {
			t.Errorf("close: %v", err)
		}
		user.Wait()
		<-late.closed
		if ended := p.ended.Load(); ended != 0 {
			t.Errorf("the reservation was ended %d times, want only its store closed", ended)
		}
	})
}
