package server_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/server"
	"github.com/ridethrough/ridethrough/internal/server/conversations"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/background"
)

// sick is a store with a health of the test's.
type sick struct {
	store.Lifecycle
	mu     sync.Mutex
	health store.Health
	err    error
}

func (s *sick) Health(context.Context) (store.Health, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.health, s.err
}

func TestReadyz_NamesAStoreThatIsNotOpen(t *testing.T) {
	s := server.New(server.Config{
		Log: slog.New(slog.DiscardHandler), Gateway: &fake{}, Token: "t0ken",
		Store: (&conversations.Health{Store: &sick{err: fmt.Errorf("%w: block 1 is damaged", store.ErrNotOpen)}}).Current,
	})
	for _, tt := range []struct{ token, want string }{
		{"", `{"status":"ok","store":"unavailable"}`},
		{"t0ken", `{"status":"ok","store":"unavailable","reason":"the store is not open: block 1 is damaged"}`},
	} {
		if w := ask(s, request("GET", "/-/readyz", "", "X-Ridethrough-Token", tt.token)); w.Code != 200 || strings.TrimSpace(w.Body.String()) != tt.want {
			t.Errorf("readyz with token %q: got %d %s, want 200 %s", tt.token, w.Code, w.Body, tt.want)
		}
	}
}

func TestWarnings_IncludeTheOperators(t *testing.T) {
	s := server.New(server.Config{Gateway: &fake{}, Warnings: func() []string { return []string{"mind the file"} }})
	if w := ask(s, request("GET", "/-/warnings", "")); !strings.Contains(w.Body.String(), `{"text":"mind the file"}`) {
		t.Errorf("got %d %s, want the warning", w.Code, w.Body)
	}
}

func TestWarnings_FollowTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sick{err: fmt.Errorf("%w: it is being opened", store.ErrNotOpen)}
		r := run(t, server.Config{Gateway: &fake{}, Store: (&conversations.Health{Store: s}).Current}).read("/-/live")
		defer r.close()
		if got, want := of(r.seen(), "warnings"), `{"warnings":[{"text":"Conversations are unavailable: the store is not open: it is being opened"}]}`; len(got) != 1 || got[0] != want {
			t.Errorf("warnings: got %q, want %s", got, want)
		}
		s.mu.Lock()
		s.err = nil
		s.health.Warnings = []string{"the disk is slow"}
		s.health.Losses = []store.Loss{{Noticed: time.Unix(0, 0), First: 6, Last: 6, Messages: 1, Conversation: "c1", N: 3}}
		s.mu.Unlock()
		time.Sleep(3 * time.Second)
		want := []string{
			`{"text":"the disk is slow"}`,
			`{"text":"1970-01-01T00:00:00Z: 1 acknowledged message was lost of conversation c1 from record 3 on (number 6 of the stream)"}`,
		}
		all := r.seen()
		if got := of(all, "warning"); len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
			t.Errorf("warnings: got %q, want %q", got, want)
		}
		if got := of(all, "gone"); len(got) != 1 || !strings.Contains(got[0], "it is being opened") {
			t.Errorf("gone: got %q, want the warning that was shown first", got)
		}
	})
}

func TestConversations_AnswerWhileTheirStoreIsOpened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opened := background.Open(func(context.Context) (store.Store, error) {
			time.Sleep(time.Minute)
			return store.Memory(), nil
		}, slog.New(slog.DiscardHandler))
		defer func() { _ = opened.Close(context.Background()) }()
		s := server.New(withConversations(server.Config{
			Log: slog.New(slog.DiscardHandler), Gateway: &fake{}, Store: (&conversations.Health{Store: opened}).Current,
		}, &conversations.API{Runner: conversation.New(conversation.Config{Store: opened})}))
		requests := [][3]string{
			{"GET", "/-/conversations"},
			{"POST", "/-/conversations", "{}"},
			{"GET", "/-/conversations/c1"},
			{"DELETE", "/-/conversations/c1"},
			{"POST", "/-/conversations/c1/turns", `{"text":"x"}`},
			{"GET", "/-/conversations/c1/events"},
			{"POST", "/-/conversations/c1/stop", "{}"},
			{"GET", "/-/conversations/c1/queue"},
		}
		for _, r := range requests {
			w := ask(s, request(r[0], r[1], r[2], "Content-Type", "application/json"))
			if w.Code != 503 || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), `"code":"store-unavailable"`) {
				t.Errorf("%s %s: got %d %s, Retry-After %q; want 503 store-unavailable", r[0], r[1], w.Code, w.Body, w.Header().Get("Retry-After"))
			}
		}
		for _, path := range []string{"/-/livez", "/-/readyz", "/v1/messages"} {
			if w := ask(s, request("GET", path, "")); w.Code != 200 {
				t.Errorf("GET %s: got %d %s, want 200", path, w.Code, w.Body)
			}
		}
		time.Sleep(2 * time.Minute)
		if w := ask(s, request("GET", "/-/conversations", "")); w.Code != 200 {
			t.Errorf("list once the store is open: got %d %s, want 200", w.Code, w.Body)
		}
	})
}

// closing is a store that closes, once closes is set, when a client follows a conversation.
type closing struct {
	store.Store
	closes, closed atomic.Bool
}

func (c *closing) Subscribe(ctx context.Context, conversation string) (<-chan store.Message, error) {
	c.closed.Store(c.closes.Load())
	return c.Store.Subscribe(ctx, conversation)
}

func (c *closing) End(ctx context.Context, conversation string) (store.Position, error) {
	if c.closed.Load() {
		return store.Position{}, store.ErrClosed
	}
	return c.Store.End(ctx, conversation)
}

func TestConversations_EventsEndWithTheirStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &closing{Store: store.Memory()}
		p := newConversationServerOn(t, server.Config{}, c)
		id := p.create("c1")
		synctest.Wait() // else the worker's own subscription may close it
		c.closes.Store(true)
		resp := p.send("GET", "/"+id+"/events", "", "Accept", "text/event-stream")
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != 200 || strings.Contains(string(text), "problem") {
			t.Errorf("events of a conversation whose store closes: got %d %q, %v; want them to end without a problem", resp.StatusCode, text, err)
		}
	})
}
