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
	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/council"
	"github.com/ridethrough/ridethrough/internal/clock"
	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/background"
	"github.com/ridethrough/ridethrough/tool"
)

// Agents makes the agents of conversations.
type Agents struct {
	Models  *Models
	Toolbox *Toolbox                          // opens the tools that models may call; nil: none
	Watch   func(conversation.Event)          // gets the events of provider calls; nil: none
	Bound   func(policy.Policy) policy.Policy // bounds the policy of each model; nil: unchanged
	Shared  *Shared                           // the breakers of the process, which a gateway has too; nil: none are shared
}

// breakers returns those of the conversations, or of the councils, which are the same where the process shares them.
func (w Agents) breakers() *breaker.Set {
	if w.Shared == nil {
		return &breaker.Set{}
	}
	return &w.Shared.set
}

// Validate completes the settings of a new conversation and checks them. The
// default model is that of RIDETHROUGH_MODEL.
func (w Agents) Validate(s conversation.Settings) (conversation.Settings, error) {
	s.Model = cmp.Or(s.Model, w.Models.env("RIDETHROUGH_MODEL"))
	if s.Model == "" {
		return s, errors.New("no model is named; want PROVIDER/MODEL, such as anthropic/claude-opus-4-5")
	}
	_, err := w.modelAgent(s)
	switch {
	case err != nil:
	case w.Toolbox != nil:
		err = w.Toolbox.Check(s.Agent, s.Dir)
	case s.Agent != "" || s.Dir != "":
		err = errors.New("there are no agents with tools here")
	}
	return s, err
}

// Agent returns the agent for a conversation's turns. Its tools last until ctx ends. A turn runs without those that
// cannot be opened.
func (w Agents) Agent(ctx context.Context, s conversation.Settings) (agent.Agent, error) {
	world, err := w.modelAgent(s)
	if err != nil || w.Toolbox == nil {
		return world, err
	}
	a, err := w.Toolbox.Agent(s.Agent)
	if err != nil {
		return agent.Agent{}, err
	}
	world.Rules, world.ApprovalTime = RulesOf(a), a.ApprovalTime
	if world.Tools, err = w.Toolbox.Open(ctx, a, s.Dir); err != nil && ctx.Err() == nil {
		w.Toolbox.Log.Warn("turn continues without tools", "agent", s.Agent, "error", err)
	}
	return world, nil
}

// RulesOf returns the rules of an agent's tools.
func RulesOf(a config.Agent) tool.Rules { return tool.Rules{Allow: a.Allow, Ask: a.Ask, Deny: a.Deny} }

func (w Agents) modelAgent(s conversation.Settings) (agent.Agent, error) {
	way, err := w.Models.way(s)
	if err != nil {
		return agent.Agent{}, err
	}
	world := agent.Agent{
		Model: way.models[0], Fallback: way.models[1:], System: s.System,
		Effort: llm.Effort(s.Effort),
		Terms: func(name llm.Name) agent.Terms {
			terms := way.at(name)
			if w.Bound != nil {
				terms.Policy = w.Bound(terms.Policy)
			}
			return terms
		},
	}
	switch world.Effort {
	case "", llm.Low, llm.Medium, llm.High:
	default:
		return agent.Agent{}, fmt.Errorf("effort %q: want low, medium or high", s.Effort)
	}
	return world, nil
}

const closeTime = 10 * time.Second

// Runner returns the runner of the conversations in a store.
func (w Agents) Runner(store store.Store, log *slog.Logger) *conversation.Runner {
	name, _ := os.Hostname() // it is only for the logs
	return conversation.New(conversation.Config{
		Supervisor: func() policy.Policy { return w.Models.config().Supervisor() }, // of the configuration in force
		Store:      store, Agent: w.Agent, Breakers: w.breakers(), Name: name, OnEvent: w.Watch, Log: log,
	})
}

// Start runs the turns of the conversations in a store as soon as it is open, until ctx ends and end is called,
// which closes the store. Turns in progress are then released for the next process that opens it.
func (w Agents) Start(ctx context.Context, store *background.Store, log *slog.Logger) (host *conversation.Runner, end func()) {
	host = w.Runner(store, log)
	ctx, cancel := context.WithCancel(ctx)
	var working sync.WaitGroup
	working.Go(func() {
		if store.Wait(ctx) != nil {
			return // the store has logged why
		}
		if err := host.Run(ctx); err != nil {
			log.Error("run conversations", "error", err)
		}
	})
	end = func() {
		cancel()
		awaitAtMost(closeTime, &working) // servers that do not answer delay the release of turns
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
		defer cancel()
		if err := store.Close(ctx); err != nil {
			log.Error("close the store of conversations", "error", err)
		}
		awaitAtMost(closeTime, &working)
		if w.Toolbox != nil {
			w.Toolbox.Close()
		}
	}
	return host, end
}

func awaitAtMost(d time.Duration, all *sync.WaitGroup) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	_ = clock.Await(ctx, all)
}

// Councils returns a function that returns councils by the names of their models. They share their circuit
// breakers. Without a judge, the council chooses the first member's model. Each model has the fallbacks of the
// configuration.
func (w Agents) Councils() func(models []string, judge string) (council.Council, error) {
	gates := w.breakers()
	return func(models []string, judge string) (council.Council, error) {
		c := council.Council{Breakers: gates}
		for _, name := range models {
			m, err := w.Models.seat(name)
			if err != nil {
				return council.Council{}, err
			}
			c.Members = append(c.Members, m)
		}
		if len(models) == 0 {
			return c, nil // its own check says so
		}
		var err error
		if c.Aggregator, err = w.Models.seat(cmp.Or(judge, models[0])); err != nil {
			return council.Council{}, err
		}
		if judge == "" {
			c.Aggregator.Model = nil
		}
		return c, nil
	}
}

func (m *Models) seat(name string) (agent.Agent, error) {
	way, err := m.way(conversation.Settings{Model: name, Policy: "interactive"})
	if err != nil {
		return agent.Agent{}, err
	}
	return agent.Agent{Model: way.models[0], Fallback: way.models[1:], Terms: way.at}, nil
}
