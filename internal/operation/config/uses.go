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
	use := func(p choice, by string) {
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
	use(c.policy, "conversations")
	use(c.supervisor, "supervisor")
	for _, m := range c.mcp {
		if m.value.policy != (choice{}) {
			use(m.value.policy, "mcp "+m.name)
		}
	}
	for _, u := range c.all() {
		if p := u.value.policy; p != (choice{}) {
			use(p, u.name)
		} else {
			use(c.policy, u.name)
		}
		for i, t := range u.value.routes {
			if t.policy != (choice{}) {
				use(t.policy, fmt.Sprintf("%s, route %d", u.name, i+1))
			}
		}
	}
	return all
}
