package app

import (
	"cmp"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/council"
)

// Councils returns a function that returns councils by the names of their models.
// They share their circuit breakers. Without a judge, the council chooses the first member's model. The fallbacks
// of the configuration take over for the judge; a member that fails is what the quorum is for.
func (w Agents) Councils() func(models []string, judge string) (council.Council, error) {
	gates := &breaker.Set{}
	return func(models []string, judge string) (council.Council, error) {
		c := council.Council{Breakers: gates}
		for _, name := range models {
			m, err := w.Models.Open(name)
			if err != nil {
				return council.Council{}, err
			}
			c.Members = append(c.Members, agent.Agent{Model: m})
		}
		if len(models) == 0 {
			return c, nil // its own check says so
		}
		way, err := w.Models.way(conversation.Settings{Model: cmp.Or(judge, models[0]), Policy: "interactive"})
		if err != nil {
			return council.Council{}, err
		}
		if judge != "" {
			c.Aggregator.Model = way.models[0]
		}
		c.Aggregator.Fallback, c.Aggregator.Terms = way.models[1:], way.at
		return c, nil
	}
}
