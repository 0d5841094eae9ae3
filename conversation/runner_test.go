package conversation_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/tool"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

var (
	large = llm.Name{Provider: "acme", Model: "large"}
	busy  = &fault.Error{Kind: fault.Overloaded, Status: 529, Message: "busy"}
)

// fixture is a store with runners.
type fixture struct {
	t      *testing.T
	engine store.Store
	model  llm.Model
	tools  []tool.Tool
	before func() error // called before an agent is made; nil: nothing is
	config conversation.Config
}

func newFixture(t *testing.T, answers ...llmtest.Answer) *fixture {
	h := &fixture{t: t, engine: store.Memory(), model: llmtest.New(large, answers...)}
	t.Cleanup(func() { _ = h.engine.Close(context.Background()) })
	h.config = conversation.Config{Store: h.engine, Agent: func(context.Context, conversation.Settings) (agent.Agent, error) {
		if h.before != nil {
			if err := h.before(); err != nil {
				return agent.Agent{}, err
			}
		}
		w := agent.Agent{Model: h.model, Tools: h.tools}
		w.Retry.Policy = policy.Patient()
		return w, nil
	}}
	return h
}

// runner starts a runner; end stops it.
func (h *fixture) runner() (runner *conversation.Runner, end func()) {
	runner = conversation.New(h.config)
	ctx, cancel := context.WithCancel(h.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := runner.Run(ctx); err != nil {
			h.t.Errorf("run: %v", err)
		}
	}()
	end = func() { cancel(); <-done }
	h.t.Cleanup(end)
	return runner, end
}

// follow returns the events that a reader sees until n turns are sealed.
func follow(t *testing.T, h *conversation.Runner, conversation string, after int64, n int) []string {
	t.Helper()
	var lines []string
	for e, err := range h.Attach(t.Context(), conversation, after) {
		if err != nil {
			t.Errorf("attach: %v", err)
			break
		}
		lines = append(lines, say(e))
		if wire.Type(e.Body) == "turn-sealed" {
			if n--; n == 0 {
				break
			}
		}
	}
	return lines
}

// say returns an event as a line.
func say(e wire.Event) string {
	switch b := e.Body.(type) {
	case wire.Turn:
		switch e := b.Event.(type) {
		case turn.UserMessage:
			return "user: " + e.Text
		case turn.TextDelta:
			return "… " + strings.TrimSpace(e.Text)
		case turn.AssistantMessage:
			return strings.TrimSpace("model: " + e.Content.Text())
		case turn.Sealed:
			return fmt.Sprintf("sealed %s, %d retries, %dms", e.Status, e.RetryCount, e.TotalRetryDelay.Milliseconds())
		case turn.Retry:
			return fmt.Sprintf("retry %d in %v: %s", e.Retry()-1, e.Verdict.Wait.Round(time.Second), e.Fault.Redacted())
		case turn.Recovered:
			return fmt.Sprintf("recovered after %d", e.Retries)
		case turn.Error:
			return "error: " + e.Message
		}
	case wire.InputQueued:
		return strings.TrimSpace("queued: " + b.Text)
	case wire.InputRemoved:
		return "removed"
	}
	return wire.Type(e.Body)
}

func lines(text string) (out []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

func (h *fixture) create(runner *conversation.Runner) string {
	h.t.Helper()
	id, err := runner.Create(h.t.Context(), "", conversation.Settings{Model: "acme/large"})
	if err != nil {
		h.t.Fatalf("create: %v", err)
	}
	return id
}

func (h *fixture) say(runner *conversation.Runner, conversation, text string) string {
	h.t.Helper()
	id, err := runner.Submit(h.t.Context(), conversation, "", text)
	if err != nil {
		h.t.Fatalf("submit: %v", err)
	}
	return id
}

func expect(t *testing.T, got []string, want string) {
	t.Helper()
	if diff := cmp.Diff(lines(want), got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestRunner_AnswersTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, llmtest.Late(time.Second, llmtest.Says("hello you"))) // the reader follows by then
		runner, _ := h.runner()
		c := h.create(runner)
		h.say(runner, c, "hello")
		want := `
			queued: hello
			turn-start
			user: hello
			… hello
			… you
			model: hello you
			usage
			sealed done, 0 retries, 0ms`
		expect(t, follow(t, runner, c, 0, 1), want)
	})
}

