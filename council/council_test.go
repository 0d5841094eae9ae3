package council_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/council"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/turn"
)

func TestCouncil_EventsFromStartToEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := council.Council{
			Members: []agent.Agent{
				member("a", fails(time.Second, busy), says(time.Second, "yes")),
				member("b", says(2*time.Second, "no")),
				member("c", llmtest.Hangs()),
			},
			Aggregator: member("judge", fails(time.Second, busy), says(time.Second, "it depends")),
		}
		c.Aggregator.Retry.Rand = func() float64 { return 0.5 }
		s := ask(t.Context(), c)
		var lines []string
		for _, line := range s.lines {
			if !strings.HasPrefix(line, "0s ") { // they begin in any order
				lines = append(lines, line)
			}
		}
		expect(t, lines, `
			1s a/large waiting, tries 1, left 4m29s, wait 1.5s
			2s b/large answered, tries 1, left 4m28s
			2.5s a/large asking, tries 2, left 4m27.5s
			3.5s a/large answered, tries 2, left 4m26.5s
			3.5s quorate, grace 30s
			30s c/large asking, tries 1, left 4m0s, still
			33.5s c/large cut-off, tries 1, left 3m56.5s
			33.5s judge turn-start
			34.5s judge provider-retry
			36.5s judge provider-recovered
			36.5s … it
			36.5s … depends
			36.5s judge assistant-message
			36.5s judge usage
			36.5s judge turn-sealed
			36.5s closed done`)
		if s.err != nil || s.Answer != "it depends" || s.Aggregator.Tries != 2 || s.Aggregator.Fault == nil || s.count(council.Answered) != 2 {
			t.Errorf("error %v, result %+v; want no error, answer \"it depends\", aggregator tries 2, a fault, answered 2", s.err, s.Result)
		}
	})
}

func TestCouncil_GraceFollowsTheQuorum(t *testing.T) {
	for after, state := range map[time.Duration]council.State{
		34_999 * time.Millisecond: council.Answered, 35_001 * time.Millisecond: council.CutOff, time.Hour: council.CutOff,
	} {
		bubble(t, func(t *testing.T) {
			c := council.Council{
				Members:    []agent.Agent{member("a", says(after, "me too")), member("b", says(time.Second, "yes")), member("c", says(5*time.Second, "no"))},
				Aggregator: member("judge", says(0, "so")),
			}
			s := ask(t.Context(), c)
			if s.Members[0].State != state || s.err != nil || s.Took != min(after, 35*time.Second) {
				t.Errorf("after %v: %+v, %v", after, s.Result, s.err)
			}
			if state == council.CutOff && s.Members[0].Why.Error() != "the others have answered" {
				t.Errorf("first member was cut off: %v", s.Members[0].Why)
			}
		})
	}
}

func TestCouncil_NoGraceWhenAllHaveAnswered(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := ask(t.Context(), three(member("a", says(7*time.Second, "so"))))
		if len(s.only("quorate")) != 1 || s.Took != 8*time.Second {
			t.Errorf("took %v, events %q", s.Took, s.lines)
		}
		all := three(member("a", says(7*time.Second, "so")))
		all.Quorum = 3
		if s := ask(t.Context(), all); len(s.only("quorate")) != 0 || s.err != nil {
			t.Errorf("events %q, error %v", s.lines, s.err)
		}
	})
}

func TestCouncil_ReportedGraceIsBoundedByTheCap(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := three(member("a", llmtest.Hangs()))
		c.Members[1] = member("b", says(295*time.Second, "yes"))
		c.Budget, c.Grace = time.Hour, 30*time.Second
		s := ask(t.Context(), c)
		expect(t, s.only("quorate"), "4m55s quorate, grace 5s")
		if s.Members[0].Took != 300*time.Second || s.err != nil {
			t.Errorf("member 0 %+v, error %v; want took of member 0 300s, no error", s.Members[0], s.err)
		}
	})
}

