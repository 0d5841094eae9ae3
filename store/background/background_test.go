package background_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/background"
	"github.com/ridethrough/ridethrough/store/storetest"
)

// opens returns an open function that fails with each error in turn, then opens a store in memory.
func opens(errs ...error) func(context.Context) (store.Store, error) {
	return func(context.Context) (store.Store, error) {
		if len(errs) == 0 {
			return store.Memory(), nil
		}
		err := errs[0]
		errs = errs[1:]
		return nil, err
	}
}

func open(t *testing.T, do func(context.Context) (store.Store, error)) *background.Store {
	t.Helper()
	s := background.Open(do, slog.New(slog.DiscardHandler))
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	return s
}

func TestStore_OpenedPassesTheSuite(t *testing.T) {
	for _, c := range storetest.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := open(t, opens())
				if err := s.Wait(t.Context()); err != nil {
					t.Fatalf("wait: %v", err)
				}
				c.Test(t, storetest.Subject{Store: s, Lease: 30 * time.Second, Tick: time.Second})
			})
		})
	}
}

func TestStore_RefusesUntilItIsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, func(ctx context.Context) (store.Store, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		})
		began := time.Now()
		wantRefused(t, s, store.ErrNotOpen, "the store is not open: it is being opened")
		if waited := time.Since(began); waited != 3*time.Second {
			t.Errorf("all operations waited %v for the first attempt, want 3 s", waited)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Errorf("close while it is being opened: %v", err)
		}
		wantRefused(t, s, store.ErrClosed, "the store is closed: the store is not open: it is being opened")
		if err := s.Wait(t.Context()); !errors.Is(err, store.ErrClosed) {
			t.Errorf("wait for a closed store: got %v, want %v", err, store.ErrClosed)
		}
	})
}

// wantRefused checks that every method but Close fails.
func wantRefused(t *testing.T, s *background.Store, want error, text string) {
	t.Helper()
	ctx := t.Context()
	_, healthErr := s.Health(ctx)
	_, appendErr := s.Append(ctx, "c1", store.Position{}, store.Record{Type: "x"})
	_, endErr := s.End(ctx, "c1")
	_, takeErr := s.Take(ctx)
	_, subscribeErr := s.Subscribe(ctx, "c1")
	_, getErr := s.Get(ctx, "k")
	_, putErr := s.Put(ctx, store.Entry{Key: "k"}, 0)
	errs := map[string]error{
		"append": appendErr, "end": endErr, "take": takeErr, "subscribe": subscribeErr, "get": getErr, "put": putErr, "health": healthErr,
		"delete": s.Delete(ctx, "c1"), "enqueue": s.Enqueue(ctx, store.Job{}), "schedule": s.Schedule(ctx, store.Job{}, time.Now()),
		"unschedule": s.Unschedule(ctx, "t"), "publish": s.Publish(ctx, "c1", nil),
	}
	for _, err := range s.Read(ctx, "c1", 0) {
		errs["read"] = err
	}
	for _, err := range s.Conversations(ctx, "") {
		errs["conversations"] = err
	}
	for _, err := range s.Watch(ctx, "") {
		errs["watch"] = err
	}
	if len(errs) != 15 {
		t.Errorf("%d methods answered, want 15", len(errs))
	}
	for method, err := range errs {
		if !errors.Is(err, want) || err.Error() != text {
			t.Errorf("%s: got error %v, want %s", method, err, text)
		}
	}
}

func TestStore_OperationsWaitForTheFirstAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, func(context.Context) (store.Store, error) {
			time.Sleep(2 * time.Second)
			return store.Memory(), nil
		})
		if _, err := s.Health(t.Context()); !errors.Is(err, store.ErrNotOpen) {
			t.Errorf("health at once: got %v, want %v", err, store.ErrNotOpen)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.End(ctx, "c1"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("end of log with a second of patience: got %v, want its deadline", err)
		}
		storetest.Append(t, s, "c1", store.Position{}, "a")
	})
}

func TestStore_TriesAgainWhileThatCanHelp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		away := fmt.Errorf("dial: %w", store.ErrUnavailable)
		s := open(t, opens(away, away, store.ErrInUse, store.ErrFull))
		synctest.Wait()
		if _, err := s.Health(t.Context()); !errors.Is(err, store.ErrNotOpen) || !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("health while servers are away: got %v, want ErrNotOpen and ErrUnavailable", err)
		}
		if err := s.Wait(t.Context()); err != nil {
			t.Fatalf("wait: %v", err)
		}
		if got, want := time.Since(began), (1+2+4+8)*time.Second; got != want {
			t.Errorf("opened after %v, want %v", got, want)
		}
		if _, err := s.Health(t.Context()); err != nil {
			t.Errorf("health: %v", err)
		}
	})
}

func TestStore_WaitsAtMostHalfAMinuteBetweenAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var last time.Time
		attempts := 0
		s := open(t, func(context.Context) (store.Store, error) {
			attempts++
			if d := time.Since(last); attempts > 1 && d > 30*time.Second {
				t.Errorf("attempt %d came after %v, want at most 30 s", attempts, d)
			}
			last = time.Now()
			return nil, store.ErrUnavailable
		})
		time.Sleep(time.Hour)
		_ = s.Close(t.Context())
		if attempts < 120 {
			t.Errorf("%d attempts in an hour, want at least 120", attempts)
		}
	})
}

func TestStore_FinalErrorIsNotTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		attempts := 0
		s := background.Open(func(context.Context) (store.Store, error) {
			attempts++
			return nil, errors.New("block 1 is damaged")
		}, slog.New(slog.NewTextHandler(&log, nil)))
		if err := s.Wait(t.Context()); !errors.Is(err, store.ErrNotOpen) || err.Error() != "the store is not open: block 1 is damaged" {
			t.Errorf("wait: got %v, want the reason", err)
		}
		time.Sleep(time.Hour)
		if attempts != 1 || strings.Count(log.String(), "block 1 is damaged") != 1 {
			t.Errorf("%d attempts and log %q, want one attempt, logged once", attempts, log.String())
		}
		if err := s.Close(t.Context()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
}

func TestStore_RepeatedErrorIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		s := background.Open(opens(store.ErrUnavailable, store.ErrUnavailable, store.ErrInUse), slog.New(slog.NewTextHandler(&log, nil)))
		if err := s.Wait(t.Context()); err != nil {
			t.Fatalf("wait: %v", err)
		}
		if got := strings.Count(log.String(), "level=WARN"); got != 2 {
			t.Errorf("%d warnings, want 2:\n%s", got, log.String())
		}
		_ = s.Close(t.Context())
	})
}

// closing is a store that reports when it was closed.
type closing struct {
	store.Store
	closed chan struct{}
}

func (c closing) Close(ctx context.Context) error {
	close(c.closed)
	return c.Store.Close(ctx)
}

func TestStore_CloseIsBoundedAndClosesWhatOpensLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := closing{store.Memory(), make(chan struct{})}
		s := background.Open(func(context.Context) (store.Store, error) {
			time.Sleep(time.Minute) // it obeys no context
			return late, nil
		}, slog.New(slog.DiscardHandler))
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := s.Close(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 10*time.Second {
			t.Errorf("close: got %v after %v, want the deadline after 10 s", err, time.Since(began))
		}
		<-late.closed
	})
}
