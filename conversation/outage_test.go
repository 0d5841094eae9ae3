package conversation_test

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/turn"
)

func TestRunner_MoreRunnersSendNoMoreRequestsInOutage(t *testing.T) {
	asked := map[int]int32{}
	for _, runners := range []int{1, 4} {
		synctest.Test(t, func(t *testing.T) {
			var u upstream
			h := newFixture(t)
			var runner *conversation.Runner
			for range runners {
				runner, _ = h.runner()
			}
			all := u.wait(t, h, runner, 100)
			asked[runners] = u.asked.Load()
			u.up.Store(true)
			if err := runner.RetryNow(t.Context(), all[3]); err != nil {
				t.Fatalf("retry now: %v", err)
			}
			time.Sleep(20 * time.Second)
			if n := unsealed(t, runner, all); n > 0 {
				t.Errorf("%d runners: %d of %d still wait", runners, n, len(all))
			}
		})
	}
	if asked[4] > asked[1]*3/2 {
		t.Errorf("one runner has asked %d times in an hour, four %d times", asked[1], asked[4])
	}
	t.Logf("one runner has asked %d times in an hour, four %d times", asked[1], asked[4])
}

// small is another model of the provider.
type small struct{ *upstream }

func (small) Name() llm.Name { return llm.Name{Provider: large.Provider, Model: "small"} }

func TestRunner_OutageOfOneModelLeavesOthersAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down, up upstream
		up.up.Store(true)
		h := newFixture(t)
		usual := h.config.Agent
		h.config.Agent = func(ctx context.Context, s conversation.Settings) (agent.Agent, error) {
			w, err := usual(ctx, s)
			if s.Title == "small" {
				w.Model = small{&up}
			}
			return w, err
		}
		runner, _ := h.runner()
		h.runner()
		h.model = &down
		for range 20 {
			h.say(runner, h.create(runner), "hello")
		}
		time.Sleep(16 * time.Second) // the second retries are over
		var all []string
		for range 20 {
			c, err := runner.Create(t.Context(), "", conversation.Settings{Title: "small"})
			if err != nil {
				t.Fatalf("create: %v", err)
			}
			h.say(runner, c, "hello")
			all = append(all, c)
		}
		synctest.Wait()
		if n := unsealed(t, runner, all); n > 0 {
			t.Errorf("%d of %d wait for a provider that answers them", n, len(all))
		}
	})
}

func TestRetryNow_SendsDespiteSharedOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var u upstream
		h := newFixture(t)
		runner, _ := h.runner()
		h.runner()
		h.runner()
		for n, c := range u.wait(t, h, runner, 20) {
			before := u.asked.Load()
			if err := runner.RetryNow(t.Context(), c); err != nil {
				t.Fatalf("retry now: %v", err)
			}
			synctest.Wait()
			if u.asked.Load() == before {
				t.Errorf("retry now of turn %d sent no request", n)
			}
		}
	})
}

// quoting is a model that is down and quotes the prompt in its error.
type quoting struct{}

func (quoting) Name() llm.Name { return large }

func (quoting) Stream(ctx context.Context, q llm.Request) iter.Seq2[llm.Part, error] {
	quote := q.Messages[len(q.Messages)-1].Text()
	return llmtest.Fails(&fault.Error{Kind: fault.Overloaded, Status: 529, Code: "busy", Message: "cannot serve: " + quote})(ctx, q)
}

func TestRunner_SharedOutageQuotesNoOtherConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var told []conversation.Event
		h := newFixture(t)
		h.model = quoting{}
		h.config.OnEvent = func(e conversation.Event) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, e)
		}
		runner, _ := h.runner()
		h.runner()
		go func() {
			for entry, err := range h.engine.Watch(t.Context(), "") {
				if err == nil && bytes.Contains(entry.Value, []byte("secret")) {
					t.Errorf("entry %s of the store quotes a prompt: %s", entry.Key, entry.Value)
				}
			}
		}()
		secrets := map[string]string{} // by conversation
		for n := range 20 {
			c := h.create(runner)
			secrets[c] = fmt.Sprintf("secret-of-conversation-%02d", n)
			h.say(runner, c, secrets[c])
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		own := 0
		for _, e := range told {
			retry, ok := e.Event.(turn.Retry)
			if !ok {
				continue
			}
			rest := strings.ReplaceAll(retry.Fault.Error(), secrets[e.Conversation], "")
			if strings.Contains(rest, "secret") || retry.Fault.Code != "busy" || retry.Fault.Status != 529 {
				t.Errorf("the conversation of %s is told %q, code %q", secrets[e.Conversation], retry.Fault, retry.Fault.Code)
			}
			if rest != retry.Fault.Error() {
				own++
			}
		}
		if own == 0 {
			t.Error("no conversation is told its own provider's message")
		}
	})
}
