package breaker_test

import (
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/ridethrough/ridethrough/breaker"
)

// cohortOf returns the row of refusals among tries that begin one after the other, each n eighths of a second after the
// one before: r is refused after an eighth, s is slowly answered and still open, a is answered at once, c is cancelled.
func cohortOf(tries string, n int) int {
	h := breaker.NewCohort()
	for _, t := range tries {
		h.Begin()
		h.Pass(1)
		switch t {
		case 'r':
			h.Refuse(1)
		case 'a':
			h.Answer(1)
		case 'c':
			h.End(1)
		}
		h.Pass(n - 1)
	}
	h.Pass(2) // the last have been decided for long enough
	return h.Row()
}

func TestCohort_RowOfRefusals(t *testing.T) {
	for _, tt := range []struct {
		tries string
		want  int
	}{
		{"", 0},
		{"rrrr", 4},
		{"sss", 0},
		{"sssrrrr", 4}, // slow answers to tries from before are no evidence
		{"rrrsrr", 2},  // one beside them is
		{"rrrarr", 2},
		{"rrrs", 0},
		{"rrra", 0},
		{"rrcrr", 4},
	} {
		for _, n := range []int{1, 3} {
			if got := cohortOf(tt.tries, n); got != tt.want {
				t.Errorf("tries %q, %d moments apart: a row of %d refusals, want %d", tt.tries, n, got, tt.want)
			}
		}
	}
}

// The row is never longer than what was refused since the latest try that was not, whatever the order of the outcomes.
func TestCohort_RowHoldsNoTryThatWasAccepted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tries := rapid.StringMatching(`[rsac]{0,400}`).Draw(t, "tries")
		n := rapid.IntRange(1, 9).Draw(t, "moments between two")
		want := 0
		for _, c := range tries {
			switch c {
			case 'r':
				want++
			case 's', 'a':
				want = 0
			}
		}
		if kept := 256 / n; want > kept {
			want = kept
		}
		if got := cohortOf(tries, n); got > want || got < want-2 { // the oldest may have been forgotten
			t.Errorf("a row of %d refusals, want %d", got, want)
		}
	})
}

// Refusals at once beside answers that take long are a partial failure, also while no answer to a try that began
// beside them has come.
func TestBreaker_PartialFailureBesideSlowAnswersIsNoOutage(t *testing.T) {
	for _, share := range []float64{0.1, 0.3, 0.5} {
		synctest.Test(t, func(t *testing.T) {
			var g breaker.Breaker
			u := newRandomFaults(0, 8*time.Second)
			u.arrive(t, &g, 10*time.Second)
			u.set(share)
			u.arrive(t, &g, 5*time.Second) // the first row opens the circuit, before enough is known
			if n := u.arrive(t, &g, 30*time.Second); n > 0 {
				t.Errorf("where %v fails: degraded in %d of 30 seconds, want none", share, n)
			}
			u.set(0)
			u.all.Wait()
			nothingLeft(t, &g)
		})
	}
}

// An outage of two seconds among answers of six is over when a probe is not refused, not when it is answered.
func TestBreaker_ProbeThatIsNotRefusedEndsAShortOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g breaker.Breaker
		u := newRandomFaults(0, 6*time.Second)
		u.arrive(t, &g, 20*time.Second)
		u.set(1)
		u.arrive(t, &g, 2*time.Second)
		u.set(0)
		u.arrive(t, &g, 2*time.Second)
		if o := g.State().Outages; len(o) != 1 || !o[0].Recovering {
			t.Errorf("two seconds after an outage of two there is %+v, want its slow start", o)
		}
		u.arrive(t, &g, 3*time.Second)
		if g.Degraded() {
			t.Error("five seconds after an outage of two the circuit is degraded, want closed")
		}
		u.all.Wait()
	})
}

// An answer to a try that another replica sent before all were refused does not end the outage.
func TestBreaker_OthersOldAnswerDoesNotEndAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := down10(breaker.Failed, 1)
		n.Age, n.Begun = 2*time.Second, 2*time.Second
		b := breaker.New("up")
		b.Join(&told{})
		b.HearNews("other", n)
		for _, tt := range []struct {
			begun time.Duration
			open  int
		}{{5 * time.Second, 1}, {time.Second, 0}} {
			b.HearNews("third", breaker.News{Circuit: n.Circuit, What: breaker.Back, Begun: tt.begun})
			if got := len(b.State().Outages); got != tt.open {
				t.Errorf("after an answer to a try that began %v ago %d circuits are open, want %d", tt.begun, got, tt.open)
			}
		}
	})
}
