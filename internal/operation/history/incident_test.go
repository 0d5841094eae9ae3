package history_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/operation/history"
	"github.com/ridethrough/ridethrough/turn"
)

// The rule of docs/adr/0011-an-incident-is-three-failed-tries.md. A letter is a try, one in a minute: f failed, o
// answered, F and O of another model, i a request that was wrong, c a caller who
// left, s a fault that was shared with another's try, . none.
func TestIncident_BeginsAndEnds(t *testing.T) {
	quiet := strings.Repeat(".", 46)
	for _, c := range []struct{ tries, want string }{
		{"", ""},
		{"oooooofooooo", ""},
		{"offo", ""},
		{"offfo", "work 1 to recovered 4, 3 of 4 failed"},
		{"offf", "work 1 to open, 3 of 3 failed"},
		{"offfffffo", "work 1 to recovered 8, 7 of 8 failed"},
		{"ffifcf", "work 0 to open, 4 of 4 failed"},
		{"fsssss", ""},
		{"fOfOf", "work 0 to open, 3 of 3 failed"}, // the other model answers
		{"fffFFFoO", "work 0 to recovered 7, 6 of 8 failed"},
		{"fffFFFo", "work 0 to open, 6 of 7 failed"},
		{"fffoofffo", "work 0 to recovered 8, 6 of 8 failed"},                                               // not two
		{"fffoooooooofffo", "work 0 to recovered 3, 3 of 4 failed; work 11 to recovered 14, 3 of 4 failed"}, // two
		{"fff" + quiet, "work 0 to unknown 2, 3 of 3 failed"},
		{"ff" + quiet + "f", ""},
		{"fff" + quiet + "fff", "work 0 to unknown 2, 3 of 3 failed; work 49 to open, 3 of 3 failed"},
		{"fff" + strings.Repeat("...................f", 5) + "o", "work 0 to recovered 103, 8 of 9 failed"},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, "")
			for i, letter := range c.tries {
				switch letter {
				case 'f':
					w.try(int64(i), "m", 0, busy)
				case 'F':
					w.try(int64(i), "other", 0, busy)
				case 'o':
					w.try(int64(i), "m", 0, nil)
				case 'O':
					w.try(int64(i), "other", 0, nil)
				case 'i':
					w.try(int64(i), "m", 0, &fault.Error{Kind: fault.Invalid})
				case 'c':
					w.try(int64(i), "m", 0, &fault.Error{Kind: fault.Canceled})
				case 's':
					w.Watch(&gateway.Event{At: time.Now(), Call: w.call(1, "m"), Try: retry.Try{N: 1, Fault: busy, Shared: true}})
				}
				time.Sleep(time.Minute)
			}
			if got := w.said(); got != c.want {
				t.Errorf("%q:\n got %s\nwant %s", c.tries, got, c.want)
			}
		})
	}
}

func TestIncident_AnswerToAnEarlierTryIsNoRecovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		time.Sleep(time.Hour)
		for range 3 {
			w.try(1, "m", 0, busy)
			time.Sleep(10 * time.Second)
		}
		w.try(2, "m", time.Minute, nil)
		if got := w.said(); got != "work 60 to open, 3 of 4 failed" {
			t.Errorf("got %v, want %s", got, "work 60 to open, 3 of 4 failed")
		}
		w.try(2, "m", 5*time.Second, nil)
		if got := w.said(); got != "work 60 to recovered 60, 3 of 5 failed" {
			t.Errorf("got %v, want %s", got, "work 60 to recovered 60, 3 of 5 failed")
		}
	})
}

func TestIncident_WaitingCallKeepsItOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		for range 3 {
			w.fail(1, "m")
		}
		time.Sleep(3 * time.Hour)
		if got := w.said(); got != "work 0 to open, 3 of 3 failed" || w.condition() != history.Down {
			t.Errorf("got %v, want %s", got, "work 0 to open, 3 of 3 failed")
		}
		w.end(1, "m")
		if got := w.said(); got != "work 0 to unknown 0, 3 of 3 failed" || w.condition() != history.Up {
			t.Errorf("got %v, want %s", got, "work 0 to unknown 0, 3 of 3 failed")
		}
	})
}

