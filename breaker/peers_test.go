package breaker_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/policy"
)

// told are peers that note what they are told, and whose turn to probe it is first.
type told struct {
	news []breaker.News
	turn int
}

func (p *told) Tell(n breaker.News)              { p.news = append(p.news, n) }
func (p *told) Turn(breaker.Circuit, int) int    { return p.turn }
func (*told) Share(breaker.Circuit, int) float64 { return 0.1 }
func (*told) Part() float64                      { return 0.1 }
func (*told) Others() breaker.Load               { return breaker.Load{} }

// down10 are the news of an outage of the model opus that is ten minutes old.
func down10(what breaker.What, probes int) breaker.News {
	return breaker.News{
		Circuit: breaker.Circuit{Level: "model", Scope: breaker.Scope{Model: opus.Model}}, What: what,
		Age: 10 * time.Minute, Probes: probes, Waiting: 9, Fault: errBusy.WithoutMessage(),
	}
}

// joined returns a breaker with peers that know of an outage.
func joined(p *told) *breaker.Breaker {
	b := breaker.New("up")
	b.Join(p)
	b.Hear("other", down10(breaker.Known, 20))
	return b
}

func TestBreaker_FailureHeardBeforeItsProbeEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := joined(&told{})
		time.Sleep(time.Minute)
		b.Hear("other", down10(breaker.Failed, 21))
		b.Hear("other", down10(breaker.Probing, 20)) // sent before, and later here
		if o := b.State().Outages[0]; o.Probing || o.Probes != 21 {
			t.Errorf("after a probe whose failure came first: probing %v, %d probes; want false and 21", o.Probing, o.Probes)
		}
		b.Hear("third", down10(breaker.Probing, 21))
		if o := b.State().Outages[0]; !o.Probing {
			t.Error("another's probe is not waited for")
		}
		b.PeerGone("third")
		if o := b.State().Outages[0]; o.Probing {
			t.Error("the probe of a peer that has gone is still waited for")
		}
	})
}

func TestBreaker_CallSharesThePeersOutageAndWakesWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, u := joined(&told{turn: 8}), down(0, errBusy)
		done := make(chan error)
		go func() { done <- ask(t.Context(), b, policy.Patient(), opus, u) }()
		time.Sleep(time.Second)
		if u.total() != 0 {
			t.Errorf("%d requests although the peers know of an outage and it is their turn, want none", u.total())
		}
		b.Hear("other", down10(breaker.Back, 0))
		began := time.Now()
		if err := <-done; err != nil || time.Since(began) > 250*time.Millisecond {
			t.Errorf("after the end of the outage: %v after %v, want an answer within 250 ms", err, time.Since(began))
		}
		b.Hear("other", down10(breaker.Known, 20)) // late
		if st := b.State(); len(st.Outages) != 0 {
			t.Errorf("late news of the outage have opened %+v", st.Outages)
		}
	})
}

func TestBreaker_AnswersContradictPeers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, u := &told{}, down(0, errBusy)
		b := breaker.New("up")
		b.Join(p)
		_ = ask(t.Context(), b, policy.Patient(), opus, u)
		b.Hear("other", down10(breaker.Failed, 1))
		if st := b.State(); len(st.Outages) != 0 || len(p.news) != 0 {
			t.Errorf("an outage that a peer tells of right after an answer: %+v, told %v; want nothing", st.Outages, p.news)
		}
		_ = ask(t.Context(), b, policy.Patient(), opus, u)
		if len(p.news) != 1 || p.news[0].What != breaker.Answers {
			t.Errorf("told %+v after the next answer, want that the upstream answers", p.news)
		}
		time.Sleep(6 * time.Second)
		b.Hear("other", down10(breaker.Known, 1))
		if st := b.State(); len(st.Outages) != 1 {
			t.Errorf("six seconds after the last answer %d circuits are open, want the peer's outage", len(st.Outages))
		}
	})
}

func TestBreaker_OneFaultSufficesAfterPeersToldOfAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, u := &told{}, down(0, errBusy)
		b := breaker.New("up")
		b.Join(p)
		_ = ask(t.Context(), b, policy.Patient(), opus, u)
		b.Hear("other", down10(breaker.Failed, 1))
		u.down(time.Now(), time.Now().Add(time.Hour))
		_ = ask(t.Context(), b, policy.Policy{}, opus, u)
		if st := b.State(); len(st.Outages) != 1 || p.news[len(p.news)-1].What != breaker.Failed {
			t.Errorf("after one fault %d circuits are open and %+v is told, want one, and that it is", len(st.Outages), p.news)
		}
	})
}

func TestBreaker_JoinedHaveAPartOfTheRetryBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		retries := func(b *breaker.Breaker) (n int) {
			u := down(time.Hour, errExpired) // says nothing of the upstream
			for range 300 {
				go func() {
					_ = ask(t.Context(), b, policy.Policy{Retries: 1, Backoff: policy.Backoff{Steps: []time.Duration{time.Second}}, MaxWait: time.Hour, RetryOn: 1 << errExpired.Kind}, opus, u)
				}()
			}
			time.Sleep(time.Second + time.Millisecond)
			n = u.total() - 300
			b.GiveUp()
			synctest.Wait()
			return n
		}
		one := breaker.New("up")
		tenth := breaker.New("up")
		tenth.Join(&told{})
		if all, part := retries(one), retries(tenth); all < 95 || all > 105 || part < 9 || part > 12 {
			t.Errorf("%d retries at once by a breaker alone and %d by one of ten, want about 100 and 10", all, part)
		}
	})
}
