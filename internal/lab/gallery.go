package lab

import (
	"embed"
	"fmt"
	"slices"

	"github.com/ridethrough/ridethrough/internal/operation/config"
)

//go:embed gallery/*.yaml
var shapes embed.FS

// gallery names its scenarios in the order in which people see them.
var gallery = []string{
	"four-hours-529", "thirty-eight-minutes-503", "tokens-per-minute", "thirty-second-blip", "flapping-evening", "slow-afternoon",
}

// Gallery gives the scenarios that come with the lab: the shapes of outages
// that providers have had.
func Gallery() []config.Scenario {
	all := make([]config.Scenario, len(gallery))
	for i, name := range gallery {
		s, err := config.ParseScenario(name+".yaml", []byte(ScenarioFile(name)))
		if err != nil {
			panic(fmt.Sprintf("%s: %v", name, err)) // a test reads them
		}
		all[i] = s
	}
	return all
}

// ScenarioFile gives the file of a scenario of the gallery; "": there is none of that
// name.
func ScenarioFile(name string) string {
	text, err := shapes.ReadFile("gallery/" + name + ".yaml")
	if err != nil {
		return ""
	}
	return string(text)
}

// Find gives a scenario of the gallery; false: there is none of that name.
func Find(name string) (config.Scenario, bool) {
	all := Gallery()
	i := slices.IndexFunc(all, func(s config.Scenario) bool { return s.Name == name })
	if i < 0 {
		return config.Scenario{}, false
	}
	return all[i], true
}