// mute returns lines without what passes by.
func mute(all []string) (kept []string) {
	for _, line := range all {
		if !strings.HasPrefix(line, "… ") && !strings.HasPrefix(line, "retry ") && !strings.HasPrefix(line, "recovered ") {
			kept = append(kept, line)
		}
	}
	return kept
}

// A wait of 30 minutes is interrupted by a runner that ends and by one that dies.
func TestRunner_LongWaitIsParkedAndOutlastsRunners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fails []llmtest.Answer
		for range 8 {
			fails = append(fails, llmtest.Fails(busy))
		}
		h := newFixture(t, append(fails, llmtest.Says("hi"))...)
		killed := &dyingStore{Store: h.engine}
		h.config.Store = killed
		runner, _ := h.runner()
		c := h.create(runner)
		began := time.Now()
		h.say(runner, c, "hello")
		time.Sleep(40 * time.Minute) // the wait of 30 minutes has begun after 31:45
		if v, err := runner.Get(t.Context(), c); err != nil || v.Wait == nil || v.Wait.Run.Tries != 8 {
			t.Errorf("%+v, %v", v.Wait, err)
		}
		killed.dead.Store(true)
		h.config.Store = h.engine
		time.Sleep(3 * time.Minute)
		_, end := h.runner()
		time.Sleep(10 * time.Minute)
		end()
		runner, _ = h.runner()
		got := follow(t, runner, c, 0, 1)
		if took := time.Since(began); took < 61*time.Minute+45*time.Second || took > 62*time.Minute+15*time.Second {
			t.Errorf("it took %v", took)
		}
		if last := got[len(got)-1]; !strings.HasPrefix(last, "sealed done, 8 retries, 37") {
			t.Errorf("%q", got)
		}
	})
}

func TestAttach_LateReaderSeesCurrentWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fails := []llmtest.Answer{llmtest.Fails(busy), llmtest.Fails(busy), llmtest.Fails(busy), llmtest.Fails(busy), llmtest.Fails(busy), llmtest.Says("hi")}
		h := newFixture(t, fails...)
		runner, _ := h.runner()
		c := h.create(runner)
		h.say(runner, c, "hello")
		time.Sleep(3 * time.Minute)
		got := follow(t, runner, c, 0, 1)
		if got[3] != "retry 4 in 3m50s: busy" && !strings.HasPrefix(got[3], "retry 4 in 3m4") && !strings.HasPrefix(got[3], "retry 4 in 3m5") {
			t.Errorf("%q", got)
		}
	})
}

func TestAttach_RetriesAreTransient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, llmtest.Fails(busy), llmtest.Fails(busy), llmtest.Says("hi"), llmtest.Says("again"))
		runner, _ := h.runner()
		c := h.create(runner)
		seen := make(chan []string, 1)
		go func() { seen <- follow(t, runner, c, 0, 1) }()
		synctest.Wait()
		h.say(runner, c, "hello")
		live := <-seen
		expect(t, live, `
			queued: hello
			turn-start
			user: hello
			retry 0 in 5s: HTTP 529: busy
			retry 1 in 10s: HTTP 529: busy
			recovered after 2
			… hi
			model: hi
			usage
			sealed done, 2 retries, 15000ms`)
		expect(t, follow(t, runner, c, 0, 1), strings.Join(mute(live), "\n"))
		for r, err := range h.engine.Read(t.Context(), c, 0) {
			if err != nil || r.Type == "provider-retry" {
				t.Errorf("%v in the log, %v", r, err)
			}
		}
		h.say(runner, c, "and now?")
		follow(t, runner, c, 0, 2)
		for _, q := range h.model.(*llmtest.Model).Requests() {
			for _, m := range q.Messages {
				if strings.Contains(m.Text(), "529") {
					t.Errorf("in a prompt: %v", m)
				}
			}
		}
	})
}

