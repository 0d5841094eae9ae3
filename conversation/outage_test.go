package conversation_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/llm"
)

func TestMoreHostsDoNotAskAProviderMoreOftenThatIsDown(t *testing.T) {
	asked := map[int]int32{}
	for _, hosts := range []int{1, 4} {
		synctest.Test(t, func(t *testing.T) {
			var u upstream
			h := newHouse(t)
			var host *conversation.Runner
			for range hosts {
				host, _ = h.host()
			}
			all := u.wait(t, h, host, 100)
			asked[hosts] = u.asked.Load()
			u.up.Store(true)
			if err := host.RetryNow(t.Context(), all[3]); err != nil {
				t.Fatalf("retry now: %v", err)
			}
			time.Sleep(20 * time.Second)
			if n := unsealed(t, host, all); n > 0 {
				t.Errorf("%d hosts: %d of %d still wait", hosts, n, len(all))
			}
		})
	}
	if asked[4] > asked[1]*3/2 {
		t.Errorf("one host has asked %d times in an hour, four %d times", asked[1], asked[4])
	}
	t.Logf("one host has asked %d times in an hour, four %d times", asked[1], asked[4])
}

// small is another model of the provider.
type small struct{ *upstream }

func (small) Name() llm.Name { return llm.Name{Provider: large.Provider, Model: "small"} }

func TestAnOutageOfOneModelIsNoneOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down, up upstream
		up.up.Store(true)
		h := newHouse(t)
		usual := h.config.Agent
		h.config.Agent = func(ctx context.Context, s conversation.Settings) (agent.Agent, error) {
			w, err := usual(ctx, s)
			if s.Title == "small" {
				w.Model = small{&up}
			}
			return w, err
		}
		host, _ := h.host()
		h.host()
		h.model = &down
		for range 20 {
			h.say(host, h.create(host), "hello")
		}
		time.Sleep(16 * time.Second) // the second retries are over
		var all []string
		for range 20 {
			c, err := host.Create(t.Context(), "", conversation.Settings{Title: "small"})
			if err != nil {
				t.Fatalf("create: %v", err)
			}
			h.say(host, c, "hello")
			all = append(all, c)
		}
		synctest.Wait()
		if n := unsealed(t, host, all); n > 0 {
			t.Errorf("%d of %d wait for a provider that answers them", n, len(all))
		}
	})
}

func TestWhoeverSaysNowIsAskedForWhateverOthersHaveFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var u upstream
		h := newHouse(t)
		host, _ := h.host()
		h.host()
		h.host()
		for n, c := range u.wait(t, h, host, 20) {
			before := u.asked.Load()
			if err := host.RetryNow(t.Context(), c); err != nil {
				t.Fatalf("retry now: %v", err)
			}
			synctest.Wait()
			if u.asked.Load() == before {
				t.Errorf("nobody has asked for the one that said so as number %d", n)
			}
		}
	})
}