func TestCouncil_WholeAnswerCountsIfItsCallerLeaves(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c := three(member("a", says(0, "so")))
		c.OnEvent = func(e council.Event) {
			if e.Turn != nil && turn.Type(e.Turn) == "assistant-message" {
				cancel()
			}
		}
		if s := ask(ctx, c); s.err != nil || s.Answer != "it depends" {
			t.Errorf("error %v, aggregator %+v; want no error, answer \"it depends\"", s.err, s.Aggregator)
		}
	})
}

func TestCouncil_WaitsForALargerQuorum(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := three(member("a", fails(0, denied)))
		c.Quorum = 3
		s := ask(t.Context(), c)
		if !errors.Is(s.err, council.ErrQuorum) || !strings.Contains(s.err.Error(), "and 3 are needed") || s.count(council.Answered) != 2 {
			t.Errorf("council: %v", s.err)
		}
	})
}

func TestCouncil_MemberContinuesWithoutAPossibleQuorum(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := ask(t.Context(), council.Council{Members: []agent.Agent{
			member("a", fails(0, denied)), member("b", fails(0, denied)), member("c", says(200*time.Second, "what I have to say")),
		}})
		if s.Members[2].Text != "what I have to say" || s.err == nil || s.Took != 200*time.Second {
			t.Errorf("error %v, result %+v; want text of member 2 \"what I have to say\", an error, took 200s", s.err, s.Result)
		}
	})
}

func TestCouncil_CapKeepsTheAggregatorsBudget(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := three(member("a", llmtest.Hangs()))
		c.Budget, c.Quorum = time.Hour, 2
		c.Aggregator = member("judge", says(119_999*time.Millisecond, "just in time"))
		s := ask(t.Context(), c)
		if v := s.Members[0]; v.State != council.CutOff || v.Took != 300*time.Second || v.Why.Error() != "the time for the whole is over" {
			t.Errorf("member %+v", v)
		}
		if s.err != nil || s.Answer != "just in time" || s.Took != 419_999*time.Millisecond {
			t.Errorf("took %v, error %v; want no error, answer \"just in time\", took 419999ms", s.Took, s.err)
		}
	})
	bubble(t, func(t *testing.T) {
		c := three(member("a", llmtest.Hangs()))
		c.Budget, c.Cap, c.AggregatorBudget = time.Hour, 10*time.Second, 4*time.Second
		c.Aggregator = member("judge", llmtest.Hangs())
		if s := ask(t.Context(), c); s.Took != 10*time.Second || s.Members[0].Took != 6*time.Second || s.Aggregator.Fault.Kind != fault.Timeout {
			t.Errorf("took %v, result %+v; want took 10s, took of member 0 6s, aggregator kind timeout", s.Took, s.Result)
		}
	})
}

func TestCouncil_CapEndsItWithoutAQuorum(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := council.Council{Members: []agent.Agent{member("a", says(time.Second, "yes")), member("b", llmtest.Hangs()), member("c", fails(3*time.Second, denied))}}
		c.Cap = 140 * time.Second
		s := ask(t.Context(), c)
		const want = "1 of 3 members answered, and 2 are needed: b/large was cut off after 20s (the time for the whole is over); " +
			"c/large failed in 1 try: HTTP 401: who are you?"
		if s.err == nil || s.err.Error() != want || s.Took != 20*time.Second {
			t.Errorf("%v after %v", s.err, s.Took)
		}
	})
}

// uncancellable is a model that ignores its context.
type uncancellable struct{ *llmtest.Model }

func (d uncancellable) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Part, error] {
	return d.Model.Stream(context.WithoutCancel(ctx), r)
}

func TestMember_CutOffIsNotAskedAfterwards(t *testing.T) {
	for what, first := range map[string]agent.Agent{
		"in the wait for its other try":   member("a", fails(9_500*time.Millisecond, busy), says(0, "never")),
		"paused at the breaker":           member("held", says(0, "never")),
		"whose model ignores its context": {Model: uncancellable{llmtest.New(name("a"), says(12*time.Second, "too late"), says(0, "never"))}},
	} {
		t.Run(what, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := three(first)
				c.Breakers, c.Grace = &breaker.Set{}, 10*time.Second
				c.Breakers.Of("held").Pause("a test")
				s := ask(t.Context(), c)
				if v := s.Members[0]; v.State != council.CutOff || v.Text != "" || v.Tries > 1 || s.err != nil {
					t.Errorf("member %+v, error %v", v, s.err)
				}
				time.Sleep(time.Hour)
				if d, ok := first.Model.(uncancellable); ok && len(d.Requests()) != 1 || !ok && requests(first) > 1 {
					t.Error("its model was asked afterwards")
				}
			})
		})
	}
}

