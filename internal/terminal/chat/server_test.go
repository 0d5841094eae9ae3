package chat_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"testing"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/server"
	"github.com/ridethrough/ridethrough/internal/server/client"
	"github.com/ridethrough/ridethrough/internal/terminal/chat"
	"github.com/ridethrough/ridethrough/internal/terminal/tui"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/wire"
)

// newServer returns a server whose model gives these answers.
func newServer(t *testing.T, answers ...llmtest.Answer) chat.Server {
	t.Helper()
	model := llmtest.New(large, answers...)
	runner := conversation.New(conversation.Config{Store: store.Memory(), Agent: func(context.Context, conversation.Settings) (agent.Agent, error) {
		a := agent.Agent{Model: model}
		a.Retry.Policy = policy.Patient()
		return a, nil
	}})
	g, err := gateway.New(gateway.Config{})
	if err != nil {
		t.Fatalf("make gateway: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = runner.Run(ctx)
	}()
	s := httptest.NewServer(server.New(server.Config{Gateway: g, Conversations: runner, Log: slog.New(slog.DiscardHandler)}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
		cancel()
		<-done
		g.Close()
		_ = runner.Store.Close(context.Background())
	})
	return chat.Server{Client: client.Client{Base: s.URL}}
}

func TestServer_ConversationBehavesLikeALocalOne(t *testing.T) {
	s := newServer(t, llmtest.Says("hi"), llmtest.Hangs())
	conv := create(t, s)
	if err := conv.Do(t.Context(), tui.Retry{ID: "retry"}); !errors.Is(err, conversation.ErrAnswered) {
		t.Errorf("Retry of nothing: got %v, want ErrAnswered", err)
	}
	send(t, conv, "hello\nyou")
	until(t, conv, sealed)
	send(t, conv, "more")
	starts := 0
	until(t, conv, func(b wire.Body) bool {
		if wire.Type(b) == "turn-start" {
			starts++
		}
		return starts == 2
	})
	queued := send(t, conv, "last")
	do(t, conv, tui.Steer{ID: queued})
	do(t, conv, tui.RetryNow{})
	v, err := conv.Get(t.Context())
	if err != nil || v.ID != conv.ID() || v.Turn == "" || len(v.Inputs) != 1 || v.Inputs[0].Text != "last" || !v.Inputs[0].Steers || v.Settings.Title != "hello" || v.Last == 0 {
		t.Errorf("Get: got %+v, %v, want a turn, the steering input and the title", v, err)
	}
	do(t, conv, tui.Remove{ID: queued})
	do(t, conv, tui.Cancel{ID: v.Turn})
	if err := conv.Do(t.Context(), tui.Remove{ID: queued}); !errors.Is(err, conversation.ErrInput) {
		t.Errorf("Remove twice: got %v, want ErrInput", err)
	}
	if all := listed(t, s); len(all) != 1 || all[0].Settings.Title != "hello" || all[0].Settings.Model != defaults.Model || all[0].InUse {
		t.Errorf("List: got %+v, want the conversation", all)
	}
}

func TestServer_ErrorsAreThoseOfLocalConversations(t *testing.T) {
	s := newServer(t)
	if _, err := s.Open(t.Context(), "none"); !errors.Is(err, conversation.ErrNone) {
		t.Errorf("Open: got %v, want ErrNone", err)
	}
	conv := create(t, s)
	s.Override = func(with conversation.Settings) conversation.Settings { with.Model = "acme/small"; return with }
	same, err := s.Open(t.Context(), conv.ID())
	if v, err := opened(t, same, err).Get(t.Context()); err != nil || v.Settings.Model != "acme/small" {
		t.Errorf("Get: got %+v, %v, want the overridden model", v, err)
	}
	if err := conv.Do(t.Context(), tui.Cancel{}); !errors.Is(err, conversation.ErrIdle) {
		t.Errorf("Cancel: got %v, want ErrIdle", err)
	}
}
