package lab

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/policy"
)

//go:embed strategies.yaml
var published []byte

// Others gives the strategies of other programs.
func Others() []Strategy {
	all, err := config.ParseStrategies("strategies.yaml", published)
	if err != nil {
		panic(err) // a test reads it
	}
	made := make([]Strategy, len(all))
	for i, s := range all {
		made[i] = Strategy{Strategy: s}
	}
	return made
}

// presets gives this project's presets that are for calls, each by itself and
// with callers that share an outage.
func presets() []Strategy {
	var all []Strategy
	for _, name := range policy.Presets() {
		p, _ := policy.Preset(name)
		all = append(all, OwnStrategy(name, p, true), OwnStrategy(name, p, false))
	}
	return all
}

// All gives all strategies, this project's first.
func All() []Strategy { return append(presets(), Others()...) }

// Choose gives strategies by their names; no names give all.
func Choose(names []string) ([]Strategy, error) {
	all := All()
	if len(names) == 0 {
		return all, nil
	}
	var chosen []Strategy
	for _, name := range names {
		i := slices.IndexFunc(all, func(s Strategy) bool { return s.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("unknown policy %q; want one of %s", name, strings.Join(Names(all), ", "))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// Names lists the names of strategies.
func Names(all []Strategy) []string {
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = s.Name
	}
	return names
}
