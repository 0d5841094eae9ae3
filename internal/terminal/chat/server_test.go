package chat_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/server"
	"github.com/ridethrough/ridethrough/internal/server/client"
	"github.com/ridethrough/ridethrough/internal/server/conversations"
	"github.com/ridethrough/ridethrough/internal/terminal/chat"
	"github.com/ridethrough/ridethrough/internal/terminal/tui"
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

// /compact, /pause and /unpause of `chat --server` in a pipe, all the way to the runner of the server.
func TestServer_CommandsOfATerminal(t *testing.T) {
	s := newServer(t, llmtest.Says("one"), llmtest.Says("They talked."), llmtest.Says("two"))
	in, lines := io.Pipe()
	out := &lockedBuffer{}
	ended := make(chan error, 1)
	go func() {
		ended <- tui.Run(t.Context(), tui.Config{Conversations: s, Settings: defaults, In: in, Out: out, Plain: true})
	}()
	for _, step := range []struct{ types, shows string }{
		{"question", "one\n"},
		{"/compact the names", "· the conversation has been compacted: about 3 tokens before, "},
		{"/pause", "▲ Paused: no model is asked until /unpause"},
		{"and?", ""},
		{"/unpause", "· the conversation goes on\ntwo\n"},
	} {
		if _, err := io.WriteString(lines, step.types+"\n"); err != nil {
			t.Fatalf("type %q: %v", step.types, err)
		}
		for end := time.Now().Add(20 * time.Second); !strings.Contains(out.String(), step.shows); {
			if time.Now().After(end) {
				t.Fatalf("after %q: got %q, want %q", step.types, out.String(), step.shows)
			}
			runtime.Gosched()
		}
	}
	_ = lines.Close()
	if err := <-ended; err != nil {
		t.Errorf("Run: got %v, want no error", err)
	}
}

// lockedBuffer is a buffer that may be read while it is written.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
