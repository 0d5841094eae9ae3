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

// laterJob differs from Job in its body.
func laterJob(turn string) store.Job {
	j := Job(turn)
	j.Body = json.RawMessage(`{"later":true}`)
	return j
}

// wantJob takes the next job, checks that it is the wanted one and not early, and acknowledges it.
func wantJob(t *testing.T, s Subject, want store.Job, at time.Time) {
	t.Helper()
	l := Take(t, s)
	if early := time.Until(at); early > 0 {
		t.Errorf("job of %s is due %v early", want.Turn, early)
	}
	if diff := cmp.Diff(want, l.Job()); diff != "" {
		t.Errorf("next job (-want +got):\n%s", diff)
	}
	ack(t, l)
}

var queueCases = map[string]func(*testing.T, Subject){
	"an acknowledged job is not delivered again": func(t *testing.T, s Subject) {
		Enqueue(t, s, Job("t1"), Job("t2"))
		wantJob(t, s, Job("t1"), time.Time{})
		wantJob(t, s, Job("t2"), time.Time{})
		WantNoJob(t, s)
	},
	"a waiting worker gets the next job": func(t *testing.T, s Subject) {
		var worker sync.WaitGroup
		worker.Go(func() {
			if l := Take(t, s); l.Job().Turn != "t1" {
				t.Errorf("took %v, want t1", l.Job())
			}
		})
		Enqueue(t, s, Job("t1"))
		worker.Wait()
	},
	"each job of a turn is its own": func(t *testing.T, s Subject) {
		Enqueue(t, s, Job("t1"), Job("t1"))
		for range 2 {
			ack(t, Take(t, s))
		}
		WantNoJob(t, s)
	},
	"a lease that is not extended expires": func(t *testing.T, s Subject) {
		Enqueue(t, s, Job("t1"))
		start := time.Now()
		Take(t, s)
		second := Take(t, s)
		if lasted := time.Since(start); lasted < s.Lease-s.Lease/20 {
			t.Errorf("the lease expired after %v, want %v", lasted, s.Lease)
		}
		ack(t, second)
		WantNoJob(t, s)
	},
	"an extended lease does not expire": func(t *testing.T, s Subject) {
		for range 3 { // it may expire on a machine that pauses for too long
			Enqueue(t, s, Job("t1"))
			l := Take(t, s)
			extended := extend(t, s, l)
			ack(t, l)
			if extended {
				return
			}
		}
		t.Error("the extended lease has expired three times")
	},
	"a nacked job is delivered again after its delay": func(t *testing.T, s Subject) {
		Enqueue(t, s, Job("t1"))
		if err := Take(t, s).Nack(0); err != nil {
			t.Fatalf("nack: %v", err)
		}
		start := time.Now()
		if err := Take(t, s).Nack(2 * s.Tick); err != nil {
			t.Fatalf("nack with a delay: %v", err)
		}
		wantJob(t, s, Job("t1"), start.Add(2*s.Tick))
	},
	"each job has one worker":                                 manyWorkers,
	"scheduled jobs become due at their instants, not before": scheduleOrder,
	"a job with a past instant is due and replaces no scheduled one": func(t *testing.T, s Subject) {
		at := Schedule(t, s, laterJob("t1"), 8)
		Schedule(t, s, Job("t1"), -1000)
		wantJob(t, s, Job("t1"), time.Time{})
		wantJob(t, s, laterJob("t1"), at)
		WantNoJob(t, s)
	},
	"a scheduled job replaces the turn's former one": func(t *testing.T, s Subject) {
		Schedule(t, s, Job("t1"), 7)
		wantJob(t, s, laterJob("t1"), Schedule(t, s, laterJob("t1"), 9))
		Schedule(t, s, Job("t2"), 1000)
		wantJob(t, s, Job("t2"), Schedule(t, s, Job("t2"), 2))
		WantNoJob(t, s)
	},
	"an unscheduled job does not become due": func(t *testing.T, s Subject) {
		Schedule(t, s, Job("t1"), 8)
		Schedule(t, s, Job("t2"), 9)
		for _, turn := range []string{"t1", "t1", "unknown"} {
			if err := s.Unschedule(t.Context(), turn); err != nil {
				t.Fatalf("unschedule %s: %v", turn, err)
			}
		}
		wantJob(t, s, Job("t2"), time.Time{})
	},
	"a scheduled job that becomes due replaces no other": func(t *testing.T, s Subject) {
		Schedule(t, s, laterJob("t1"), 1)
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
			t.Errorf("bodies of the jobs (-want +got):\n%s", diff)
		}
	},
	"a turn is scheduled while its job is leased": func(t *testing.T, s Subject) {
		Enqueue(t, s, Job("t1"))
		for range 3 {
			l := Take(t, s)
			Schedule(t, s, l.Job(), 2)
			ack(t, l)
		}
		ack(t, Take(t, s))
		WantNoJob(t, s)
	},
	"invalid jobs are refused": func(t *testing.T, s Subject) {
		for _, tt := range []struct {
			job  store.Job
			want error
		}{
			{store.Job{Turn: "t1"}, store.ErrInvalid},
			{store.Job{Conversation: "c1"}, store.ErrInvalid},
			{store.Job{Conversation: "c1", Turn: "t>"}, store.ErrInvalid},
			{store.Job{Conversation: "c1", Turn: "t1", Body: json.RawMessage(`1`)}, store.ErrInvalid},
			{store.Job{Conversation: "c1", Turn: "t1", Body: json.RawMessage(`{"a":"` + strings.Repeat("a", 600<<10) + `"}`)}, store.ErrTooLarge},
		} {
			WantError(t, "enqueue", s.Enqueue(t.Context(), tt.job), tt.want)
			WantError(t, "schedule", s.Schedule(t.Context(), tt.job, time.Now()), tt.want)
		}
		WantError(t, "unschedule", s.Unschedule(t.Context(), "*"), store.ErrInvalid)
		WantNoJob(t, s)
	},
	"health counts jobs": func(t *testing.T, s Subject) {
		Enqueue(t, s, Job("t1"), Job("t2"), Job("t3"))
		Schedule(t, s, Job("t4"), 1000)
		Take(t, s)
		Append(t, s, "c1", store.Position{}, "a")
		h, err := s.Health(t.Context())
		if err != nil || h.Due != 2 || h.Scheduled != 1 || h.Leased != 1 || h.Logs != 1 {
			t.Errorf("health: got %+v, %v; want 2 due, 1 scheduled, 1 leased and 1 log", h, err)
		}
	},
}

