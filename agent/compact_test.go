package agent_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/tool"
	"github.com/ridethrough/ridethrough/turn"
)

// talk is a long conversation.
func talk() turn.State {
	words := strings.Repeat("word ", 1000)
	var s turn.State
	for range 4 {
		for _, e := range append(turn.Begin("", words), turn.AssistantMessage{Content: llm.Content{llm.Text{Text: words}}}, turn.Sealed{Status: turn.Done}) {
			s = s.Apply(e)
		}
	}
	return s
}

func TestCompact_DropsToolOutputsFirst(t *testing.T) {
	big := strings.Repeat("x", 10_000)
	model := llmtest.New(large,
		llmtest.Calls(llmtest.Call("1", "look", "{}")), llmtest.Calls(llmtest.Call("2", "look", "{}")),
		llmtest.Calls(llmtest.Call("3", "look", "{}")), llmtest.Fails(long), llmtest.Says("done"))
	w := agent.Agent{Model: model, Tools: []tool.Tool{gives("look", 0, big)}}
	p := play(t.Context(), w, turn.State{}, turn.Begin("", "go")...)
	all := strings.Join(p.lines, "\n")
	if !strings.Contains(all, "compacted [\"1\" \"2\"] 0 \"\"\n… done") {
		t.Errorf("events: got %.2000s, want the first two messages compacted and the turn done", all)
	}
	last := model.Requests()[4].Messages
	if got := last[2].Content[0].(llm.ToolResult).Output; strings.HasPrefix(got, "x") {
		t.Error("the first output is still there")
	}
	if got := last[6].Content[0].(llm.ToolResult).Output; got != big {
		t.Error("the last output is gone")
	}
}

func TestCompact_SummarizesTheOldestMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := llmtest.New(large, llmtest.Fails(long), llmtest.Fails(busy), llmtest.Says("they talked"), llmtest.Says("done"))
		play(t.Context(), agent.Agent{Model: model, Retry: patient()}, talk(), turn.Begin("", "and now?")...).expect(t, `
			turn-start
			user: and now?
			retry 0 in 5s: HTTP 529: busy
			recovered after 1, 5s
			usage 10 2
			compacted [] 7 "they talked"
			… done
			acme/large: done [Text] stop
			usage 10 1
			sealed done: 1 retries, 5000ms, 20 in, 3 out`)
		asked := model.Requests()
		if !strings.Contains(asked[2].Messages[0].Text(), "user: word word") || len(asked[2].Tools) > 0 {
			t.Errorf("the summary was asked for with %.200q", asked[2].Messages)
		}
		if m := asked[3].Messages; len(m) != 3 || !strings.HasSuffix(m[0].Text(), "they talked") {
			t.Errorf("%d messages, first %.200q", len(m), m[0].Text())
		}
	})
}

func TestCompact_OncePerStep(t *testing.T) {
	model := llmtest.New(large, llmtest.Fails(long), llmtest.Says("they talked"), llmtest.Fails(long), llmtest.Says("no"))
	p := play(t.Context(), agent.Agent{Model: model, Retry: patient()}, talk(), turn.Begin("", "and now?")...)
	if last := p.lines[len(p.lines)-2]; !strings.HasPrefix(last, "error of acme/large, too-long") || len(model.Requests()) != 3 {
		t.Errorf("%q after %d requests; want last event beginning with \"error of acme/large, too-long\", requests 3", last, len(model.Requests()))
	}
}

func TestCompact_AgainInALaterStep(t *testing.T) {
	model := llmtest.New(large, llmtest.Fails(long), llmtest.Says("they talked"),
		llmtest.Calls(llmtest.Call("1", "look", "{}")), llmtest.Fails(long), llmtest.Says("done"))
	w := agent.Agent{Model: model, Tools: []tool.Tool{gives("look", 0, strings.Repeat("x", 50_000))}}
	p := play(t.Context(), w, talk(), turn.Begin("", "and now?")...)
	if all := strings.Join(p.lines, "\n"); strings.Count(all, "compacted") != 2 || !strings.Contains(all, "sealed done") {
		t.Errorf("events: got %.500s … %s, want two compactions and the turn done", all, all[max(0, len(all)-500):])
	}
}

func TestCompact_IncompressibleHistoryIsAnError(t *testing.T) {
	model := llmtest.New(large, llmtest.Fails(long), llmtest.Says("no"))
	play(t.Context(), agent.Agent{Model: model, Retry: patient()}, turn.State{}, turn.Begin("", "hello")...).expect(t, `
		turn-start
		user: hello
		error of acme/large, too-long: HTTP 400: prompt is too long (0 retries, 0ms)
		sealed failed: 0 retries, 0ms, 0 in, 0 out`)
}

func TestCompact_FailedSummaryEndsTheTurn(t *testing.T) {
	model := llmtest.New(large, llmtest.Fails(long), llmtest.Fails(denied), llmtest.Says("no"))
	p := play(t.Context(), agent.Agent{Model: model, Retry: patient()}, talk(), turn.Begin("", "and now?")...)
	if last := p.lines[len(p.lines)-2]; !strings.HasPrefix(last, "error of acme/large, auth") {
		t.Errorf("events %q; want last event beginning with \"error of acme/large, auth\"", p.lines)
	}
}

func TestCompact_EmptySummaryIsAFailure(t *testing.T) {
	model := llmtest.New(large, llmtest.Fails(long), llmtest.Parts(llm.End{Reason: llm.Stop}), llmtest.Says("no"))
	p := play(t.Context(), agent.Agent{Model: model, Retry: patient()}, talk(), turn.Begin("", "and now?")...)
	if last := p.lines[len(p.lines)-2]; !strings.HasPrefix(last, "error of acme/large, too-long") {
		t.Errorf("events %q; want last event beginning with \"error of acme/large, too-long\"", p.lines)
	}
}

func TestCompact_ReplayIsTheSame(t *testing.T) {
	w := agent.Agent{Model: llmtest.New(large, llmtest.Fails(long), llmtest.Says("they talked"), llmtest.Says("done"))}
	p := play(t.Context(), w, talk(), turn.Begin("", "and now?")...)
	live, replayed := talk(), talk()
	for _, e := range p.events {
		live = live.Apply(e)
	}
	for _, e := range p.kept {
		replayed = replayed.Apply(e)
	}
	same(t, live, replayed)
}
