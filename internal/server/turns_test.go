package server_test

import (
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/cli/agentcmd"
	"github.com/ridethrough/ridethrough/internal/server"
	"github.com/ridethrough/ridethrough/internal/server/live"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

func TestEvents_TurnsAreAmongTheCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := live.NewFeed()
		r := run(t, server.Config{Gateway: &fake{}, Feed: f})
		events := r.read("/-/events")
		defer events.close()
		watcher := agentcmd.NewTurnWatcher(agentcmd.Conversation, f.Watch)
		tell := func(e turn.Event) {
			watcher.Watch(conversation.Event{Report: agent.Report{At: time.Now(), Name: claude, Event: e}, Conversation: "c1", Turn: "t1"})
		}
		f.Watch(new(retrying(1, 1, 5*time.Second)))
		tell(turn.Start{})
		tell(turn.Retry{Name: claude, Wait: retrying(1, 1, 10*time.Second).Event.(turn.Retry).Wait})
		tell(turn.Recovered{Name: claude, Retries: 1, Waited: 10 * time.Second})
		tell(turn.Sealed{Status: turn.Done})
		synctest.Wait()
		var got []string
		for _, e := range bodies(t, events.seen()) {
			b := e.Body.(wire.Turn)
			got = append(got, turn.Type(b.Event)+" "+b.ConversationID+" "+b.TurnID)
		}
		if want := []string{"provider-retry s-1 1", "provider-retry c1 t1", "provider-recovered c1 t1"}; !slices.Equal(got, want) {
			t.Errorf("events: got %q, want %q", got, want)
		}
	})
}

func TestConversation_InputKeepsTheTraceOfItsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newConversationServer(t, llmtest.Says("hi"))
		p.create("c1")
		if status, answer := p.ask("POST", "/c1/turns", `{"text":"hello"}`, "Traceparent", traceparent); status != 202 {
			t.Fatalf("say: got %d %v, want 202", status, answer)
		}
		synctest.Wait()
		for e, err := range p.host.Attach(t.Context(), "c1", 0) {
			if err != nil {
				t.Fatalf("attach: %v", err)
			}
			if in, ok := e.Body.(wire.InputQueued); ok {
				if in.Parent != traceparent {
					t.Errorf("traceparent of the input: got %q, want %q", in.Parent, traceparent)
				}
				break
			}
		}
	})
}

func TestCouncil_TurnsOfItsMembersAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var starts int
		told := func(e *gateway.Event) {
			mu.Lock()
			defer mu.Unlock()
			if _, ok := e.Event.(turn.Start); ok {
				starts++
				if e.Call.Parent != traceparent || e.Call.Turn == "" || e.Call.Face != agentcmd.CouncilFace {
					t.Errorf("call: got %+v, want a council's with its id and the parent %s", e.Call, traceparent)
				}
			}
		}
		h := newCouncilServer(t, agentcmd.NewTurnWatcher(agentcmd.CouncilFace, told).Members, map[string][]llmtest.Answer{
			"a": {llmtest.Says("yes"), llmtest.Says("so")}, "b": {llmtest.Says("no")},
		})
		r := h.convene(t.Context(), `{"question":"?","models":["a","b"]}`, "Traceparent", traceparent)
		text, err := io.ReadAll(r.Body)
		if err != nil || !strings.Contains(string(text), `"council-end"`) {
			t.Fatalf("council: %s, %v", text, err)
		}
		mu.Lock()
		defer mu.Unlock()
		if starts != 3 {
			t.Errorf("turns that began: got %d, want 3: two members and the judge", starts)
		}
	})
}
