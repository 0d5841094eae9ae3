package app

import (
	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/council"
)

// Councils gives councils of models by their names. What one of them learns of
// a provider that fails, all of them know. Without a judge it is left to the
// council who makes its answer.
func (w Worlds) Councils() func(models []string, judge string) (council.Council, error) {
	gates := &breaker.Set{}
	return func(models []string, judge string) (council.Council, error) {
		c := council.Council{Breakers: gates}
		for _, name := range models {
			m, err := Model(name, w.Env)
			if err != nil {
				return council.Council{}, err
			}
			c.Members = append(c.Members, agent.Agent{Model: m})
		}
		if judge == "" {
			return c, nil
		}
		m, err := Model(judge, w.Env)
		c.Aggregator.Model = m
		return c, err
	}
}
