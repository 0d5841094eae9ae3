package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/jetstream"
	"github.com/ridethrough/ridethrough/tool"
)

// Worlds says what the turns of conversations have to do with: the models are
// those of the environment.
type Worlds struct {
	Env     func(string) string
	Policy  func(name string) (policy.Policy, error)           // gives a policy by its name; "": the usual one
	Tools   []tool.Tool                                        // that models may use; nil: none
	Approve func(ctx context.Context, call llm.ToolCall) error // is asked before one that writes is run; nil: none is
	Watch   func(conversation.Event)                           // is told of what happens between turns and providers; nil: nobody is
}

// Settle completes what a conversation is made with, and says what it cannot be
// made with. The usual model is that of RIDETHROUGH_MODEL.
func (w Worlds) Settle(s conversation.Settings) (conversation.Settings, error) {
	s.Model = cmp.Or(s.Model, w.Env("RIDETHROUGH_MODEL"))
	if s.Model == "" {
		return s, errors.New("no model is named; want PROVIDER/MODEL")
	}
	_, err := w.World(context.Background(), s)
	return s, err
}

// World gives what the turns of a conversation have to do with.
func (w Worlds) World(_ context.Context, s conversation.Settings) (agent.Agent, error) {
	all := make([]llm.Model, 0, 1+len(s.Fallback))
	for _, name := range append([]string{s.Model}, s.Fallback...) {
		m, err := Model(name, w.Env)
		if err != nil {
			return agent.Agent{}, err
		}
		all = append(all, m)
	}
	world := agent.Agent{
		Model: all[0], Fallback: all[1:], System: s.System, Patience: time.Duration(s.Patience),
		Effort: llm.Effort(s.Effort), Tools: w.Tools, Approve: w.Approve,
	}
	switch world.Effort {
	case "", llm.Low, llm.Medium, llm.High:
	default:
		return agent.Agent{}, fmt.Errorf("effort %q: want low, medium or high", s.Effort)
	}
	var err error
	world.Retry.Policy, err = w.Policy(s.Policy)
	return world, err
}

// endTime is how long a store may take to end.
const endTime = 10 * time.Second

// Converse opens the conversations in a directory and works on them, until ctx
// ends and end is called: what is under way is then handed back to whoever
// opens the directory next.
func (w Worlds) Converse(ctx context.Context, dir string, log *slog.Logger) (host *conversation.Runner, end func(), err error) {
	store, err := jetstream.Open(ctx, jetstream.Config{Dir: dir, Log: log})
	if err != nil {
		return nil, nil, fmt.Errorf("the conversations in %s cannot be opened: %w", dir, err)
	}
	host, end = w.On(ctx, store, log)
	return host, end, nil
}

// Runner makes who works on the conversations in a store.
func (w Worlds) Host(store store.Store, log *slog.Logger) *conversation.Runner {
	name, _ := os.Hostname() // without it the logs of conversations say less
	return conversation.New(conversation.Config{Store: store, Agent: w.World, Name: name, OnEvent: w.Watch, Log: log})
}

// On works on the conversations in a store, until ctx ends and end is called,
// which closes the store.
func (w Worlds) On(ctx context.Context, store store.Store, log *slog.Logger) (host *conversation.Runner, end func()) {
	host = w.Host(store, log)
	ctx, cancel := context.WithCancel(ctx)
	var working sync.WaitGroup
	working.Go(func() {
		if err := host.Run(ctx); err != nil {
			log.Error("working on conversations", "error", err)
		}
	})
	end = func() {
		cancel()
		working.Wait()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
		defer cancel()
		if err := store.Close(ctx); err != nil {
			log.Error("closing the conversations", "error", err)
		}
	}
	return host, end
}
