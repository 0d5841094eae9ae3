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
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/wire"
)

// served is a server whose model gives these answers.
func served(t *testing.T, answers ...llmtest.Answer) chat.Server {
	t.Helper()
	model := llmtest.New(large, answers...)
	host := conversation.New(conversation.Config{Store: store.Memory(), Agent: func(context.Context, conversation.Settings) (agent.Agent, error) {
		w := agent.Agent{Model: model}
		w.Retry.Policy = policy.Patient()
		return w, nil
	}})
	g, err := gateway.New(gateway.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = host.Run(ctx)
	}()
	s := httptest.NewServer(server.New(server.Config{Gateway: g, Conversations: host, Log: slog.New(slog.DiscardHandler)}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
		cancel()
		<-done
		g.Close()
		_ = host.Store.Close(context.Background())
	})
	return chat.Server{Client: client.Client{Base: s.URL}}
}

func TestAConversationAtAServerIsHadLikeOneHere(t *testing.T) {
	s := served(t, llmtest.Says("hi"), llmtest.Hangs())
	talk := begun(t, s)
	if _, err := talk.Again(t.Context()); !errors.Is(err, conversation.ErrAnswered) {
		t.Error(err)
	}
	say(t, talk, "hello\nyou")
	until(t, talk, sealed)
	say(t, talk, "more")
	n := 0
	until(t, talk, func(b wire.Body) bool {
		if wire.Type(b) == "turn-start" {
			n++
		}
		return n == 2
	})
	waits, err := talk.Say(t.Context(), "", "last")
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for i, err := range []error{talk.Edit(ctx, waits, "other"), talk.Steer(ctx, waits), talk.Now(ctx)} {
		if err != nil {
			t.Error(i, err)
		}
	}
	v, err := talk.Get(ctx)
	if err != nil || v.ID != talk.ID() || v.Turn == "" || len(v.Inputs) != 1 || v.Inputs[0].Text != "other" || !v.Inputs[0].Steers || v.Settings.Title != "hello" || v.Last == 0 {
		t.Errorf("%+v, %v", v, err)
	}
	if err := errors.Join(talk.Remove(ctx, waits), talk.Stop(ctx, v.Turn)); err != nil {
		t.Error(err)
	}
	if err := talk.Remove(ctx, waits); !errors.Is(err, conversation.ErrInput) {
		t.Error(err)
	}
	if all := listed(t, s); len(all) != 1 || all[0].Settings.Title != "hello" || all[0].Settings.Model != made.Model || all[0].InUse {
		t.Errorf("%+v", all)
	}
}

func TestAServerSaysWhatItHasNot(t *testing.T) {
	s := served(t)
	if _, err := s.Open(t.Context(), "nobody"); !errors.Is(err, conversation.ErrNone) {
		t.Error(err)
	}
	talk := begun(t, s)
	s.Override = func(with conversation.Settings) conversation.Settings { with.Model = "acme/small"; return with }
	same, err := s.Open(t.Context(), talk.ID())
	if v, err := opened(t, same, err).Get(t.Context()); err != nil || v.Settings.Model != "acme/small" {
		t.Errorf("%+v, %v", v, err)
	}
	if err := talk.Stop(t.Context(), ""); !errors.Is(err, conversation.ErrIdle) {
		t.Error(err)
	}
}
