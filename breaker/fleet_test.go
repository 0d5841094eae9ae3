package breaker_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/policy"
)

// told is a fleet of ten that notes what is put.
type told struct{ news []breaker.News }

func (f *told) Put(key string, value []byte) {
	if n, ok := breaker.NewsOf(key, value); ok {
		f.news = append(f.news, n)
	}
}
func (*told) ID() string  { return "m" }
func (*told) Others() int { return 9 }

// down10 are the news of an outage of the model opus that is ten minutes old.
func down10(what breaker.What, probes int) breaker.News {
	return breaker.News{
		Circuit: breaker.CircuitName{Level: "model", Model: opus.Model}, What: what,
		Age: 10 * time.Minute, Probes: probes, Waiting: 9, Fault: errBusy.WithoutMessage(),
	}
}

// joined returns a breaker of a fleet that knows of an outage.
func joined(p *told) *breaker.Breaker {
	b := breaker.New("up")
	b.Join(p)
	b.HearNews("other", down10(breaker.Known, 20))
	return b
}

func TestBreaker_FailureHeardBeforeItsProbeEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := joined(&told{})
		time.Sleep(time.Minute)
		b.HearNews("other", down10(breaker.Failed, 21))
		b.HearNews("other", down10(breaker.Probing, 20)) // sent before, and later here
		if o := b.State().Outages[0]; o.Probing || o.Probes != 21 {
			t.Errorf("after a probe whose failure came first: probing %v, %d probes; want false and 21", o.Probing, o.Probes)
		}
		b.HearNews("third", down10(breaker.Probing, 21))
		if o := b.State().Outages[0]; !o.Probing {
			t.Error("another's probe is not waited for")
		}
		b.Hear("third", "model\topus\t", nil, 0)
		if o := b.State().Outages[0]; o.Probing {
			t.Error("the probe of a replica that has gone is still waited for")
		}
	})
}

func TestBreaker_CallSharesTheFleetsOutageAndWakesWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, u := joined(&told{}), down(0, errBusy)
		for i := range 7 { // after 20 probes of ten, it is the turn of the first; eight are before this one
			b.HearNews(fmt.Sprint("a", i), down10(breaker.Known, 20))
		}
		b.HearNews("b", down10(breaker.Known, 20))
		done := make(chan error)
		go func() { done <- ask(t.Context(), b, policy.Patient(), opus, u) }()
		time.Sleep(time.Second)
		if u.total() != 0 {
			t.Errorf("%d requests although the others know of an outage and it is their turn, want none", u.total())
		}
		b.HearNews("other", down10(breaker.Back, 0))
		began := time.Now()
		if err := <-done; err != nil || time.Since(began) > 250*time.Millisecond {
			t.Errorf("after the end of the outage: %v after %v, want an answer within 250 ms", err, time.Since(began))
		}
		b.HearNews("other", down10(breaker.Known, 20)) // late
		if st := b.State(); len(st.Outages) != 0 {
			t.Errorf("late news of the outage have opened %+v", st.Outages)
		}
	})
}

func TestBreaker_AnswersContradictOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, u := &told{}, down(0, errBusy)
		b := breaker.New("up")
		b.Join(p)
		_ = ask(t.Context(), b, policy.Patient(), opus, u)
		b.HearNews("other", down10(breaker.Failed, 1))
		if st := b.State(); len(st.Outages) != 0 || len(p.news) != 0 {
			t.Errorf("an outage that another tells of right after an answer: %+v, told %v; want nothing", st.Outages, p.news)
		}
		_ = ask(t.Context(), b, policy.Patient(), opus, u)
		if len(p.news) != 1 || p.news[0].What != breaker.Answers {
			t.Errorf("told %+v after the next answer, want that the upstream answers", p.news)
		}
		time.Sleep(6 * time.Second)
		b.HearNews("other", down10(breaker.Known, 1))
		if st := b.State(); len(st.Outages) != 1 {
			t.Errorf("six seconds after the last answer %d circuits are open, want the other's outage", len(st.Outages))
		}
	})
}

