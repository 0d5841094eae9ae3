package lab

import (
	"embed"
	"fmt"
	"slices"

	"github.com/ridethrough/ridethrough/internal/operation/config"
)

//go:embed gallery/*.yaml
var scenarios embed.FS

// gallery has the names of the scenarios in the order in which they are shown.
var gallery = []string{
	"four-hours-529", "thirty-eight-minutes-503", "tokens-per-minute", "thirty-second-blip", "flapping-evening", "slow-afternoon",
	"a-third-fails", "half-fail", "mixed-fleet", "crowded-server", "fleet-of-ten", "fleet-limits", "five-hour-window", "weekly-window",
}

// Gallery returns the built-in scenarios, which are modelled on real outages.
func Gallery() []config.Scenario {
	all := make([]config.Scenario, len(gallery))
	for i, name := range gallery {
		s, err := config.ParseScenario(name+".yaml", []byte(ScenarioFile(name)))
		if err != nil {
			panic(fmt.Sprintf("%s: %v", name, err)) // tests parse them
		}
		all[i] = s
	}
	return all
}

// ScenarioFile returns the YAML of a scenario of the gallery, or "" for an unknown name.
func ScenarioFile(name string) string {
	text, _ := scenarios.ReadFile("gallery/" + name + ".yaml")
	return string(text)
}

// Find returns the scenario of the gallery with that name.
func Find(name string) (config.Scenario, bool) {
	all := Gallery()
	i := slices.IndexFunc(all, func(s config.Scenario) bool { return s.Name == name })
	if i < 0 {
		return config.Scenario{}, false
	}
	return all[i], true
}