func TestIncident_CountsCallersAndClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		for id := range int64(25) { // of ten sessions
			w.fail(id, "m")
		}
		w.try(99, "m", 0, &fault.Error{Kind: fault.Unavailable, Status: 502})
		time.Sleep(10 * time.Minute)
		for id := range int64(20) {
			w.recover(id, "m", 3, 10*time.Minute)
			w.end(id, "m")
		}
		w.end(20, "m")
		w.end(21, "m")
		w.end(22, "m")
		all := w.Incidents(time.Now())
		want := []history.Incident{{
			ID: "20000101-000000-work", Upstream: "work", Models: []string{"m"}, Began: time.Now().Add(-10 * time.Minute).UTC(), Ended: time.Now().UTC(), RecoveredMs: 600_000,
			Tries: 27, Failures: 26, Calls: 25, Held: 20, Lost: 3, Callers: 10, Clients: []history.Client{{Name: "claude-cli/2.1.329", Calls: 25}},
			Kinds: []history.Kind{{Kind: "overloaded", Cause: "server overloaded", Count: 25}, {Kind: "unavailable", Cause: "server error", Count: 1}}, Message: "HTTP 529: Overloaded",
		}}
		if diff := cmp.Diff(want, all); diff != "" {
			t.Errorf("incident (-want +got)\n%s", diff)
		}
		if got := w.Upstream("work", time.Now()).Saved; got != (history.Saved{Calls: 20, Outages: 1, Retries: 60, Waited: 200 * time.Minute, Since: 10 * time.Minute}) {
			t.Errorf("held: got %+v, want 20 calls of one outage and 60 retries", got)
		}
	})
}

// A call whose wait is long meets the next incident too.
func TestIncident_CallWaitsThroughTwo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		for range 3 {
			w.fail(1, "m")
		}
		time.Sleep(time.Minute)
		w.recover(2, "m", 1, time.Minute)
		time.Sleep(time.Hour)
		for range 3 {
			w.fail(1, "m")
		}
		time.Sleep(time.Minute)
		w.recover(1, "m", 6, time.Hour)
		for _, in := range w.Incidents(time.Now()) {
			if in.Calls != 1 || in.Held != 1 || in.Callers != 1 {
				t.Errorf("incident %s: %d calls of %d callers, %d held; want the one that waited through both", in.ID, in.Calls, in.Callers, in.Held)
			}
		}
		if got := w.said(); got != "work 0 to recovered 1, 3 of 4 failed; work 61 to recovered 62, 3 of 4 failed" {
			t.Errorf("incidents: got %s, want two, each with its recovery", got)
		}
		if got := w.Upstream("work", time.Now()).Saved; got.Calls != 2 || got.Outages != 2 {
			t.Errorf("saved: got %+v, want two calls and two outages", got)
		}
	})
}

func TestIncident_SwitchedCallWasHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		for range 3 {
			w.fail(1, "m")
		}
		spare := w.call(1, "m")
		spare.Upstream = "spare"
		w.Watch(&gateway.Event{At: time.Now(), Call: spare, Event: turn.Switched{From: "work", To: "spare"}})
		w.Watch(&gateway.Event{At: time.Now(), Call: spare, Try: retry.Try{N: 1, Start: time.Now()}})
		w.Watch(&gateway.Event{At: time.Now(), Call: spare, Event: turn.Recovered{}})
		if got := w.Upstream("work", time.Now()).Saved; got.Calls != 1 || got.Outages != 1 {
			t.Errorf("held at the failed upstream: got %+v, want one call of one outage", got)
		}
		if got := w.Upstream("spare", time.Now()); got.Saved.Calls != 0 || got.Samples != 1 || got.First != time.Millisecond {
			t.Errorf("the upstream that took over: got %+v, want one answer, and no call held", got)
		}
	})
}

func TestIncident_SwitchedCallDoesNotKeepItOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		for range 3 {
			w.fail(1, "m")
		}
		spare := w.call(1, "m")
		spare.Upstream = "spare"
		w.Watch(&gateway.Event{At: time.Now(), Call: spare, Event: turn.Switched{From: "work", To: "spare"}})
		time.Sleep(time.Hour)
		if got := w.said(); got != "work 0 to unknown 0, 3 of 3 failed" {
			t.Errorf("got %v, want %s", got, "work 0 to unknown 0, 3 of 3 failed")
		}
	})
}

