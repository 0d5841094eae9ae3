package app

import (
	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/council"
)

// Councils returns a function that returns councils by the names of their models.
// They share their circuit breakers. Without a judge, the council chooses one.
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
		if judge == "" {
			return c, nil
		}
		m, err := w.Models.Open(judge)
		c.Aggregator.Model = m
		return c, err
	}
}
