package council_test

import (
	"context"
	"iter"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/council"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
)

func TestMembers_OfOneProviderShareOneProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := llmtest.New(name("a"), fails(1, busy), fails(1, busy), fails(1, busy), fails(2*time.Second, busy))
		one := agent.Agent{Model: model}
		s := ask(t.Context(), council.Council{Members: []agent.Agent{one, one, one, member("b", says(0, "yes")), member("c", says(0, "no"))}, Aggregator: member("judge", says(0, "so"))})
		if len(model.Requests()) != 4 || s.count(council.Failed) != 3 || s.err != nil {
			t.Errorf("%d requests: %+v, %v; want requests 4, failed 3, no error", len(model.Requests()), s.Members, s.err)
		}
		if s.Members[0].Tries+s.Members[1].Tries+s.Members[2].Tries != 4 {
			t.Errorf("members %+v", s.Members)
		}
		if waits := s.only("waiting, tries 1, left 4m28.499999999s, wait 0s"); len(waits) != 2 { // two for the third, with what is left of their budgets
			t.Errorf("events %q", s.lines)
		}
	})
}

// A fault of another council's model minutes ago does not keep a member from its
// first try, nor another model of the same provider from anything.
func TestMembers_AreAskedDespiteAnotherCouncilsFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		breakers := &breaker.Set{}
		down := &fault.Error{Kind: fault.Unavailable, Status: 500}
		failing := llmtest.New(name("a/broken"))
		failing.Then = llmtest.Fails(down)
		broken := agent.Agent{Model: failing}
		for range 5 {
			_ = ask(t.Context(), council.Council{Members: []agent.Agent{broken, broken}, Breakers: breakers})
			time.Sleep(3 * time.Minute)
		}
		well := member("a/well", says(time.Second, "yes"))
		s := ask(t.Context(), council.Council{Members: []agent.Agent{broken, well, member("b", says(0, "no"))}, Aggregator: member("judge", says(0, "so")), Breakers: breakers, Grace: time.Hour})
		if v := s.Members[1]; v.State != council.Answered || v.Tries != 1 || v.Took != time.Second || s.Members[0].Tries != 1 {
			t.Errorf("member %+v, events %q; want state answered, tries 1, took 1s, tries of member 0 1: it is the probe of its model, and the next one is later than its budget", v, s.lines)
		}
	})
}

func TestMember_ObeysAHintGivenToAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		breakers := &breaker.Set{}
		limit := &fault.Error{Kind: fault.RateLimited, Status: 429, Wait: 100 * time.Second}
		model := llmtest.New(name("a"), llmtest.Fails(limit), says(0, "yes"), says(0, "yes"))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(40*time.Second, cancel)
		two := []agent.Agent{{Model: model}, member("b", says(0, "no"))}
		_ = ask(ctx, council.Council{Members: two, Breakers: breakers, Aggregator: member("judge"), Grace: time.Hour})
		two[1] = member("b", says(0, "no"))
		s := ask(t.Context(), council.Council{Members: two, Breakers: breakers, Aggregator: member("judge", says(0, "so")), Grace: time.Hour})
		if v := s.Members[0]; v.State != council.Answered || v.Tries != 1 || v.Took != 60*time.Second {
			t.Errorf("member %+v, events %q; want state answered, tries 1, took 60s", v, s.lines)
		}
	})
}

func TestMembers_BehindAProbeProceedWhenItSucceeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := llmtest.New(name("a"), fails(1, busy), fails(1, busy), fails(1, busy))
		model.Then = func(ctx context.Context, r llm.Request) iter.Seq2[llm.Part, error] {
			return func(yield func(llm.Part, error) bool) { // it begins after 2 s and ends after 42
				for p, err := range llmtest.Late(2*time.Second, llmtest.Says("so"))(ctx, r) {
					if _, ends := p.(llm.End); ends {
						time.Sleep(40 * time.Second)
					}
					if !yield(p, err) {
						return
					}
				}
			}
		}
		one := agent.Agent{Model: model}
		s := ask(t.Context(), council.Council{Members: []agent.Agent{one, one, one}, Aggregator: member("judge", says(0, "so")), Grace: time.Hour})
		if s.err != nil || s.count(council.Answered) != 3 || len(model.Requests()) != 6 {
			t.Errorf("error %v, members %+v; want no error, answered 3, requests 6", s.err, s.Members)
		}
		if s.Took > 50*time.Second { // the first content lets the others go, not the end
			t.Errorf("it took %v", s.Took)
		}
	})
}

func TestMembers_SpreadRetriesOverModelsOfOneProvider(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all []agent.Agent
		for _, model := range []string{"a/small", "a/middle", "a/large", "b/large"} {
			all = append(all, member(model, llmtest.Fails(busy), llmtest.Says("so")))
		}
		s := ask(t.Context(), council.Council{Members: all, Aggregator: member("judge", says(0, "so"))})
		lines := s.only("asking, tries 2")
		slices.Sort(lines) // two come at the same moment
		expect(t, lines, `
			1.166666667s a/small asking, tries 2, left 4m28.833333333s
			1.5s a/middle asking, tries 2, left 4m28.5s
			1.5s b/large asking, tries 2, left 4m28.5s
			1.833333333s a/large asking, tries 2, left 4m28.166666667s`)
	})
}

func TestEvent_QuorumHasTheMembersStates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := three(member("held", says(0, "never")))
		c.Members = append(c.Members, member("d", llmtest.Hangs()))
		c.Breakers, c.Grace = &breaker.Set{}, 5*time.Second
		c.Breakers.Of("held").Pause("a test")
		c.Members[1] = member("b", says(time.Second, "yes"))
		var members []council.Member
		c.OnEvent = func(e council.Event) {
			if e.Quorum != nil {
				members = e.Quorum
			}
		}
		s := ask(t.Context(), c)
		if len(members) != 4 || members[0].State != council.Waiting || members[0].Left != 269*time.Second || members[3].State != council.Asking {
			t.Errorf("members at the quorum: %+v", members)
		}
		if s.err != nil || s.Took != 7*time.Second {
			t.Errorf("took %v, error %v; want no error, took 7s", s.Took, s.err)
		}
	})
}