func TestSubmit_OneTurnAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, llmtest.Late(time.Minute, llmtest.Says("one")), llmtest.Says("two"), llmtest.Says("four"))
		runner, _ := h.runner()
		c := h.create(runner)
		h.say(runner, c, "1")
		synctest.Wait()
		second := h.say(runner, c, "2")
		third := h.say(runner, c, "3")
		h.say(runner, c, "4")
		if err := runner.Edit(t.Context(), c, second, "two, please"); err != nil {
			t.Errorf("edit: %v", err)
		}
		if err := runner.Remove(t.Context(), c, third); err != nil {
			t.Errorf("remove: %v", err)
		}
		if v, _ := runner.Get(t.Context(), c); len(v.Inputs) != 2 || v.Inputs[0].Text != "two, please" || v.Turn == "" {
			t.Errorf("%+v", v)
		}
		expect(t, mute(follow(t, runner, c, 0, 3)), `
			queued: 1
			turn-start
			user: 1
			queued: 2
			queued: 3
			queued: 4
			queued: two, please
			removed
			model: one
			usage
			sealed done, 0 retries, 0ms
			turn-start
			user: two, please
			model: two
			usage
			sealed done, 0 retries, 0ms
			turn-start
			user: 4
			model: four
			usage
			sealed done, 0 retries, 0ms`)
		for _, err := range []error{runner.Edit(t.Context(), c, second, "x"), runner.Remove(t.Context(), c, third), runner.Steer(t.Context(), c, "none")} {
			if !errors.Is(err, conversation.ErrNotQueued) {
				t.Errorf("steer: %v", err)
			}
		}
	})
}

func TestSteer_TurnInProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, llmtest.Calls(llmtest.Call("1", "look", "{}")), llmtest.Says("ok"))
		h.tools = []tool.Tool{{Tool: llm.Tool{Name: "look"}, Func: func(context.Context, json.RawMessage) (string, error) {
			time.Sleep(time.Minute)
			return "seen", nil
		}}}
		runner, _ := h.runner()
		c := h.create(runner)
		h.say(runner, c, "go")
		time.Sleep(time.Second)
		if err := runner.Steer(t.Context(), c, h.say(runner, c, "be brief")); err != nil {
			t.Fatalf("steer: %v", err)
		}
		expect(t, mute(follow(t, runner, c, 0, 1)), `
			queued: go
			turn-start
			user: go
			model:
			usage
			tool-call
			queued: be brief
			tool-result
			user: be brief
			model: ok
			usage
			sealed done, 0 retries, 0ms`)
		if v, _ := runner.Get(t.Context(), c); len(v.Inputs) != 0 || v.Turn != "" {
			t.Errorf("%+v", v)
		}
	})
}

// What is said in a wait is heard by the try that follows it, whether a worker holds the wait or not, and also
// by one that takes the turn up after its worker has died. It has no turn of its own.
func TestSteer_InAWaitIsHeardByTheNextTry(t *testing.T) {
	for name, tt := range map[string]struct {
		fails int
		said  time.Duration
		dies  bool
	}{
		"in a short wait":                    {1, 2 * time.Second, false},
		"in a long wait":                     {5, 3 * time.Minute, false},
		"before its worker ends":             {1, 2 * time.Second, true},
		"before the runner of a parked ends": {5, 3 * time.Minute, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := newFixture(t, append(slices.Repeat([]llmtest.Answer{llmtest.Fails(busy)}, tt.fails), llmtest.Says("ok"))...)
			runner, end := h.runner()
			c := h.create(runner)
			h.say(runner, c, "go")
			time.Sleep(tt.said)
			if err := runner.Steer(t.Context(), c, h.say(runner, c, "be brief")); err != nil {
				t.Fatalf("%s: steer: %v", name, err)
			}
			if tt.dies {
				end()
				h.runner()
			}
			time.Sleep(time.Hour)
			all := kinds(t, h.engine, c)
			if sealed, said := count(all, "turn-sealed"), count(all, "user-message"); sealed != 1 || said != 2 {
				t.Errorf("%s: %d turns and %d messages, want 1 and 2: %q", name, sealed, said, all)
			}
			asked := h.model.(*llmtest.Model).Requests()
			if m := asked[len(asked)-1].Messages; len(asked) != tt.fails+1 || m[len(m)-1].Text() != "be brief" {
				t.Errorf("%s: request %d of %d has %v, want what was said in the wait", name, len(asked), tt.fails+1, m)
			}
		})
	}
}

