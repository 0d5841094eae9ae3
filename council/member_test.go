package council_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/council"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/tool"
)

func TestMember_RetriesOnlyTransientFaultsOnce(t *testing.T) {
	for kind, tries := range map[fault.Kind]int{
		fault.RateLimited: 2, fault.Overloaded: 2, fault.Unavailable: 2, fault.Truncated: 2, fault.UpstreamTimeout: 2,
		fault.Timeout: 1, fault.Unknown: 1,
		fault.Quota: 1, fault.Auth: 1, fault.Invalid: 1, fault.Refused: 1,
	} {
		t.Run(kind.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := &fault.Error{Kind: kind, Message: "no"}
				c := three(member("a", llmtest.Fails(f), llmtest.Fails(f), says(0, "at last")))
				s := ask(t.Context(), c)
				v := s.Members[0]
				if requests(c.Members[0]) != tries || v.Tries != tries || v.State != council.Failed || v.Fault.Kind != kind {
					t.Errorf("asked %d times: %+v", requests(c.Members[0]), v)
				}
				if want := time.Duration(tries-1) * 1500 * time.Millisecond; v.Took != want {
					t.Errorf("it took %v, want %v", v.Took, want)
				}
				if s.err != nil || s.Answer != "it depends" {
					t.Errorf("answer %q, error %v; want no error, answer \"it depends\"", s.Answer, s.err)
				}
			})
		})
	}
}

func TestMember_FinalFaultIsNotRetried(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := three(member("a", llmtest.Fails(&fault.Error{Kind: fault.Overloaded, Final: true}), says(0, "at last")))
		if s := ask(t.Context(), c); s.Members[0].Tries != 1 || s.Members[0].State != council.Failed {
			t.Errorf("member 0 %+v; want tries of member 0 1, state of member 0 failed", s.Members[0])
		}
	})
}

func TestMember_RecoversWithTheSecondTry(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := ask(t.Context(), three(member("a", fails(2*time.Second, busy), says(3*time.Second, "so it is"))))
		expect(t, s.only("a/large"), `
			0s a/large asking, tries 1, left 4m30s
			2s a/large waiting, tries 1, left 4m28s, wait 1.5s
			3.5s a/large asking, tries 2, left 4m26.5s
			6.5s a/large answered, tries 2, left 4m23.5s`)
		if v := s.Members[0]; v.Text != "so it is" || v.Fault != busy || v.Took != 6500*time.Millisecond {
			t.Errorf("member %+v", v)
		}
	})
}

func TestMember_NoRetryWithinTheReserve(t *testing.T) {
	for _, c := range []struct {
		budget, reserve, failed time.Duration // the last: after what time the first try fails
		tries                   int
	}{
		{0, 0, 239_999 * time.Millisecond, 2},
		{0, 0, 240 * time.Second, 1}, // exactly 30 s remain
		{0, 0, 240_001 * time.Millisecond, 1},
		{100 * time.Second, 0, 69_999 * time.Millisecond, 2},
		{100 * time.Second, 0, 70 * time.Second, 1},
		{100 * time.Second, 60 * time.Second, 39_999 * time.Millisecond, 2},
		{100 * time.Second, 60 * time.Second, 40 * time.Second, 1},
		{20 * time.Second, 0, 0, 1}, // a budget below the reserve has no other try
		{20 * time.Second, time.Second, 18_499 * time.Millisecond, 2},
		{20 * time.Second, time.Second, 18_500 * time.Millisecond, 1}, // the wait would take all that is left
	} {
		t.Run(fmt.Sprintf("%v of %v", c.failed, c.budget), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				all := three(member("a", fails(c.failed, busy), says(0, "so it is")))
				all.Budget, all.Reserve = c.budget, c.reserve
				v := ask(t.Context(), all).Members[0]
				if v.Tries != c.tries || requests(all.Members[0]) != c.tries || (v.State == council.Answered) != (c.tries == 2) {
					t.Errorf("member %+v", v)
				}
			})
		})
	}
}

