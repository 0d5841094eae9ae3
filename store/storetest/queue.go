package storetest

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

var queueCases = map[string]func(*testing.T, Subject){
	"an acknowledged job is not delivered again": func(t *testing.T, s Subject) {
		Enqueue(t, s, Job("t1"), Job("t2"))
		for _, turn := range []string{"t1", "t2"} {
			c := Take(t, s)
			if diff := cmp.Diff(Job(turn), c.Job()); diff != "" {
				t.Error(diff)
			}
			Ack(t, c)
		}
		WantNoJob(t, s)
	},
	"a waiting worker gets the next job": func(t *testing.T, s Subject) {
		var waiting sync.WaitGroup
		waiting.Go(func() {
			if c := Take(t, s); c.Job().Turn != "t1" {
				t.Error(c.Job())
			}
		})
		Enqueue(t, s, Job("t1"))
		waiting.Wait()
	},
	"jobs with one key are one job": func(t *testing.T, s Subject) {
		keyed, other := Job("t1"), Job("t1")
		keyed.Key, other.Key = "a", "b"
		Enqueue(t, s, keyed, keyed)
		Ack(t, Take(t, s))
		Enqueue(t, s, keyed)
		WantNoJob(t, s)
		Enqueue(t, s, other, Job("t1"), Job("t1"))
		for range 3 {
			Ack(t, Take(t, s))
		}
	},
	"a lease that is not extended expires": func(t *testing.T, s Subject) {
		Enqueue(t, s, Job("t1"))
		began := time.Now()
		Take(t, s)
		again := Take(t, s)
		if held := time.Since(began); held < s.Lease-s.Lease/20 {
			t.Errorf("it lapsed after %v", held)
		}
		Ack(t, again)
		WantNoJob(t, s)
	},
	"an extended lease does not expire": func(t *testing.T, s Subject) {
		for range 3 { // on a machine that stands still for too long it may lapse all the same
			Enqueue(t, s, Job("t1"))
			c := Take(t, s)
			if holds(t, s, c) {
				Ack(t, c)
				return
			}
			Ack(t, c)
		}
		t.Error("it lapsed")
	},
	"a nacked job is delivered again after its delay": func(t *testing.T, s Subject) {
		Enqueue(t, s, Job("t1"))
		if err := Take(t, s).Nack(0); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := Take(t, s).Nack(2 * s.Tick); err != nil {
			t.Fatal(err)
		}
		c := Take(t, s)
		if waited := time.Since(began); waited < 2*s.Tick {
			t.Errorf("it came after %v", waited)
		}
		Ack(t, c)
	},
	"each job has one worker":                                 crowd,
	"scheduled jobs become due at their instants, not before": parked,
	"a job with a past instant is due and replaces no scheduled one": func(t *testing.T, s Subject) {
		later := Job("t1")
		later.Body = json.RawMessage(`{"later":true}`)
		at := Schedule(t, s, later, 8)
		Schedule(t, s, Job("t1"), -1000)
		Ack(t, Take(t, s))
		c := Take(t, s)
		if diff := cmp.Diff(later, c.Job()); diff != "" || time.Now().Before(at) {
			t.Error(diff, time.Until(at))
		}
		Ack(t, c)
		WantNoJob(t, s)
	},
	"a scheduled job replaces the turn's former one": func(t *testing.T, s Subject) {
		Schedule(t, s, Job("t1"), 7)
		later := Job("t1")
		later.Body = json.RawMessage(`{"later":true}`)
		at := Schedule(t, s, later, 9)
		c := Take(t, s)
		if diff := cmp.Diff(later, c.Job()); diff != "" || time.Now().Before(at) {
			t.Error(diff, time.Until(at))
		}
		Ack(t, c)
		Schedule(t, s, Job("t2"), 1000)
		at = Schedule(t, s, Job("t2"), 2)
		if Ack(t, Take(t, s)); time.Now().Before(at) {
			t.Error(time.Until(at))
		}
		WantNoJob(t, s)
	},
	"an unscheduled job does not become due": func(t *testing.T, s Subject) {
		Schedule(t, s, Job("t1"), 8)
		Schedule(t, s, Job("t2"), 9)
		for _, turn := range []string{"t1", "t1", "nobody"} {
			if err := s.Unschedule(t.Context(), turn); err != nil {
				t.Fatal(err)
			}
		}
		if c := Take(t, s); c.Job().Turn != "t2" {
			t.Error(c.Job())
		}
	},
	"a scheduled job that becomes due replaces no other": func(t *testing.T, s Subject) {
		later := Job("t1")
		later.Body = json.RawMessage(`{"later":true}`)
		Schedule(t, s, later, 1)
		Enqueue(t, s, Job("t1"), Job("t2"))
		var got []string
		for range 2 {
			got = append(got, string(Take(t, s).Job().Body))
		}
		Enqueue(t, s, Job("t1"))
		for range 2 {
			got = append(got, string(Take(t, s).Job().Body))
		}
		slices.Sort(got)
		if diff := cmp.Diff([]string{`{"later":true}`, `{"of":"t1"}`, `{"of":"t1"}`, `{"of":"t2"}`}, got); diff != "" {
			t.Error(diff)
		}
	},
	"a turn is scheduled while its job is leased": func(t *testing.T, s Subject) {
		Enqueue(t, s, Job("t1"))
		for range 3 {
			c := Take(t, s)
			Schedule(t, s, c.Job(), 2)
			Ack(t, c)
		}
		Ack(t, Take(t, s))
		WantNoJob(t, s)
	},
	"invalid jobs are refused": func(t *testing.T, s Subject) {
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
			WantError(t, "offer", s.Enqueue(t.Context(), c.ticket), c.want)
			WantError(t, "park", s.Schedule(t.Context(), c.ticket, time.Now()), c.want)
		}
		WantError(t, "unpark", s.Unschedule(t.Context(), "*"), store.ErrInvalid)
		WantNoJob(t, s)
	},
	"health counts jobs": func(t *testing.T, s Subject) {
		Enqueue(t, s, Job("t1"), Job("t2"), Job("t3"))
		Schedule(t, s, Job("t4"), 1000)
		Take(t, s)
		Append(t, s, "c1", store.Position{}, "a")
		h, err := s.Health(t.Context())
		if err != nil || h.Due != 2 || h.Scheduled != 1 || h.Leased != 1 || h.Logs != 1 {
			t.Errorf("%+v, %v", h, err)
		}
	},
}