// A reader may continue after the number of any event that it has seen, also one that passes by while messages are
// queued: numbers never go back, and it gets each of the events that are kept once.
func TestAttach_GoesOnBehindAnyEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, llmtest.Fails(busy), llmtest.Fails(busy), llmtest.Fails(busy), llmtest.Fails(busy), llmtest.Says("one two"), llmtest.Says("three"))
		h.config.ParkAfter = time.Hour
		runner, _ := h.runner()
		c := h.create(runner)
		go func() {
			h.say(runner, c, "go")
			time.Sleep(time.Second)
			queued := h.say(runner, c, "be brief")
			if err := runner.Edit(t.Context(), c, queued, "be long"); err != nil {
				t.Errorf("edit: %v", err)
			}
			time.Sleep(50 * time.Second)
			if err := runner.Remove(t.Context(), c, h.say(runner, c, "nothing")); err != nil {
				t.Errorf("remove: %v", err)
			}
		}()
		seen := numbered(t, runner, c, 0)
		for i, e := range seen {
			if i > 0 && e.Seq < seen[i-1].Seq {
				t.Errorf("event %d, %s, has the number %d after %d", i, say(e), e.Seq, seen[i-1].Seq)
			}
			if diff := cmp.Diff(keptOf(seen[i+1:]), keptOf(numbered(t, runner, c, e.Seq))); diff != "" && i < len(seen)-1 {
				t.Errorf("behind event %d, %s: (-want +got)\n%s", i, say(e), diff)
			}
		}
	})
}

// numbered returns the events of a conversation behind a number, until its second turn is sealed.
func numbered(t *testing.T, runner *conversation.Runner, c string, after int64) (all []wire.Event) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	for e, err := range runner.Attach(ctx, c, after) {
		if err != nil {
			t.Errorf("attach: %v", err)
		}
		if all = append(all, e); say(e) == "sealed done, 0 retries, 0ms" {
			break
		}
	}
	return all
}

// keptOf returns the events that are kept.
func keptOf(events []wire.Event) (kept []string) {
	for _, e := range events {
		if wire.Kept(e.Body) {
			kept = append(kept, fmt.Sprint(e.Seq, " ", say(e)))
		}
	}
	return kept
}