func TestAggregator_HasItsOwnBudget(t *testing.T) {
	for after, answered := range map[time.Duration]bool{119_999 * time.Millisecond: true, 120_001 * time.Millisecond: false} {
		bubble(t, func(t *testing.T) {
			c := three(member("a", says(269*time.Second, "at last")))
			c.Aggregator = member("judge", says(after, "so"))
			s := ask(t.Context(), c)
			if answered != (s.Answer == "so") || answered != (s.err == nil) || s.Aggregator.Took != min(after, 120*time.Second) {
				t.Errorf("aggregator %+v, error %v", s.Aggregator, s.err)
			}
			if !answered && (faultOf(s.err).Kind != fault.Timeout || s.Aggregator.State != council.Failed) {
				t.Errorf("council: %v", s.err)
			}
		})
	}
}

func TestAggregator_RetriesWithinItsBudget(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := three(member("a", says(0, "so")))
		c.Aggregator = agent.Agent{Model: &llmtest.Model{Then: llmtest.Fails(busy)}}
		s := ask(t.Context(), c)
		if f := faultOf(s.err); f != busy || s.Took > 120*time.Second || s.Aggregator.Tries < 7 {
			t.Errorf("%v after %v and %d tries", s.err, s.Took, s.Aggregator.Tries)
		}
		if len(s.only("judge provider-retry")) != s.Aggregator.Tries-1 || s.count(council.Answered) != 3 {
			t.Errorf("events %q", s.lines)
		}
	})
}

func TestAggregator_FailureKeepsTheMembersAnswers(t *testing.T) {
	for what, answer := range map[string]llmtest.Answer{
		"denied": llmtest.Fails(denied), "broken off": llmtest.Breaks("it depends on", busy), "empty": llmtest.Says(""),
	} {
		bubble(t, func(t *testing.T) {
			c := three(member("a", says(0, "maybe")))
			c.Aggregator = member("judge", answer)
			s := ask(t.Context(), c)
			if s.err == nil || !strings.HasPrefix(s.err.Error(), "the aggregator judge/large: ") || s.Answer != "" || s.Aggregator.State != council.Failed {
				t.Errorf("%s: error %v, aggregator %+v", what, s.err, s.Aggregator)
			}
			if s.Members[0].Text+s.Members[1].Text+s.Members[2].Text != "maybeyesno" || faultOf(s.err) == nil {
				t.Errorf("%s: members %+v", what, s.Members)
			}
			if what == "broken off" && s.Aggregator.Text != "it depends on" {
				t.Errorf("%q is left", s.Aggregator.Text)
			}
		})
	}
}

func TestAggregator_PanicKeepsTheMembersAnswers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := three(member("a", says(0, "maybe")))
		c.Aggregator = member("judge", func(context.Context, llm.Request) iter.Seq2[llm.Part, error] { panic("no such map") })
		s := ask(t.Context(), c)
		if f := faultOf(s.err); f == nil || f.Message != "panic: no such map" || s.count(council.Answered) != 3 || s.Aggregator.State != council.Failed {
			t.Errorf("error %v, result %+v; want fault \"panic: no such map\", answered 3, aggregator failed", s.err, s.Result)
		}
		expect(t, s.lines[len(s.lines)-1:], "0s closed failed")
	})
}

func TestCouncil_FirstModelAggregatesByDefault(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := three(member("a", says(0, "so"), says(0, "it is so")))
		c.Aggregator = agent.Agent{System: "Be brief."}
		s := ask(t.Context(), c)
		asked := c.Members[0].Model.(*llmtest.Model).Requests()
		if s.Answer != "it is so" || s.Aggregator.Name != name("a") || !strings.HasSuffix(asked[1].System, "\n\nBe brief.") || asked[0].System != "" {
			t.Errorf("result %+v, error %v", s.Result, s.err)
		}
	})
}

