package store_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/store"
)

var queueCases = map[string]func(*testing.T, world){
	"a ticket is taken, and done for good": func(t *testing.T, w world) {
		offer(t, w, ticket("t1"), ticket("t2"))
		for _, turn := range []string{"t1", "t2"} {
			c := take(t, w)
			if diff := cmp.Diff(ticket(turn), c.Job()); diff != "" {
				t.Error(diff)
			}
			finish(t, c)
		}
		takeNone(t, w)
	},
	"who waits gets the next one": func(t *testing.T, w world) {
		var waiting sync.WaitGroup
		waiting.Go(func() {
			if c := take(t, w); c.Job().Turn != "t1" {
				t.Error(c.Job())
			}
		})
		offer(t, w, ticket("t1"))
		waiting.Wait()
	},
	"an offer made twice under one key is one": func(t *testing.T, w world) {
		keyed, other := ticket("t1"), ticket("t1")
		keyed.Key, other.Key = "a", "b"
		offer(t, w, keyed, keyed)
		finish(t, take(t, w))
		offer(t, w, keyed)
		takeNone(t, w)
		offer(t, w, other, ticket("t1"), ticket("t1"))
		for range 3 {
			finish(t, take(t, w))
		}
	},
	"a claim whose worker is silent lapses": func(t *testing.T, w world) {
		offer(t, w, ticket("t1"))
		began := time.Now()
		take(t, w)
		again := take(t, w)
		if held := time.Since(began); held < w.lease-w.lease/20 {
			t.Errorf("it lapsed after %v", held)
		}
		finish(t, again)
		takeNone(t, w)
	},
	"a claim holds as long as its worker is alive": func(t *testing.T, w world) {
		for range 3 { // on a machine that stands still for too long it may lapse all the same
			offer(t, w, ticket("t1"))
			c := take(t, w)
			if holds(t, w, c) {
				finish(t, c)
				return
			}
			finish(t, c)
		}
		t.Error("it lapsed")
	},
	"a claim that is handed back is somebody else's": func(t *testing.T, w world) {
		offer(t, w, ticket("t1"))
		if err := take(t, w).Nack(0); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := take(t, w).Nack(2 * w.tick); err != nil {
			t.Fatal(err)
		}
		c := take(t, w)
		if waited := time.Since(began); waited < 2*w.tick {
			t.Errorf("it came after %v", waited)
		}
		finish(t, c)
	},
	"each ticket has one worker":                           crowd,
	"a parked ticket falls due at its instant, not before": parked,
	"an instant that has passed is now, and leaves a parking where it is": func(t *testing.T, w world) {
		later := ticket("t1")
		later.Body = json.RawMessage(`{"later":true}`)
		at := park(t, w, later, 8)
		park(t, w, ticket("t1"), -1000)
		finish(t, take(t, w))
		c := take(t, w)
		if diff := cmp.Diff(later, c.Job()); diff != "" || time.Now().Before(at) {
			t.Error(diff, time.Until(at))
		}
		finish(t, c)
		takeNone(t, w)
	},
	"a parking takes the place of the former": func(t *testing.T, w world) {
		park(t, w, ticket("t1"), 7)
		later := ticket("t1")
		later.Body = json.RawMessage(`{"later":true}`)
		at := park(t, w, later, 9)
		c := take(t, w)
		if diff := cmp.Diff(later, c.Job()); diff != "" || time.Now().Before(at) {
			t.Error(diff, time.Until(at))
		}
		finish(t, c)
		park(t, w, ticket("t2"), 1000)
		at = park(t, w, ticket("t2"), 2)
		if finish(t, take(t, w)); time.Now().Before(at) {
			t.Error(time.Until(at))
		}
		takeNone(t, w)
	},
	"a turn that is unparked does not fall due": func(t *testing.T, w world) {
		park(t, w, ticket("t1"), 8)
		park(t, w, ticket("t2"), 9)
		for _, turn := range []string{"t1", "t1", "nobody"} {
			if err := w.Unschedule(t.Context(), turn); err != nil {
				t.Fatal(err)
			}
		}
		if c := take(t, w); c.Job().Turn != "t2" {
			t.Error(c.Job())
		}
	},
	"a ticket that falls due takes no other's place": func(t *testing.T, w world) {
		later := ticket("t1")
		later.Body = json.RawMessage(`{"later":true}`)
		park(t, w, later, 1)
		offer(t, w, ticket("t1"), ticket("t2"))
		var got []string
		for range 2 {
			got = append(got, string(take(t, w).Job().Body))
		}
		offer(t, w, ticket("t1"))
		for range 2 {
			got = append(got, string(take(t, w).Job().Body))
		}
		slices.Sort(got)
		if diff := cmp.Diff([]string{`{"later":true}`, `{"of":"t1"}`, `{"of":"t1"}`, `{"of":"t2"}`}, got); diff != "" {
			t.Error(diff)
		}
	},
	"a turn is parked while its ticket is held": func(t *testing.T, w world) {
		offer(t, w, ticket("t1"))
		for range 3 {
			c := take(t, w)
			park(t, w, c.Job(), 2)
			finish(t, c)
		}
		finish(t, take(t, w))
		takeNone(t, w)
	},
	"tickets that cannot be taken are refused": func(t *testing.T, w world) {
		for _, c := range []struct {
			ticket store.Job
			want   error
		}{
			{store.Job{Turn: "t1"}, store.ErrInvalid},
			{store.Job{Conversation: "c1"}, store.ErrInvalid},
			{store.Job{Conversation: "c1", Turn: "t>"}, store.ErrInvalid},
			{store.Job{Conversation: "c1", Turn: "t1", Key: "a\nb"}, store.ErrInvalid},
			{store.Job{Conversation: "c1", Turn: "t1", Body: json.RawMessage(`1`)}, store.ErrInvalid},
			{store.Job{Conversation: "c1", Turn: "t1", Body: json.RawMessage(`{"a":"` + strings.Repeat("a", 600<<10) + `"}`)}, store.ErrTooLarge},
		} {
			wantError(t, "offer", w.Enqueue(t.Context(), c.ticket), c.want)
			wantError(t, "park", w.Schedule(t.Context(), c.ticket, time.Now()), c.want)
		}
		wantError(t, "unpark", w.Unschedule(t.Context(), "*"), store.ErrInvalid)
		takeNone(t, w)
	},
	"health counts tickets": func(t *testing.T, w world) {
		offer(t, w, ticket("t1"), ticket("t2"), ticket("t3"))
		park(t, w, ticket("t4"), 1000)
		take(t, w)
		add(t, w, "c1", store.Position{}, "a")
		h, err := w.Health(t.Context())
		if err != nil || h.Due != 2 || h.Parked != 1 || h.Held != 1 || h.Logs != 1 {
			t.Errorf("%+v, %v", h, err)
		}
	},
}