func TestHistory_CallsAndTurnsShareAnIncident(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		for _, c := range []string{"c1", "c2"} {
			for range 3 {
				w.turnTry(busy)
				w.turn(c, turn.Retry{})
			}
		}
		w.fail(1, "large")
		w.turn("c3", turn.Retry{Wait: policy.Wait{Fault: &fault.Error{Code: turn.WorkerFailed}}}) // no wait for its provider
		w.turnTry(nil)
		w.turn("c1", turn.Recovered{Retries: 3})
		w.turn("c2", turn.Sealed{Status: turn.Failed})
		w.end(1, "large")
		all := w.Incidents(time.Now())
		if len(all) != 1 || all[0].Upstream != "work" || all[0].Calls != 3 || all[0].Callers != 3 || all[0].Held != 1 || all[0].Lost != 2 {
			t.Errorf("incidents: got %+v, want one of a call and two turns, one held and two lost", all)
		}
		if got := w.Names(); len(got) != 1 || got[0] != "work" {
			t.Errorf("Names: got %q, want the one upstream", got)
		}
	})
}

func TestHistory_IsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		for i := range 300 { // incidents
			for range 3 {
				w.try(1, "m", 0, busy)
			}
			w.try(1, "m", 0, nil)
			time.Sleep(10 * time.Minute)
			if i == 299 {
				break
			}
		}
		if all := w.Incidents(time.Now()); len(all) != 200 || !all[0].Began.After(all[199].Began) {
			t.Errorf("%d incidents", len(all))
		}
		for i := range 1000 { // models, upstreams and callers
			model := fmt.Sprint("m", i)
			for range 3 {
				w.fail(int64(i), model)
			}
			w.Watch(&gateway.Event{At: time.Now(), Call: gateway.Call{ID: 1, Upstream: model}, Try: retry.Try{N: 1, Fault: busy}})
		}
		if n := len(w.Incidents(time.Now())[0].Models); n > 65 {
			t.Errorf("%d models", n)
		}
		if n := len(w.Names()); n != 256 {
			t.Errorf("%d upstreams", n)
		}
	})
}

// step is something that happens.
type step struct {
	id    int64
	model string
	what  int
	pause time.Duration
}

// steps draws what happens.
func steps() *rapid.Generator[[]step] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
		return step{
			rapid.Int64Range(1, 8).Draw(t, "id"), rapid.SampledFrom([]string{"a", "b"}).Draw(t, "model"), rapid.IntRange(0, 5).Draw(t, "what"),
			time.Duration(rapid.IntRange(0, 3600).Draw(t, "pause")) * time.Second,
		}
	}), 0, 200)
}

// live has it happen, and counts.
func (w *world) live(all []step) (failed, answered int) {
	for _, s := range all {
		switch s.what {
		case 0, 1, 2:
			w.fail(s.id, s.model)
			failed++
		case 3:
			w.recover(s.id, s.model, 1, time.Second)
			answered++
		case 4:
			w.end(s.id, s.model)
		case 5:
			time.Sleep(s.pause)
		}
	}
	return failed, answered
}

// Whatever happens, incidents of one upstream do not overlap, none is made of
// less than it takes, and what is counted adds up.
func TestIncident_CountsAddUp(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var broken []string
		happens := steps().Draw(rt, "steps")
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, "")
			failed, answered := w.live(happens)
			all := w.Incidents(time.Now())
			for i, in := range all {
				if in.Failures < 3 || in.Failures > in.Tries || in.Held+in.Lost > in.Calls || in.Callers > in.Calls || in.Calls == 0 {
					broken = append(broken, fmt.Sprintf("it does not add up: %+v", in))
				}
				if in.Ended.IsZero() && i > 0 || !in.Ended.IsZero() && in.Ended.Before(in.Began) {
					broken = append(broken, fmt.Sprintf("its end: %d: %+v", i, in))
				}
				if i > 0 && all[i-1].Began.Sub(in.Ended) <= 5*time.Minute {
					broken = append(broken, fmt.Sprintf("%v and %v are one", in.Ended, all[i-1].Began))
				}
			}
			failures := 0
			for _, in := range all {
				failures += in.Failures
			}
			if n := w.Upstream("work", time.Now()).Samples; n > answered || failures > failed {
				broken = append(broken, fmt.Sprintf("%d answers of %d, %d failures of %d", n, answered, failures, failed))
			}
		})
		if len(broken) > 0 {
			rt.Error(strings.Join(broken, "\n"))
		}
	})
}

// A provider's error may quote the conversation, which is not for everyone who sees the incidents.
func TestIncident_OfConversationsHasNoWordsOfTheProvider(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		for range 3 {
			w.turnTry(&fault.Error{Kind: fault.Unavailable, Status: 500, Code: "api_error", Message: "cannot parse: the launch code is 4711"})
		}
		all := w.Incidents(time.Now())
		if len(all) != 1 || all[0].Message != "HTTP 500: api_error" {
			t.Errorf("incidents %+v, want one with the message HTTP 500: api_error", all)
		}
	})
}