func TestCouncil_SameModelTwice(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a := member("a", says(0, "yes"), says(0, "no"), says(0, "it depends"))
		s := ask(t.Context(), council.Council{Members: []agent.Agent{a, a}})
		if s.Answer != "it depends" || s.Members[0].Text == s.Members[1].Text {
			t.Errorf("result %+v, error %v", s.Result, s.err)
		}
	})
}

func TestCouncil_CancelEndsItWithinAMillisecond(t *testing.T) {
	enough := errors.New("enough")
	for at, answered := range map[time.Duration]int{
		0: 0, 1: 0, 999 * time.Millisecond: 0, 1500 * time.Millisecond: 1, 2500 * time.Millisecond: 1, 3500 * time.Millisecond: 1,
		5 * time.Second: 1, 7400 * time.Millisecond: 1, 7600 * time.Millisecond: 2, 8600 * time.Millisecond: 2, 9700 * time.Millisecond: 2,
	} {
		bubble(t, func(t *testing.T) {
			c := council.Council{
				Members: []agent.Agent{
					member("a", says(time.Second, "yes")),
					member("b", fails(2*time.Second, busy), llmtest.Hangs(llm.Text{Text: "well"})),
					member("c", fails(3*time.Second, busy), says(3*time.Second, "no")),
					member("held", says(0, "never")),
				},
				Aggregator: member("judge", fails(0, busy), llmtest.Hangs(llm.Text{Text: "it"})),
				Grace:      time.Second, Breakers: &breaker.Set{},
			}
			c.Breakers.Of("held").Pause("a test")
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(at, func() { cancel(enough) })
			s := ask(ctx, c)
			if !errors.Is(s.err, enough) || s.Took < at || s.Took-at > time.Millisecond || s.count(council.Answered) != answered {
				t.Errorf("stopped after %v: %v after %v, %+v", at, s.err, s.Took, s.Members)
			}
			expect(t, s.lines[len(s.lines)-1:], s.Took.String()+" closed aborted")
		})
	}
}

func TestCouncil_StoppedBeforeItBeginsAsksNoModel(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		c := three(member("a", says(0, "so")))
		s := ask(ctx, c)
		for i, v := range s.Members {
			if v.Tries != 0 || v.State != council.CutOff || requests(c.Members[i]) != 0 {
				t.Errorf("member %+v", v)
			}
		}
		if len(s.only("asking")) != 0 || !errors.Is(s.err, context.Canceled) {
			t.Errorf("error %v, events %q", s.err, s.lines)
		}
	})
}

func TestAggregator_CancelKeepsTheMembersAnswers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		c := three(member("a", says(time.Second, "so")))
		c.Aggregator = member("judge", llmtest.Hangs(llm.Text{Text: "it de"}))
		s := ask(ctx, c)
		if !errors.Is(s.err, context.DeadlineExceeded) || s.count(council.Answered) != 3 || s.Aggregator.State != council.CutOff || s.Aggregator.Text != "it de" {
			t.Errorf("error %v, result %+v; want error context.DeadlineExceeded, answered 3, aggregator cut-off, aggregator text \"it de\"", s.err, s.Result)
		}
	})
}

func TestMember_ReportedEveryThirtySeconds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := ask(t.Context(), three(member("a", fails(5*time.Second, &fault.Error{Kind: fault.RateLimited, Wait: 70 * time.Second}), says(time.Second, "so"))))
		expect(t, s.only("a/large"), `
			0s a/large asking, tries 1, left 4m30s
			5s a/large waiting, tries 1, left 4m25s, wait 1m10s
			30s a/large waiting, tries 1, left 4m0s, wait 45s, still
			1m0s a/large waiting, tries 1, left 3m30s, wait 15s, still
			1m15s a/large asking, tries 2, left 3m15s
			1m16s a/large answered, tries 2, left 3m14s`)
	})
}

func TestCouncil_LeavesNoGoroutine(t *testing.T) {
	bubble(t, func(t *testing.T) {
		_ = ask(t.Context(), three(member("a", llmtest.Hangs())))
		synctest.Wait() // a bubble in which something runs on does not end
	})
}
