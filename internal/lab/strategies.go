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

// ThirdParty returns the strategies of other programs.
func ThirdParty() []Strategy {
	all, err := config.ParseStrategies("strategies.yaml", published)
	if err != nil {
		panic(err) // tests parse it
	}
	strategies := make([]Strategy, len(all))
	for i, s := range all {
		strategies[i] = Strategy{Strategy: s}
	}
	return strategies
}

// recommended is the strategy that the others are compared with: the default of `ridethrough serve`. Where the
// provider states its limits, that is the strategy with admission.
const recommended = "patient" + withBreaker

// presets returns this project's presets: alone, with a shared circuit breaker, and with both breaker and
// admission.
func presets() []Strategy {
	var all []Strategy
	for _, name := range policy.Presets() {
		p, _ := policy.Preset(name)
		shared := OwnStrategy(name, p, true)
		all = append(all, shared, shared.WithAdmission(), OwnStrategy(name, p, false))
		if shared.Name == recommended {
			all = append(all, shared.ForAWeek(), shared.InFleet(), shared.WithAdmission().InFleet())
		}
	}
	return all
}

// All returns all strategies, this project's first.
func All() []Strategy { return append(presets(), ThirdParty()...) }

// Choose returns the strategies with these names, or all if names is empty.
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

// Names returns the names of strategies.
func Names(all []Strategy) []string {
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = s.Name
	}
	return names
}
