package config

import (
	"strconv"
	"time"
)

// Fleet is several gateways, and the network between them.
type Fleet struct {
	Number     int
	Delay      time.Duration // of a message, on average
	Skew       time.Duration // by which their clocks differ at most
	Partitions []Partition
}

// Partition is a time in which some of the gateways do not reach the others.
type Partition struct {
	From, For time.Duration
	Away      int // so many of them
}

// maxReplicas is how many gateways a scenario may have.
const maxReplicas = 100

func scenarioFleets() codec[Fleet] {
	return checked(object(
		&schema{name: "fleet", about: "Several gateways, and the network between them.", expected: "the fields of a fleet", Required: []string{"number"}},
		func(_ *reader, _ *node, f *Fleet) { f.Delay = 5 * time.Millisecond },
		newField("number", integer("a number from 2", 2, maxReplicas), func(f *Fleet) *int { return &f.Number }, fieldDoc{"Their number, at most " + strconv.Itoa(maxReplicas) + ".", "", "required"}),
		newField("delay", duration(), func(f *Fleet) *time.Duration { return &f.Delay }, fieldDoc{"How long a message between them takes on average, from half to one and a half times as long.", "5ms", ""}),
		newField("skew", duration(), func(f *Fleet) *time.Duration { return &f.Skew }, fieldDoc{"By how much their clocks differ, from the first to the last.", "", "not at all"}),
		newField("partitions", seq[*[]Partition]("a list of partitions", partitions()), func(f *Fleet) *[]Partition { return &f.Partitions }, fieldDoc{"When some of them do not reach the others. The provider is reached all the time.", "", "never"}),
	), checkRequired)
}

func partitions() codec[Partition] {
	return checked(object(
		&schema{name: "partition", about: "A time in which some of the gateways do not reach the others.", expected: "the fields of a partition", Required: []string{"for", "away"}}, nil,
		newField("from", duration(), func(p *Partition) *time.Duration { return &p.From }, fieldDoc{"When it starts.", "", "at the start of the scenario"}),
		newField("for", duration(), func(p *Partition) *time.Duration { return &p.For }, fieldDoc{"How long it lasts.", "", "required"}),
		newField("away", integer("a number from 1", 1, maxReplicas), func(p *Partition) *int { return &p.Away }, fieldDoc{"How many of the gateways are apart from the others, and reach one another.", "", "required"}),
	), checkRequired)
}

// checkFleet reports what makes a fleet impossible.
func (s *Scenario) checkFleet(r *reader, n *node) {
	for i, p := range s.Fleet.Partitions {
		if p.Away >= s.Fleet.Number {
			r.fail(n.part("partitions").item(i), "%d of %d gateways are no part of them", p.Away, s.Fleet.Number)
		}
	}
}
