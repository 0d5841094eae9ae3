package app

import (
	"cmp"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/council"
)

// Councils returns a function that returns councils by the names of their models.
// They share their circuit breakers. Without a judge, the council chooses the first member's model. For each, the
// fallbacks of the configuration take over.
func (w Agents) Councils() func(models []string, judge string) (council.Council, error) {
	gates := &breaker.Set{}
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

// seat returns the agent of a model in a council.
func (m *Models) seat(name string) (agent.Agent, error) {
	way, err := m.way(conversation.Settings{Model: name, Policy: "interactive"})
	if err != nil {
		return agent.Agent{}, err
	}
	return agent.Agent{Model: way.models[0], Fallback: way.models[1:], Terms: way.at}, nil
}