// holds tells whether nobody else gets a claim whose worker says it is alive.
func holds(t *testing.T, s Subject, c store.Lease) bool {
	t.Helper()
	for range 12 {
		ctx, cancel := context.WithTimeout(t.Context(), s.Lease/8)
		_, err := s.Take(ctx)
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
func crowd(t *testing.T, s Subject) {
	var mu sync.Mutex
	taken := map[string]int{}
	left := 60
	ctx, enough := context.WithTimeout(t.Context(), 20*time.Second+20*s.Tick)
	defer enough()
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for {
				c, err := s.Take(ctx)
				if err != nil {
					return
				}
				mu.Lock()
				taken[c.Job().Turn]++
				if left--; left == 0 {
					enough()
				}
				mu.Unlock()
				if err := c.Ack(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for _, turn := range names("due", 30) {
		Enqueue(t, s, Job(turn))
	}
	for _, turn := range names("parked", 30) {
		Schedule(t, s, Job(turn), 2)
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
func parked(t *testing.T, s Subject) {
	at := map[string]time.Time{}
	for turn, ticks := range map[string]int{"t5": 5, "t1": 1, "t3": 3} {
		at[turn] = Schedule(t, s, Job(turn), ticks)
	}
	for range 3 {
		c := Take(t, s)
		turn := c.Job().Turn
		if diff := cmp.Diff(Job(turn), c.Job()); diff != "" || time.Now().Before(at[turn]) {
			t.Error(diff, time.Until(at[turn]))
		}
		delete(at, turn)
		Ack(t, c)
	}
	if len(at) > 0 {
		t.Errorf("not taken: %v", at)
	}
	WantNoJob(t, s)
}
