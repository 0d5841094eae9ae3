package app_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/internal/app"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/background"
	"github.com/ridethrough/ridethrough/store/bolt"
	"github.com/ridethrough/ridethrough/wire"
)

// worlds are those of an environment.
func worlds(list string) app.Agents {
	return app.Agents{Models: app.NewModels(env(list), nil, classify.Classifier{})}
}

func TestAgents_ValidateSettings(t *testing.T) {
	const keys = "ANTHROPIC_API_KEY=k OPENAI_API_KEY=k"
	for _, c := range []struct {
		env  string
		s    conversation.Settings
		want string // "": nothing is wrong
	}{
		{keys, conversation.Settings{Model: "claude-opus-4-5", Fallback: []string{"openai/gpt-5"}, Policy: "quick"}, `unknown policy "quick"`},
		{keys, conversation.Settings{Model: "claude-opus-4-5", Fallback: []string{"openai/gpt-5"}, Policy: "patient"}, ""},
		{keys + " RIDETHROUGH_MODEL=gpt-5", conversation.Settings{}, ""},
		{keys, conversation.Settings{}, "no model"},
		{keys, conversation.Settings{Model: "huge"}, "want PROVIDER/MODEL"},
		{keys, conversation.Settings{Model: "gpt-5", Fallback: []string{"gemini/gemini-3"}}, "no credentials for gemini"},
	} {
		s, err := worlds(c.env).Validate(c.s)
		if c.want == "" && (err != nil || s.Model == "") || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("Validate(%+v): got %+v and error %v, want error %q", c.s, s, err, c.want)
		}
	}
}

func TestAgents_AgentFollowsSettings(t *testing.T) {
	w, err := worlds("ANTHROPIC_API_KEY=k OPENAI_API_KEY=k").Agent(t.Context(), conversation.Settings{
		Model: "anthropic/claude-opus-4-5", Fallback: []string{"openai/gpt-5"}, Patience: wire.Millis(1500 * time.Millisecond), System: "Be kind.", Policy: "simple",
	})
	if err != nil || w.Model.Name().String() != "anthropic/claude-opus-4-5" || len(w.Fallback) != 1 || w.Terms(w.Model.Name()).Patience != 1500*time.Millisecond || w.System != "Be kind." {
		t.Errorf("Agent: got %+v and error %v, want the settings' models, patience and system prompt", w, err)
	}
	got := w.Terms(w.Model.Name()).Policy
	if want, _ := policy.Preset("simple"); !slices.Equal(got.Backoff.Steps, want.Backoff.Steps) || got.Retries != want.Retries {
		t.Errorf("retry policy: got %+v, want %+v", got, want)
	}
}

func TestStart_ReopensConversations(t *testing.T) {
	dir, w := t.TempDir(), worlds("ANTHROPIC_API_KEY=k")
	log := slog.New(slog.DiscardHandler)
	for range 2 {
		opened := openDir(dir)
		host, end := w.Start(t.Context(), opened, log)
		if err := opened.Wait(t.Context()); err != nil {
			t.Fatalf("wait for the store: %v", err)
		}
		id, err := host.Create(t.Context(), "c1", conversation.Settings{Model: "claude-opus-4-5", Title: "kept"})
		if err != nil && !errors.Is(err, conversation.ErrExists) {
			t.Errorf("create conversation: %v", err)
		}
		if v, err := host.Get(t.Context(), id); err != nil || v.Settings.Title != "kept" {
			t.Errorf("Get: got %+v and error %v, want the title %q", v, err, "kept")
		}
		end()
	}
}

// openDir opens a store in a directory, in the background.
func openDir(dir string) *background.Store {
	return background.Open(func(ctx context.Context) (store.Store, error) {
		return bolt.Open(ctx, bolt.Config{Dir: dir})
	}, slog.New(slog.DiscardHandler))
}

func TestStart_RunsTurnsOnceTheStoreIsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := worlds("ANTHROPIC_API_KEY=k")
		opened := background.Open(func(context.Context) (store.Store, error) {
			time.Sleep(time.Minute)
			return store.Memory(), nil
		}, slog.New(slog.DiscardHandler))
		began := time.Now()
		host, end := w.Start(t.Context(), opened, slog.New(slog.DiscardHandler))
		settings := conversation.Settings{Model: "claude-opus-4-5"}
		if _, err := host.Create(t.Context(), "c1", settings); time.Since(began) > time.Minute || !errors.Is(err, store.ErrNotOpen) {
			t.Errorf("create while the store is opened: got %v, want %v", err, store.ErrNotOpen)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if _, err := host.Create(t.Context(), "c1", settings); err != nil {
			t.Errorf("create in an open store: %v", err)
		}
		if h, err := opened.Health(t.Context()); err != nil || h.Mode != "memory" {
			t.Errorf("health: got %+v, %v", h, err)
		}
		end()
		if _, err := opened.Health(t.Context()); !errors.Is(err, store.ErrClosed) {
			t.Errorf("health after the end: got %v, want %v", err, store.ErrClosed)
		}
	})
}

func ExampleAgents_Validate() {
	w := worlds("OPENAI_API_KEY=sk RIDETHROUGH_MODEL=openai/gpt-5")
	s, err := w.Validate(conversation.Settings{})
	fmt.Println(s.Model, err)
	_, err = w.Validate(conversation.Settings{Model: "anthropic/claude-opus-4-5"})
	fmt.Println(err)
	// Output:
	// openai/gpt-5 <nil>
	// no credentials for anthropic: set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN
}

// The next process that opens the directory finds the conversation.
func ExampleAgents_Start() {
	dir, err := os.MkdirTemp("", "conversations")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx, w := context.Background(), worlds("OPENAI_API_KEY=sk")
	log := slog.New(slog.DiscardHandler)
	opened := openDir(dir)
	host, end := w.Start(ctx, opened, log)
	if err := opened.Wait(ctx); err != nil {
		panic(err)
	}
	_, _ = host.Create(ctx, "c1", conversation.Settings{Model: "openai/gpt-5", Title: "Files"})
	end()
	opened = openDir(dir)
	host, end = w.Start(ctx, opened, log)
	defer end()
	if err := opened.Wait(ctx); err != nil {
		panic(err)
	}
	c, err := host.Get(ctx, "c1")
	fmt.Println(c.Settings.Title, err)
	// Output: Files <nil>
}

// stuckStore is a store whose servers do not answer: operations end when it is closed.
type stuckStore struct {
	store.Store
	closed chan struct{}
}

func (s *stuckStore) Take(context.Context) (store.Lease, error) {
	<-s.closed
	return nil, store.ErrClosed
}

func (s *stuckStore) Close(ctx context.Context) error {
	close(s.closed)
	return s.Store.Close(ctx)
}

func TestStart_EndsThoughStoreDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := &stuckStore{store.Memory(), make(chan struct{})}
		log := slog.New(slog.DiscardHandler)
		opened := background.Open(func(context.Context) (store.Store, error) { return stuck, nil }, log)
		_, end := worlds("").Start(t.Context(), opened, log)
		synctest.Wait()
		began := time.Now()
		end()
		if d := time.Since(began); d > 10*time.Second {
			t.Errorf("the end took %v, want 10 s at most", d)
		}
	})
}