func TestStop_TurnInAnyState(t *testing.T) {
	tests := map[string]struct {
		answers []llmtest.Answer
		after   time.Duration
		want    string
	}{
		"in a short wait":  {[]llmtest.Answer{llmtest.Fails(busy)}, 2 * time.Second, "sealed aborted, 0 retries, 2000ms"},
		"in a long wait":   {slices.Repeat([]llmtest.Answer{llmtest.Fails(busy)}, 9), 20 * time.Minute, "sealed aborted, 6 retries, "},
		"while it answers": {[]llmtest.Answer{llmtest.Hangs(llm.Text{Text: "well"})}, time.Minute, "sealed aborted, 0 retries, 0ms"},
	}
	for name, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			h := newFixture(t, append(tt.answers, llmtest.Says("next"))...)
			runner, _ := h.runner()
			c := h.create(runner)
			h.say(runner, c, "go")
			time.Sleep(tt.after)
			began := time.Now()
			if err := runner.Stop(t.Context(), c, ""); err != nil {
				t.Errorf("stop: %v", err)
			}
			got := follow(t, runner, c, 0, 1)
			if last := got[len(got)-1]; !strings.HasPrefix(last, tt.want) || time.Since(began) > 0 {
				t.Errorf("%s: %q after %v", name, got, time.Since(began))
			}
			if err := runner.Stop(t.Context(), c, ""); !errors.Is(err, conversation.ErrIdle) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

func TestRetryNow_EndsWait(t *testing.T) {
	for _, after := range []time.Duration{2 * time.Second, 3 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			fails := slices.Repeat([]llmtest.Answer{llmtest.Fails(busy)}, map[bool]int{true: 1, false: 5}[after < time.Minute])
			h := newFixture(t, append(fails, llmtest.Says("hi"))...)
			runner, _ := h.runner()
			c := h.create(runner)
			h.say(runner, c, "go")
			time.Sleep(after)
			began := time.Now()
			if err := runner.RetryNow(t.Context(), c); err != nil {
				t.Errorf("retry now: %v", err)
			}
			got := follow(t, runner, c, 0, 1)
			if last := got[len(got)-1]; time.Since(began) > 0 || !strings.HasPrefix(last, fmt.Sprintf("sealed done, %d retries", len(fails))) {
				t.Errorf("%q after %v", got, time.Since(began))
			}
		})
	}
}

// The try costs nothing if it fails: the wait continues as it was, with or without a worker.
func TestRetryNow_CostsNoAttempt(t *testing.T) {
	for _, after := range []time.Duration{2 * time.Second, 3 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			h := newFixture(t, append(slices.Repeat([]llmtest.Answer{llmtest.Fails(busy)}, 20), llmtest.Says("hi"))...)
			runner, _ := h.runner()
			c := h.create(runner)
			h.say(runner, c, "go")
			time.Sleep(after)
			before, err := runner.Get(t.Context(), c)
			if err != nil || before.Wait == nil {
				t.Fatalf("wait: got %v, %v, want one", before.Wait, err)
			}
			asked := len(h.model.(*llmtest.Model).Requests())
			for n := range 2 {
				if err := runner.RetryNow(t.Context(), c); err != nil {
					t.Errorf("retry now: %v", err)
				}
				time.Sleep(time.Second)
				v, err := runner.Get(t.Context(), c)
				if err != nil || v.Wait == nil || v.Wait.Run.Tries != before.Wait.Run.Tries || v.Wait.Due.Sub(before.Wait.Due).Abs() > time.Millisecond || v.Wait.Trying {
					t.Errorf("wait after %d commands: got %+v, %v, want %+v", n+1, v.Wait, err, before.Wait)
				}
				if got := len(h.model.(*llmtest.Model).Requests()); got != asked+n+1 {
					t.Errorf("requests after %d commands: got %d, want %d", n+1, got, asked+n+1)
				}
			}
		})
	}
}

func TestRunner_FailedWorkerIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, llmtest.Says("hi"))
		var tries []time.Time
		h.before = func() error {
			tries = append(tries, time.Now())
			if len(tries) <= 4 {
				return errors.New("no such model here")
			}
			return nil
		}
		runner, _ := h.runner()
		c := h.create(runner)
		h.say(runner, c, "hello")
		expect(t, mute(follow(t, runner, c, 0, 1)), `
			queued: hello
			turn-start
			user: hello
			model: hi
			usage
			sealed done, 0 retries, 0ms`)
		for i, want := range []time.Duration{3 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second} {
			if got := tries[i+1].Sub(tries[i]); got < want || got > want*11/10 {
				t.Errorf("before worker %d: %v", i+2, got)
			}
		}
	})
}

