package council_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/council"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
)

// chaos is a council whose members behave at random.
type chaos struct {
	council council.Council
	leaves  time.Duration // when its caller does; 0: never
	models  []*llmtest.Model
	wrong   []string
}

func (c *chaos) fail(format string, args ...any) {
	c.wrong = append(c.wrong, fmt.Sprintf(format, args...))
}

// answers draws a model's answers.
func answers(rt *rapid.T) llmtest.Answer {
	late := time.Duration(rapid.SampledFrom([]int{0, 1, 20, 100, 1500, 30_000, 239_000, 240_000, 269_999, 400_000}).Draw(rt, "late")) * time.Millisecond
	f := &fault.Error{
		Kind: fault.Kind(rapid.IntRange(0, int(fault.TooLong)).Draw(rt, "kind")), Message: "no",
		Wait: time.Duration(rapid.SampledFrom([]int{0, 0, 0, 10, 200, 300}).Draw(rt, "wait")) * time.Second,
	}
	return llmtest.Late(late, rapid.SampledFrom([]llmtest.Answer{
		llmtest.Says("it is so"), llmtest.Says("it is so"), llmtest.Fails(f), llmtest.Fails(f), llmtest.Breaks("it", f), llmtest.Hangs(),
		llmtest.Hangs(llm.Text{Text: "it"}), llmtest.Parts(llm.End{Reason: llm.Stop}),
	}).Draw(rt, "answer"))
}

// draw draws a council.
func draw(rt *rapid.T) *chaos {
	n := rapid.IntRange(2, 6).Draw(rt, "members")
	seconds := func(name string, choices ...int) time.Duration {
		return time.Duration(rapid.SampledFrom(choices).Draw(rt, name)) * time.Second
	}
	c := &chaos{leaves: seconds("leaves", 0, 0, 0, 1, 31, 300)}
	for i := range n + 1 {
		provider := rapid.SampledFrom([]string{"a", "b", fmt.Sprint("own", i)}).Draw(rt, "provider")
		var all []llmtest.Answer
		for range 3 {
			all = append(all, answers(rt))
		}
		m := llmtest.New(name(provider+"/"+rapid.SampledFrom([]string{"x", "y"}).Draw(rt, "model")), all...)
		m.Then = llmtest.Says("it is so")
		c.models = append(c.models, m)
		if i == n {
			c.council.Aggregator = agent.Agent{Model: m}
		} else {
			c.council.Members = append(c.council.Members, agent.Agent{Model: m})
		}
	}
	c.council.Quorum = rapid.IntRange(2, n).Draw(rt, "quorum")
	c.council.Budget = seconds("budget", 0, 10, 60, 400)
	c.council.Grace, c.council.Cap, c.council.AggregatorBudget = seconds("grace", 0, 1, 100), seconds("cap", 0, 150, 600), seconds("aggregator", 0, 10)
	return c
}

// run runs the council and checks its invariants.
func (c *chaos) run(ctx context.Context) {
	if c.leaves > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.leaves)
		defer cancel()
	}
	var terms council.Council
	last := map[int]council.Member{}
	closed := 0
	c.council.OnEvent = func(e council.Event) {
		switch m := e.Member; {
		case e.Started != nil:
			terms = *e.Started
		case m != nil:
			if old := last[m.Index]; old.State == council.Answered || old.State == council.Failed || old.State == council.CutOff {
				c.fail("member %d has ended as %s and is %s", m.Index, old.State, m.State)
			}
			last[m.Index] = *m
		case e.Ended != nil:
			closed++
		}
	}
	began := time.Now()
	r, err := c.council.Run(ctx, "?")
	took := time.Since(began)
	if closed != 1 || r.Took != took || took > terms.Cap || c.leaves > 0 && took > c.leaves+time.Millisecond {
		c.fail("it took %v of %v and closed %d times", took, terms.Cap, closed)
	}
	for i, v := range r.Members {
		c.checkMember(i, v, terms)
		if last[i].State != v.State || last[i].Tries != v.Tries || last[i].Took != v.Took {
			c.fail("member %d was reported as %+v and is %+v", i, last[i], v)
		}
	}
	c.checkEnd(r, err, terms)
}

// checkMember checks the invariants of a member.
func (c *chaos) checkMember(i int, v council.Member, terms council.Council) {
	asked := len(c.models[i].Requests())
	if v.State == council.CutOff && v.Tries > asked {
		asked++ // cut off in the moment in which it was to be asked
	}
	switch {
	case v.Tries > 2 || v.Tries != asked:
		c.fail("member %d was asked %d times, and says %+v", i, asked, v)
	case v.Took > terms.Budget || v.Took > terms.Cap-terms.AggregatorBudget || v.Left != terms.Budget-v.Took:
		c.fail("member %d took %v, left %v", i, v.Took, v.Left)
	case (v.State == council.Answered) != (v.Text != ""), v.State == council.Failed && v.Fault == nil, (v.State == council.CutOff) != (v.Why != nil):
		c.fail("member %d: %+v", i, v)
	case v.State != council.Answered && v.State != council.Failed && v.State != council.CutOff:
		c.fail("member %d is left %s", i, v.State)
	case v.Tries == 2 && v.Fault == nil:
		c.fail("member %d was asked again for nothing", i)
	}
}

// checkEnd checks the invariants of the end.
func (c *chaos) checkEnd(r council.Result, err error, terms council.Council) {
	short := errors.Is(err, council.ErrQuorum)
	left := errors.Is(err, context.DeadlineExceeded)
	enough := outcome{Result: r}.count(council.Answered) >= terms.Quorum
	switch asked := r.Aggregator.State != ""; {
	case (err == nil) != (r.Answer != ""), short && enough, err == nil && !enough, asked && !enough:
		c.fail("%v with %+v", err, r)
	case !asked && enough && !left, r.Aggregator.Took > terms.AggregatorBudget:
		c.fail("the aggregator: %+v", r.Aggregator)
	}
}

func TestCouncil_InvariantsHoldAtRandom(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := draw(rt)
		synctest.Test(t, func(t *testing.T) { c.run(t.Context()) })
		if len(c.wrong) > 0 {
			rt.Fatalf("council differs: %v", c.wrong)
		}
	})
}