// holds tells whether nobody else gets a claim whose worker says it is alive.
func holds(t *testing.T, w world, c store.Lease) bool {
	t.Helper()
	for range 12 {
		ctx, cancel := context.WithTimeout(t.Context(), w.lease/8)
		_, err := w.Take(ctx)
		cancel()
		if err == nil {
			return false
		}
		if err := c.Extend(); err != nil {
			t.Fatal(err)
		}
	}
	return true
}

// crowd has many workers take many tickets, due and parked.
func crowd(t *testing.T, w world) {
	var mu sync.Mutex
	taken := map[string]int{}
	left := 60
	ctx, enough := context.WithTimeout(t.Context(), 20*time.Second+20*w.tick)
	defer enough()
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for {
				c, err := w.Take(ctx)
				if err != nil {
					return
				}
				mu.Lock()
				taken[c.Job().Turn]++
				if left--; left == 0 {
					enough()
				}
				mu.Unlock()
				if err := c.Done(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for _, turn := range names("due", 30) {
		offer(t, w, ticket(turn))
	}
	for _, turn := range names("parked", 30) {
		park(t, w, ticket(turn), 2)
	}
	workers.Wait()
	for turn, n := range taken {
		if n != 1 {
			t.Errorf("%s was taken %d times", turn, n)
		}
	}
	if len(taken) != 60 {
		t.Errorf("%d were taken", len(taken))
	}
}

// parked parks tickets in another order than they fall due in. Those whose
// instants are near each other may come in any order.
func parked(t *testing.T, w world) {
	at := map[string]time.Time{}
	for turn, ticks := range map[string]int{"t5": 5, "t1": 1, "t3": 3} {
		at[turn] = park(t, w, ticket(turn), ticks)
	}
	for range 3 {
		c := take(t, w)
		turn := c.Job().Turn
		if diff := cmp.Diff(ticket(turn), c.Job()); diff != "" || time.Now().Before(at[turn]) {
			t.Error(diff, time.Until(at[turn]))
		}
		delete(at, turn)
		finish(t, c)
	}
	if len(at) > 0 {
		t.Errorf("not taken: %v", at)
	}
	takeNone(t, w)
}
