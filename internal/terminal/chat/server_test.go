package chat_test

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"testing"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/server"
	"github.com/ridethrough/ridethrough/internal/server/client"
	"github.com/ridethrough/ridethrough/internal/server/conversations"
	"github.com/ridethrough/ridethrough/internal/terminal/chat"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/store"
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
	served := &conversations.API{Runner: runner}
	s := httptest.NewServer(server.New(server.Config{Gateway: g, Conversations: served, Extensions: []server.Extension{served}, Log: slog.New(slog.DiscardHandler)}))
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

func TestServer_OverridesSettings(t *testing.T) {
	s := newServer(t)
	conv := create(t, s)
	s.Override = func(with conversation.Settings) conversation.Settings { with.Model = "acme/small"; return with }
	same, err := s.Open(t.Context(), conv.ID())
	if v, err := opened(t, same, err).Get(t.Context()); err != nil || v.Settings.Model != "acme/small" {
		t.Errorf("Get: got %+v, %v, want the overridden model", v, err)
	}
}
