package config

import (
	"fmt"
	"slices"

	"github.com/ridethrough/ridethrough/policy"
)

// Use is a policy and its users.
type Use struct {
	Name   string
	Policy policy.Policy
	Preset bool     // it is built in
	By     []string // "conversations", "supervisor", "mcp github", upstreams, and routes as "anthropic, route 1"
}

// Uses returns all named policies and those without a name. Conversations use the
// default policy unless they name another.
func (c *Config) Uses() []Use {
	var all []Use
	own := map[*rule]int{} // the indexes of those without a name
	for _, name := range c.policyNames() {
		preset := name == noRetries || slices.Contains(policy.Presets(), name)
		all = append(all, Use{Name: name, Policy: c.resolve(choice{name: name}), Preset: preset})
	}
	for _, u := range c.users() {
		p, by := u.value, u.name
		i, known := own[p.own]
		if p.own == nil {
			i = slices.IndexFunc(all, func(u Use) bool { return u.Name == p.name })
		} else if !known {
			i = len(all)
			own[p.own] = i
			all = append(all, Use{Name: "policy of " + by, Policy: p.own.Policy})
		}
		all[i].By = append(all[i].By, by)
	}
	return all
}

// users returns what has a policy, each with its policy.
func (c *Config) users() []named[choice] {
	all := []named[choice]{{"conversations", c.policy}, {"supervisor", c.supervisor}}
	for _, m := range c.mcp {
		if m.value.policy != (choice{}) {
			all = append(all, named[choice]{"mcp " + m.name, m.value.policy})
		}
	}
	for _, u := range c.all() {
		p := u.value.policy
		if p == (choice{}) {
			p = c.policy
		}
		all = append(all, named[choice]{u.name, p})
		for i, t := range u.value.routes {
			if t.policy != (choice{}) {
				all = append(all, named[choice]{fmt.Sprintf("%s, route %d", u.name, i+1), t.policy})
			}
		}
	}
	return all
}
