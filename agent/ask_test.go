package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/tool"
	"github.com/ridethrough/ridethrough/turn"
)

var hello = []llm.Message{llm.UserMessage("hello")}

func TestAsk_ReturnsOneAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := llmtest.New(large, llmtest.Fails(busy), llmtest.Breaks("half", cut), llmtest.Fails(busy), llmtest.Calls(llmtest.Call("1", "look", "{}")))
		began := time.Now()
		a, err := agent.Ask(t.Context(), model, []llm.Tool{{Name: "look"}}, hello)
		want := agent.Answer{
			Message: llm.AssistantMessage(large, llmtest.Call("1", "look", "{}")), Reason: llm.Calls, Usage: llm.Usage{Input: 10, Output: 1},
		}
		if diff := cmp.Diff(want, a); diff != "" || err != nil || time.Since(began) != 7*time.Second {
			t.Errorf("%v after %v: %s", err, time.Since(began), diff)
		}
		if r := model.Requests(); r[3].Tools[0].Name != "look" || r[3].Messages[0].Text() != "hello" {
			t.Errorf("asked %+v", r[3])
		}
	})
}

func TestAsk_GivesUpAfterThreeRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := &llmtest.Model{Then: llmtest.Fails(busy)}
		_, err := agent.Ask(t.Context(), model, nil, hello)
		if f, ok := errors.AsType[*fault.Error](err); !ok || f.Kind != fault.Overloaded || len(model.Requests()) != 4 {
			t.Errorf("%v after %d", err, len(model.Requests()))
		}
	})
}

func TestAskWith_AnotherPolicy(t *testing.T) {
	model := llmtest.New(large, llmtest.Fails(busy), llmtest.Says("no"))
	if _, err := agent.AskWith(t.Context(), retry.Retrier{}, model, llm.Request{Messages: hello}); err == nil || len(model.Requests()) != 1 {
		t.Errorf("%v after %d; want an error, requests 1", err, len(model.Requests()))
	}
}

func TestAsk_EndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		enough := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second/2, func() { cancel(enough) })
		_, err := agent.Ask(ctx, &llmtest.Model{Then: llmtest.Fails(busy)}, nil, hello)
		if !errors.Is(err, enough) {
			t.Errorf("Ask: %v", err)
		}
	})
}

func TestAgent_ReportsActivitiesAndTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var acts []agent.Activity
		var told []string
		w := agent.Agent{
			Model:      llmtest.New(large, llmtest.Fails(busy), llmtest.Calls(llmtest.Call("1", "look", "{}")), llmtest.Says("a secret")),
			Tools:      []tool.Tool{gives("look", 0, "secret")},
			OnActivity: func(a agent.Activity) { acts = append(acts, a) },
			OnReport: func(r agent.Report) {
				what := fmt.Sprintf("try %d failed: %t", r.Try.N, r.Try.Fault != nil)
				if r.Event != nil {
					what = turn.Type(r.Event)
				}
				told = append(told, r.Name.String()+" "+what)
			},
			Retry: patient(),
		}
		play(t.Context(), w, turn.State{}, turn.Begin("", "my secret")...)
		want := []agent.Activity{agent.Step, agent.Retrying, agent.Recovered, agent.ToolRun, agent.Step}
		if diff := cmp.Diff(want, acts); diff != "" {
			t.Errorf("unexpected result, diff:\n%s", diff)
		}
		const reports = `
			acme/large turn-start
			acme/large try 1 failed: true
			acme/large provider-retry
			acme/large try 2 failed: false
			acme/large provider-recovered
			acme/large try 1 failed: false
			acme/large turn-sealed`
		if diff := cmp.Diff(lines(reports), lines(strings.Join(told, "\n"))); diff != "" {
			t.Errorf("reports, diff:\n%s", diff)
		}
	})
}

func TestAsk_InsideAnotherRunTriesOnce(t *testing.T) {
	model := llmtest.New(large, llmtest.Fails(busy), llmtest.Says("hi"))
	w := agent.Agent{Model: model, Retry: patient()}
	_, _ = retry.Do(t.Context(), retry.Retrier{}, func(ctx context.Context, _ int) (int, error) {
		p := play(ctx, w, turn.State{}, turn.Begin("", "hello")...)
		p.expect(t, `
			turn-start
			user: hello
			error of acme/large, overloaded: HTTP 529: busy (0 retries, 0ms)
			sealed failed: 0 retries, 0ms, 0 in, 0 out`)
		return 0, nil
	})
}

func TestAgent_TimeToFirstTokenIsOfTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := agent.Agent{Model: llmtest.New(large, llmtest.Fails(busy), llmtest.Late(time.Second, llmtest.Says("hi"))), Retry: patient()}
		p := play(t.Context(), w, turn.State{}, turn.Begin("", "hello")...)
		m := p.events[len(p.events)-1].(turn.Sealed).Metrics
		want := turn.Metrics{RetryCount: 1, TotalRetryDelay: 5 * time.Second, TimeToFirstToken: 6 * time.Second, Duration: 6 * time.Second, InputTokens: 10, OutputTokens: 1}
		if m != want {
			t.Errorf("metrics %+v, want %+v", m, want)
		}
	})
}