// extend extends a lease for a while, and reports whether no other worker got its job.
func extend(t *testing.T, s Subject, l store.Lease) bool {
	t.Helper()
	for range 12 {
		ctx, cancel := context.WithTimeout(t.Context(), s.Lease/8)
		_, err := s.Take(ctx)
		cancel()
		if err == nil {
			return false
		}
		if err := l.Extend(); err != nil {
			t.Fatalf("extend the lease: %v", err)
		}
	}
	return true
}

// manyWorkers has many workers take due and scheduled jobs.
func manyWorkers(t *testing.T, s Subject) {
	var mu sync.Mutex
	taken := map[string]int{}
	left := 60
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute+20*s.Tick)
	defer stop()
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for {
				l, err := s.Take(ctx)
				if err != nil {
					return
				}
				mu.Lock()
				taken[l.Job().Turn]++
				if left--; left == 0 {
					stop()
				}
				mu.Unlock()
				if err := l.Ack(); err != nil {
					t.Errorf("acknowledge %s: %v", l.Job().Turn, err)
				}
			}
		})
	}
	for _, turn := range names("due", 30) {
		Enqueue(t, s, Job(turn))
	}
	for _, turn := range names("scheduled", 30) {
		Schedule(t, s, Job(turn), 2)
	}
	workers.Wait()
	for turn, n := range taken {
		if n != 1 {
			t.Errorf("the job of %s was taken %d times, want once", turn, n)
		}
	}
	if len(taken) != 60 {
		t.Errorf("%d jobs were taken, want 60", len(taken))
	}
}

// scheduleOrder schedules jobs in another order than that of their instants. Jobs
// with instants near each other may come in any order.
func scheduleOrder(t *testing.T, s Subject) {
	at := map[string]time.Time{}
	for turn, ticks := range map[string]int{"t5": 5, "t1": 1, "t3": 3} {
		at[turn] = Schedule(t, s, Job(turn), ticks)
	}
	for range 3 {
		l := Take(t, s)
		turn := l.Job().Turn
		if diff := cmp.Diff(Job(turn), l.Job()); diff != "" || time.Now().Before(at[turn]) {
			t.Errorf("job of %s, %v before its instant (-want +got):\n%s", turn, time.Until(at[turn]), diff)
		}
		delete(at, turn)
		ack(t, l)
	}
	if len(at) > 0 {
		t.Errorf("not taken: %v", at)
	}
	WantNoJob(t, s)
}