func TestMember_BudgetCoversAllTries(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := ask(t.Context(), three(member("a", fails(200*time.Second, busy), llmtest.Hangs(llm.Text{Text: "well"}), says(0, "never"))))
		v := s.Members[0]
		if v.State != council.Failed || v.Fault.Kind != fault.Timeout || v.Tries != 2 || v.Took != 270*time.Second || v.Left != 0 || v.Text != "" {
			t.Errorf("member %+v; want state failed, kind timeout, tries 2, took 270s, left 0, text \"\"", v)
		}
	})
}

func TestMember_TryBeyondTheBudgetIsATimeout(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := three(member("a", llmtest.Hangs(), says(0, "never")))
		v := ask(t.Context(), c).Members[0]
		if v.Fault.Kind != fault.Timeout || v.Tries != 1 || requests(c.Members[0]) != 1 || v.Took != 270*time.Second {
			t.Errorf("member %+v; want kind timeout, tries 1, requests 1, took 270s", v)
		}
	})
}

func TestMember_AnswerInTheLastMillisecondCounts(t *testing.T) {
	for after, state := range map[time.Duration]council.State{
		269_999 * time.Millisecond: council.Answered, 270_001 * time.Millisecond: council.Failed,
	} {
		bubble(t, func(t *testing.T) {
			if v := ask(t.Context(), three(member("a", says(after, "late")))).Members[0]; v.State != state {
				t.Errorf("after %v: %+v", after, v)
			}
		})
	}
}

func TestMember_ObeysAHintThatFits(t *testing.T) {
	for wait, tries := range map[time.Duration]int{200 * time.Second: 2, 270 * time.Second: 1, time.Millisecond: 2} {
		bubble(t, func(t *testing.T) {
			s := ask(t.Context(), three(member("a", llmtest.Fails(&fault.Error{Kind: fault.RateLimited, Status: 429, Wait: wait}), says(0, "so"))))
			v := s.Members[0]
			if want := time.Duration(tries-1) * max(wait, 1500*time.Millisecond); v.Tries != tries || v.Took != want {
				t.Errorf("%v: member %+v", wait, v)
			}
		})
	}
}

func TestMember_TurnHasNoRetryOfItsOwn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := three(member("a", llmtest.Fails(busy), llmtest.Fails(busy), says(0, "never")))
		c.Members[0].Retry.Policy.Retries = 10
		if v := ask(t.Context(), c).Members[0]; v.State != council.Failed || requests(c.Members[0]) != 2 {
			t.Errorf("asked %d times: %+v; want state failed, requests 2", requests(c.Members[0]), v)
		}
	})
}

func TestMember_TruncatedAnswerIsDiscardedAndRetried(t *testing.T) {
	bubble(t, func(t *testing.T) {
		cut := &fault.Error{Kind: fault.Truncated, Message: "the answer broke off"}
		c := three(member("a", llmtest.Breaks("half of it", cut), says(0, "all of it")))
		v := ask(t.Context(), c).Members[0]
		again := c.Members[0].Model.(*llmtest.Model).Requests()[1].Messages
		if v.Text != "all of it" || v.Tries != 2 || len(again) != 1 || again[0].Text() != "Is it so?" {
			t.Errorf("%+v, asked %+v", v, again)
		}
	})
}

func TestMember_RetryKeepsToolResults(t *testing.T) {
	bubble(t, func(t *testing.T) {
		runs := 0
		look := tool.Func("look", "Looks.", func(context.Context, struct{}) (string, error) {
			runs++
			return "blue", nil
		})
		a := member("a", llmtest.Calls(llmtest.Call("1", "look", "{}")), llmtest.Fails(busy), llmtest.Says("It is blue."))
		a.Tools = []tool.Tool{look}
		v := ask(t.Context(), three(a)).Members[0]
		if v.Text != "It is blue." || v.Tries != 2 || runs != 1 || v.Usage.Input != 20 {
			t.Errorf("%d runs: %+v", runs, v)
		}
	})
}

