package history

import (
	"slices"
	"time"
)

const (
	courseStep  = 15 * time.Second // the first length of a step
	courseBound = 120              // steps of one incident; then they become twice as long
)

// Course is how an incident went: its steps, all of the same length, from its beginning on.
type Course struct {
	Step   time.Duration
	Points []Point
}

// Point is one step of a course.
type Point struct {
	Faults  map[string]int // failed tries, by their cause in plain words
	Waiting int            // the most calls that waited
}

// course is a Course as it is recorded.
type course struct {
	Step   time.Duration `json:"step,omitzero"`
	Points []point       `json:"points,omitzero"`
}

type point struct {
	Faults  map[string]int `json:"faults,omitzero"` // by the name of their kind
	Waiting int            `json:"waiting,omitzero"`
}

// at returns the step of a moment. waiting is how many calls have waited since the last one.
func (c *course) at(began, now time.Time, waiting int) *point {
	if c.Step == 0 {
		c.Step = courseStep
	}
	since := max(0, now.Sub(began))
	for int(since/c.Step) >= courseBound {
		c.halve()
	}
	i := int(since / c.Step)
	for len(c.Points) <= i {
		c.Points = append(c.Points, point{Waiting: waiting})
	}
	return &c.Points[i]
}

// halve makes the steps twice as long.
func (c *course) halve() {
	c.Step *= 2
	half := c.Points[:0]
	for i := 0; i < len(c.Points); i += 2 {
		p := c.Points[i]
		if i+1 < len(c.Points) {
			p = p.with(c.Points[i+1])
		}
		half = append(half, p)
	}
	c.Points = half
}

func (p point) with(next point) point {
	p.Waiting = max(p.Waiting, next.Waiting)
	for name, n := range next.Faults {
		p.count(name, n)
	}
	return p
}

func (p *point) count(kind string, n int) {
	if p.Faults == nil {
		p.Faults = map[string]int{}
	}
	p.Faults[kind] += n
}

// waiting is how many calls wait because of the incident.
func (in *incident) waiting() int { return max(0, in.Calls-in.Held-in.Lost) }

// count counts faults in the course.
func (in *incident) count(at time.Time, kind string, n int) {
	in.Course.at(in.Began, at, in.waiting()).count(kind, n)
}

// change changes how many calls wait, and notes it in the course.
func (in *incident) change(at time.Time, change func()) {
	p := in.Course.at(in.Began, at, in.waiting())
	change()
	p.Waiting = max(p.Waiting, in.waiting())
}

// Course returns how an incident went; false: no incident has that id.
func (h *History) Course(id string, now time.Time) (Course, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, in := range h.incidents {
		if in.id() == id || slices.Contains(in.IDs, id) {
			return in.course(now), true
		}
	}
	return Course{}, false
}

// course returns the course until the incident's end, or until now.
func (in *incident) course(now time.Time) Course {
	if !in.Open() {
		now = in.Ended
	}
	in.Course.at(in.Began, now, in.waiting())
	c := Course{Step: in.Course.Step, Points: make([]Point, len(in.Course.Points))}
	for i, p := range in.Course.Points {
		c.Points[i] = Point{Faults: causesOf(p.Faults), Waiting: p.Waiting}
	}
	return c
}

// causesOf returns counts by the names of kinds as those by causes.
func causesOf(kinds map[string]int) map[string]int {
	all := make(map[string]int, len(kinds))
	for name, n := range kinds {
		all[kindOf(name, 0).Cause()] += n
	}
	return all
}