// Every user of the NATS servers may send this each second. Calls that are answered continue.
func TestBreaker_AnswersContradictACooldownThatOthersTellOf(t *testing.T) {
	for _, circuit := range []breaker.CircuitName{
		{Level: "host"},
		{Level: "host", Model: opus.Model},
		{Level: "model", Model: opus.Model},
		{Level: "credential", Model: opus.Model, Credential: opus.Credential},
		{Level: "credential"},
		{Level: "credential", Model: opus.Model},
	} {
		synctest.Test(t, func(t *testing.T) {
			b, u, began := breaker.New("up"), down(0, errBusy), time.Now()
			b.Join(&told{})
			for range 60 {
				if err := ask(t.Context(), b, policy.Patient(), opus, u); err != nil {
					t.Fatalf("ask: %v", err)
				}
				b.HearNews("other", breaker.News{Circuit: circuit, What: breaker.Failed, Wait: 15 * time.Minute, Fault: limited(15 * time.Minute)})
				time.Sleep(time.Second)
			}
			if took := time.Since(began); took > time.Minute {
				t.Errorf("%+v: 60 calls a second apart have taken %v, want a minute", circuit, took)
			}
		})
	}
}

func TestBreaker_CooldownThatOthersTellOfIsOfACredential(t *testing.T) {
	for _, tt := range []struct {
		name  string
		scope breaker.Scope
		kept  bool
	}{
		{"the credential's, beside answers to another", opus, true},
		{"no credential", breaker.Scope{Model: opus.Model}, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			b, u := breaker.New("up"), down(0, errBusy)
			b.Join(&told{})
			_ = ask(t.Context(), b, policy.Patient(), breaker.Scope{Model: opus.Model, Credential: "b"}, u)
			b.HearNews("other", breaker.News{Circuit: breaker.CircuitName{Level: "credential", Model: tt.scope.Model, Credential: tt.scope.Credential}, What: breaker.Failed, Wait: 5 * time.Minute, Fault: limited(5 * time.Minute)})
			began := time.Now()
			_ = ask(t.Context(), b, policy.Patient(), tt.scope, u)
			if took := time.Since(began); (took >= 5*time.Minute) != tt.kept {
				t.Errorf("%s: the next call was answered after %v; a cooldown of 5m is kept: want %v", tt.name, took, tt.kept)
			}
		})
	}
}

func TestBreaker_OneFaultSufficesAfterOthersToldOfAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, u := &told{}, down(0, errBusy)
		b := breaker.New("up")
		b.Join(p)
		_ = ask(t.Context(), b, policy.Patient(), opus, u)
		b.HearNews("other", down10(breaker.Failed, 1))
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

// What others say is bounded, is of the circuit that its key names, and is forgotten unless they say it again.
func TestBreaker_RemembersLittleOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New("up")
		b.Join(&told{})
		check := func(when string, processes, circuits int) {
			t.Helper()
			if p, c := b.Remembered(); p != processes || c != circuits {
				t.Errorf("%s: %d processes with calls in %d circuits, want %d with %d", when, p, c, processes, circuits)
			}
		}
		for _, value := range []string{"", "null", "7", `{"Circuit":{"Level":"model","Model":"other"},"What":"failed","Waiting":1}`} {
			b.Hear("a", "model\topus\t", []byte(value), 0)
		}
		check("nonsense", 0, 0)
		n := down10(breaker.Known, 1)
		b.HearNews("a", n)
		check("calls wait", 1, 1)
		n.Waiting = 0
		b.HearNews("a", n)
		check("none wait any more", 1, 0)
		for i := range 2000 {
			n := down10(breaker.Answers, 1)
			n.Circuit.Model = fmt.Sprint(i)
			b.HearNews("a", n)
			b.Hear(fmt.Sprint(i), "load", []byte(`{"Usual":1}`), 0)
		}
		check("too much", 1024, 1024)
		b.Hear("a", "model\t7\t", nil, 0)
		check("one has gone", 1024, 1023)
		time.Sleep(7 * time.Second)
		b.Refresh()
		check("seven seconds later", 0, 0)
	})
}

func TestBreaker_HearsNothingAfterLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, left := range []bool{false, true} {
			b := breaker.New("up")
			b.Join(&told{})
			if left {
				b.Leave()
			}
			b.HearNews("other", down10(breaker.Failed, 1))
			if got := len(b.State().Outages); (got == 0) != left {
				t.Errorf("left %v: news of an outage open %d circuits", left, got)
			}
		}
	})
}