func TestMember_EmptyAnswerIsAFailure(t *testing.T) {
	for kind, answer := range map[fault.Kind]llmtest.Answer{
		fault.Unknown: llmtest.Parts(llm.Reasoning{Text: "hm"}, llm.Text{Text: " \n"}, llm.End{Reason: llm.Stop}),
		fault.Refused: llmtest.Parts(llm.Text{Text: "I must not."}, llm.End{Reason: llm.Refusal}),
	} {
		bubble(t, func(t *testing.T) {
			if v := ask(t.Context(), three(member("a", answer))).Members[0]; v.State != council.Failed || v.Fault.Kind != kind || v.Tries != 1 {
				t.Errorf("%v: member %+v", kind, v)
			}
		})
	}
}

func TestMember_AnswerAtItsTokenLimitCounts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		v := ask(t.Context(), three(member("a", llmtest.Parts(llm.Text{Text: "So much"}, llm.End{Reason: llm.Length})))).Members[0]
		if v.State != council.Answered || v.Reason != llm.Length {
			t.Errorf("member %+v; want state answered, reason length", v)
		}
	})
}

func TestMember_InvalidToolNameFails(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a := member("a")
		a.Tools = []tool.Tool{{Tool: llm.Tool{Name: "no good name"}}}
		s := ask(t.Context(), three(a))
		if v := s.Members[0]; v.State != council.Failed || v.Fault.Kind != fault.Unknown || requests(a) != 0 {
			t.Errorf("member %+v; want state failed, kind unknown, requests 0", v)
		}
		if s.err != nil {
			t.Errorf("council: %v", s.err)
		}
	})
}

func TestCouncil_WithAMistakeAsksNoModel(t *testing.T) {
	a, b := member("a"), member("b")
	for want, c := range map[string]council.Council{
		"council: want at least two members, and there are 1":                              {Members: []agent.Agent{a}},
		"council: a quorum of 3; want from 2 to 2, the number of members":                  {Members: []agent.Agent{a, b}, Quorum: 3},
		"council: a quorum of 1; want from 2 to 2, the number of members":                  {Members: []agent.Agent{a, b}, Quorum: 1},
		"council: a time is below 0":                                                       {Members: []agent.Agent{a, b}, Grace: -1},
		"council: member 2 has no model":                                                   {Members: []agent.Agent{a, {}}},
		"council: the cap of 1m0s leaves the members nothing beside the aggregator's 2m0s": {Members: []agent.Agent{a, b}, Cap: time.Minute},
	} {
		if _, err := c.Run(t.Context(), "?"); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if requests(a)+requests(b) > 0 {
		t.Error("a model was asked, want none")
	}
}

func TestErrQuorum_WrapsTheMembersFaults(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := three(member("a", llmtest.Fails(denied)))
		c.Members[1] = member("b", llmtest.Fails(busy), llmtest.Fails(busy))
		s := ask(t.Context(), c)
		const want = "1 of 3 members answered, and 2 are needed: " +
			"a/large failed in 1 try: HTTP 401: who are you?; b/large failed in 2 tries: HTTP 529: busy: a secret of the provider"
		if !errors.Is(s.err, council.ErrQuorum) || s.err.Error() != want || faultOf(s.err) != denied || !errors.Is(s.err, busy) {
			t.Errorf("error %v", s.err)
		}
		if s.Members[2].Text != "no" || requests(c.Aggregator) > 0 || s.Aggregator.State != "" {
			t.Errorf("result %+v", s.Result)
		}
	})
}