func TestRunner_GivesUpAfterRepeatedWorkerFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t)
		h.model = panics{}
		runner, _ := h.runner()
		c := h.create(runner)
		h.say(runner, c, "hello")
		got := follow(t, runner, c, 0, 1)
		if all := strings.Join(got, "\n"); !strings.Contains(all, "error: panic: no") || !strings.HasSuffix(all, "sealed failed, 0 retries, 0ms") {
			t.Errorf("%q", got)
		}
	})
}

// panics is a model with a bug.
type panics struct{}

func (panics) Name() llm.Name { return large }

func (panics) Stream(context.Context, llm.Request) iter.Seq2[llm.Part, error] { panic("no") }

func TestRunner_DeadWorkerIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, llmtest.Hangs(llm.Text{Text: "well"}), llmtest.Says("hi"))
		m := &dyingStore{Store: h.engine}
		h.config.Store = m
		runner, _ := h.runner()
		c := h.create(runner)
		h.say(runner, c, "hello")
		time.Sleep(time.Second)
		m.dead.Store(true)
		h.config.Store = h.engine
		runner, _ = h.runner()
		began := time.Now()
		expect(t, mute(follow(t, runner, c, 0, 1)), `
			queued: hello
			turn-start
			user: hello
			turn-restarted
			model: hi
			usage
			sealed done, 0 retries, 0ms`)
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("it was missed after %v", took)
		}
	})
}

func TestRunner_DuplicateJobIsIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, llmtest.Late(5*time.Minute, llmtest.Says("hi")))
		runner, _ := h.runner()
		c := h.create(runner)
		h.say(runner, c, "hello")
		time.Sleep(time.Second)
		for range 3 {
			body := json.RawMessage(`{"id":"other","turn":"` + turnOf(t, runner, c) + `"}`)
			err := h.engine.Enqueue(t.Context(), store.Job{Conversation: c, Turn: "other", Body: body})
			if err != nil {
				t.Fatalf("enqueue: %v", err)
			}
		}
		got := follow(t, runner, c, 0, 1)
		if last := got[len(got)-1]; last != "sealed done, 0 retries, 0ms" || len(h.model.(*llmtest.Model).Requests()) != 1 {
			t.Errorf("%q", got)
		}
	})
}

func turnOf(t *testing.T, h *conversation.Runner, c string) string {
	v, err := h.Get(t.Context(), c)
	if err != nil {
		t.Fatalf("get: %v", err)
	}
	return v.Turn
}

func TestRunner_Errors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, llmtest.Says("hi"))
		runner, _ := h.runner()
		c, ctx := h.create(runner), t.Context()
		id := h.say(runner, c, "hello")
		follow(t, runner, c, 0, 1)
		gone := h.create(runner)
		if err := runner.Delete(ctx, gone); err != nil {
			t.Fatalf("delete: %v", err)
		}
		say := func(c, text string) error { _, err := runner.Submit(ctx, c, "", text); return err }
		_, again := runner.Create(ctx, c, conversation.Settings{})
		_, none := runner.Get(ctx, "unknown")
		for name, tt := range map[string]struct{ got, want error }{
			"unknown":        {say("unknown", "hi"), conversation.ErrNotFound},
			"unknown to see": {none, conversation.ErrNotFound},
			"deleted":        {say(gone, "hi"), store.ErrDeleted},
			"too long":       {say(c, strings.Repeat("x", conversation.MaxText+1)), conversation.ErrInvalidText},
			"no text":        {say(c, " \n"), conversation.ErrInvalidText},
			"no UTF-8":       {say(c, "\xff"), conversation.ErrInvalidText},
			"made twice":     {again, conversation.ErrExists},
			"nothing to end": {runner.Stop(ctx, c, ""), conversation.ErrIdle},
			"nothing waits":  {runner.RetryNow(ctx, c), conversation.ErrIdle},
		} {
			if !errors.Is(tt.got, tt.want) {
				t.Errorf("%s: %v", name, tt.got)
			}
		}
		if same, err := runner.Submit(ctx, c, id, "hello"); same != id || err != nil {
			t.Errorf("%s, %v", same, err)
		}
	})
}