func TestMember_EndlessAnswerIsCutAtItsBound(t *testing.T) {
	endless := func(part func(text string) llm.Part) llmtest.Answer {
		return func(ctx context.Context, _ llm.Request) iter.Seq2[llm.Part, error] {
			return func(yield func(llm.Part, error) bool) {
				for ctx.Err() == nil && yield(part(strings.Repeat("ü", 5000)), nil) {
				}
			}
		}
	}
	for state, part := range map[council.State]func(string) llm.Part{
		council.Answered: func(text string) llm.Part { return llm.Text{Text: text} },
		council.Failed:   func(text string) llm.Part { return llm.Reasoning{Text: text} },
	} {
		bubble(t, func(t *testing.T) {
			c := three(member("a", endless(part), says(0, "never")))
			s := ask(t.Context(), c)
			v := s.Members[0]
			if v.State != state || len(v.Text) > 1<<20 || !utf8.ValidString(v.Text) || requests(c.Members[0]) != 1 || s.err != nil {
				t.Errorf("%s with %d bytes, %v", v.State, len(v.Text), v.Fault)
			}
			if state == council.Answered && (v.Reason != llm.Length || len(v.Text) != 1<<20) {
				t.Errorf("%s, %d bytes", v.Reason, len(v.Text))
			}
		})
	}
}

func TestMember_PanicKeepsTheOtherAnswers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var log bytes.Buffer
		c := three(member("a", func(context.Context, llm.Request) iter.Seq2[llm.Part, error] { panic("no such map") }))
		c.Log = slog.New(slog.NewTextHandler(&log, nil))
		s := ask(t.Context(), c)
		v := s.Members[0]
		if v.State != council.Failed || v.Fault.Kind != fault.Unknown || v.Tries != 1 || v.Fault.Message != "panic: no such map" || s.Answer != "it depends" {
			t.Errorf("member %+v, error %v; want state failed, kind unknown, tries 1, fault \"panic: no such map\", answer \"it depends\"", v, s.err)
		}
		if !strings.Contains(log.String(), "goroutine") {
			t.Errorf("logged %q", &log)
		}
	})
}

func TestMember_FallbackTakesOverWithinTheBudget(t *testing.T) {
	for name, tt := range map[string]struct {
		first  []llmtest.Answer
		spare  []llmtest.Answer
		budget time.Duration
		state  council.State
		asked  int // times the fallback was asked
		took   time.Duration
	}{
		"after the retry":         {[]llmtest.Answer{fails(0, busy), fails(0, busy)}, []llmtest.Answer{says(time.Second, "at last")}, time.Minute, council.Answered, 1, 2500 * time.Millisecond},
		"with a retry of its own": {[]llmtest.Answer{fails(0, busy), fails(0, busy)}, []llmtest.Answer{fails(0, busy), says(0, "at last")}, time.Minute, council.Answered, 2, 3 * time.Second},
		"not for a final fault":   {[]llmtest.Answer{fails(0, &fault.Error{Kind: fault.Invalid})}, nil, time.Minute, council.Failed, 0, 0},
		"for a spent account":     {[]llmtest.Answer{fails(0, &fault.Error{Kind: fault.Quota})}, []llmtest.Answer{says(0, "at last")}, time.Minute, council.Answered, 1, 0},
		"not in the reserve":      {[]llmtest.Answer{fails(30*time.Second, busy)}, nil, time.Minute, council.Failed, 0, 30 * time.Second},
		"in the same budget":      {[]llmtest.Answer{fails(20*time.Second, busy), fails(0, busy)}, []llmtest.Answer{says(time.Hour, "too late")}, time.Minute, council.Failed, 1, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := three(member("a", tt.first...))
				spare := member("spare", tt.spare...)
				c.Members[0].Fallback, c.Members[0].Patience, c.Budget = []llm.Model{spare.Model}, agent.Forever, tt.budget
				v := ask(t.Context(), c).Members[0]
				want := c.Members[0].Model.Name()
				if tt.asked > 0 {
					want = spare.Model.Name()
				}
				if v.State != tt.state || v.Took != tt.took || v.Name != want || requests(spare) != tt.asked || v.Tries != len(tt.first)+tt.asked {
					t.Errorf("got %+v, the fallback asked %d times; want %s by %v after %v, asked %d times", v, requests(spare), tt.state, want, tt.took, tt.asked)
				}
			})
		})
	}
}
