package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Scenario is an outage that can be played: who calls, what answers, and what
// goes wrong when.
type Scenario struct {
	Name     string // of the file, without its ending
	Title    string
	About    string
	Lasts    time.Duration // the time in which calls begin
	Seed     uint64        // of all chance
	Callers  Callers
	Upstream Service
	Outages  []Outage
	Policies []string // that are played, by their names; none: all
}

// Callers are those who call. Each makes a call, and the next a while after
// that has ended.
type Callers struct {
	Number   int
	Every    time.Duration // from the end of a call to the next, on average
	Patience time.Duration // after so long a caller leaves; 0: never
	Tokens   int           // that a call costs
}

// Service is what answers.
type Service struct {
	Takes   time.Duration // an answer, on average
	Refuses time.Duration // a refusal
	Rate    float64       // answers begun per second at the most; 0: no bound
}

// Outage is one thing that goes wrong for a while.
type Outage struct {
	Kind     string // of OutageKinds
	From     time.Duration
	For      time.Duration
	Status   int           // of refusals
	Share    float64       // of calls that a partial outage refuses
	Down, Up time.Duration // of flapping
	Tokens   int           // per minute that a rate limit lets through
	Rate     float64       // calls per second that a limited capacity lets through
	Slower   float64       // how many times as long an answer takes
}

// The kinds of outages.
const (
	Total     = "total"
	Partial   = "partial"
	Flapping  = "flapping"
	RateLimit = "rate-limit"
	BrownOut  = "brown-out"
	Limited   = "limited"
)

// needs are the fields without which an outage of a kind says nothing. No other
// kind may have them.
var needs = map[string][]string{
	Total:     nil,
	Partial:   {"share"},
	Flapping:  {"down", "up"},
	RateLimit: {"tokens"},
	BrownOut:  {"slower"},
	Limited:   {"rate"},
}

// OutageKinds lists the kinds in the order in which people see them.
func OutageKinds() []string {
	return []string{Total, Partial, Flapping, RateLimit, BrownOut, Limited}
}

// Bounds of a scenario, so that it is played in a minute and in a gigabyte.
const (
	MaxCallers = 20_000
	maxCalls   = 20_000_000
	maxLasts   = 7 * day
)

// scenarios is the form of the whole file.
func scenarios() form[Scenario] {
	f := object(
		schema{words: "the fields of a scenario", Required: []string{"lasts", "callers", "outages"}}, nil,
		of("title", prose("a sentence"), func(s *Scenario) *string { return &s.Title }, says{"What it is called.", "", "the file's name"}),
		of("about", prose("sentences"), func(s *Scenario) *string { return &s.About }, says{"What it shows.", "", "nothing"}),
		of("lasts", duration(), func(s *Scenario) *time.Duration { return &s.Lasts }, says{"The time in which calls begin. What is under way then is played to its end.", "", "needed"}),
		of("seed", whole[uint64]("a number from 0", 0, 1<<53), func(s *Scenario) *uint64 { return &s.Seed }, says{"Where chance begins. The same seed gives the same figures.", "1", ""}),
		of("callers", callers(), func(s *Scenario) *Callers { return &s.Callers }, says{"Who calls.", "", "needed"}),
		of("upstream", services(), func(s *Scenario) *Service { return &s.Upstream }, says{"What answers.", "", "its defaults"}),
		of("outages", seq("a list of outages", outages()), func(s *Scenario) *[]Outage { return &s.Outages }, says{"What goes wrong, and when. Outages may overlap: the first that refuses a call decides.", "", "needed"}),
		of("policies", seq("a list of policies", anyName("a policy's name")), func(s *Scenario) *[]string { return &s.Policies }, says{"The policies that are played, as `ridethrough lab --policies` lists them.", "", "all of the list"}),
	)
	return checked(f, checkScenario)
}

// prose is the form of a text for people. It comes on terminals and into
// pictures as it is, so there is nothing in it that those would obey.
func prose(words string) form[string] {
	return scalar(schema{words: words}, func(s string) (string, error) {
		switch {
		case s == "":
			return "", errForm
		case strings.ContainsFunc(s, unseen):
			return "", errors.New("there is a letter in it that nobody sees")
		}
		return s, nil
	}, itself)
}

// unseen tells whether a letter is a command for a terminal, or turns the order
// of others around.
func unseen(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r)
}

// seen takes away what is unseen.
func seen(r rune) rune {
	if unseen(r) {
		return -1
	}
	return r
}

func callers() form[Callers] {
	return checked(object(
		schema{name: "callers", about: "Those who call: each one call at a time.", words: "the fields of callers", Required: []string{"number", "every"}}, nil,
		of("number", whole("a number from 1", 1, 1<<31), func(c *Callers) *int { return &c.Number }, says{"How many there are, at most " + strconv.Itoa(MaxCallers) + ".", "", "needed"}),
		of("every", duration(), func(c *Callers) *time.Duration { return &c.Every }, says{"The time from the end of a call to the same caller's next, on average.", "", "needed"}),
		of("patience", duration(), func(c *Callers) *time.Duration { return &c.Patience }, says{"How long a caller waits for an answer before it leaves.", "", "without end"}),
		of("tokens", whole("a number from 1", 1, 1<<31), func(c *Callers) *int { return &c.Tokens }, says{"What a call costs where tokens are counted.", "", "nothing"}),
	), wants)
}

func services() form[Service] {
	return object(
		schema{name: "upstream", about: "What answers when nothing is wrong.", words: "the fields of an upstream"},
		func(*reader, *node) Service { return Service{Takes: 6 * time.Second, Refuses: 200 * time.Millisecond} },
		of("takes", duration(), func(s *Service) *time.Duration { return &s.Takes }, says{"How long an answer takes: on average, and from half to half as much again.", "6s", ""}),
		of("refuses", duration(), func(s *Service) *time.Duration { return &s.Refuses }, says{"How long a refusal takes.", "200ms", ""}),
		of("rate", rates(), func(s *Service) *float64 { return &s.Rate }, says{"How many calls it takes in at the most. It refuses others with the status 529.", "", "no bound"}),
	)
}

func outages() form[Outage] {
	return checked(object(
		schema{name: "outage", about: "One thing that goes wrong for a while.", words: "the fields of an outage", Required: []string{"kind", "for"}}, nil,
		of("kind", oneOf("a kind of outage", OutageKinds()...), func(o *Outage) *string { return &o.Kind }, says{"What goes wrong: `total` refuses every call, `partial` a share of them, `flapping` all of them now and then, `rate-limit` those beyond a number of tokens per minute, `limited` those beyond a rate. `brown-out` only makes answers slow.", "", "needed"}),
		of("from", duration(), func(o *Outage) *time.Duration { return &o.From }, says{"When it begins.", "", "at the start"}),
		of("for", duration(), func(o *Outage) *time.Duration { return &o.For }, says{"How long it lasts.", "", "needed"}),
		of("status", whole("a status from 400 to 599", 400, 599), func(o *Outage) *int { return &o.Status }, says{"The HTTP status of a refusal.", "", "529, and 429 of a rate limit"}),
		of("share", share(), func(o *Outage) *float64 { return &o.Share }, says{"The share of calls that a partial outage refuses.", "", "needed by partial"}),
		of("down", duration(), func(o *Outage) *time.Duration { return &o.Down }, says{"How long each part of flapping refuses.", "", "needed by flapping"}),
		of("up", duration(), func(o *Outage) *time.Duration { return &o.Up }, says{"How long it answers in between.", "", "needed by flapping"}),
		of("tokens", whole("a number from 1", 1, 1<<40), func(o *Outage) *int { return &o.Tokens }, says{"The tokens per minute that a rate limit lets through. Its refusals say when the next minute begins.", "", "needed by rate-limit"}),
		of("rate", rates(), func(o *Outage) *float64 { return &o.Rate }, says{"The calls that a limited capacity takes in.", "", "needed by limited"}),
		of("slower", factor(), func(o *Outage) *float64 { return &o.Slower }, says{"How many times as long each answer takes in a brown-out.", "", "needed by brown-out"}),
	), checkOutage)
}

// checkOutage says what an outage of its kind lacks, or cannot have.
func checkOutage(r *reader, n *node, o *Outage, s *schema) {
	wants(r, n, o, s)
	if o.Kind == "" {
		return
	}
	for _, name := range needs[o.Kind] {
		if n.field(name) == nil {
			r.fail(n, "an outage that is %s needs the field %s", o.Kind, name)
		}
	}
	for _, kind := range OutageKinds() {
		for _, name := range needs[kind] {
			if v := n.field(name); v != nil && kind != o.Kind {
				r.fail(v, "%s is for an outage that is %s, not %s", name, kind, o.Kind)
			}
		}
	}
	if v := n.field("status"); v != nil && o.Kind == BrownOut {
		r.fail(v, "a brown-out refuses nothing, so that it has no status")
	}
	if o.Status == 0 {
		if o.Status = 529; o.Kind == RateLimit {
			o.Status = 429
		}
	}
}

// checkScenario says what cannot be played.
func checkScenario(r *reader, n *node, s *Scenario, shape *schema) {
	wants(r, n, s, shape)
	if s.Seed == 0 && n.field("seed") == nil {
		s.Seed = 1
	}
	at := func(name string) *node {
		if v := n.field(name); v != nil {
			return v
		}
		return n
	}
	c := s.Callers
	if what, err := s.bounds(); err != nil {
		r.fail(at(what[0]).part(what[1]), "%v", err)
	}
	for i, o := range s.Outages {
		item := at("outages").item(i)
		switch {
		case s.Lasts > 0 && o.From+o.For > s.Lasts:
			r.fail(item, "this outage ends at %s, after the scenario, which lasts %s", ShowDuration(o.From+o.For), ShowDuration(s.Lasts))
		case o.Kind == RateLimit && c.Tokens == 0:
			r.fail(item, "a rate limit counts tokens; want the field tokens of callers")
		case o.Kind == RateLimit && o.Tokens < c.Tokens:
			r.fail(item.part("tokens"), "no call would ever be answered: each costs %d tokens, and %d are let through per minute", c.Tokens, o.Tokens)
		}
	}
}

// Bounds says why a scenario is too large to be played; nil: it is not.
func (s *Scenario) Bounds() error {
	_, err := s.bounds()
	return err
}

// bounds is Bounds with the field that is at fault, and the one below it.
func (s *Scenario) bounds() (at [2]string, err error) {
	c := s.Callers
	calls := float64(c.Number) * float64(s.Lasts) / float64(max(c.Every, 1))
	switch {
	case s.Lasts > maxLasts:
		return [2]string{"lasts"}, fmt.Errorf("%s is longer than a scenario may last, %s", ShowDuration(s.Lasts), ShowDuration(maxLasts))
	case c.Number > MaxCallers:
		return [2]string{"callers", "number"}, fmt.Errorf("%d callers are more than can be played, %d", c.Number, MaxCallers)
	case c.Every > 0 && calls > maxCalls:
		return [2]string{"callers", "every"}, fmt.Errorf("about %.0f calls are more than can be played, %d; "+
			"want fewer callers, longer times between their calls, or a shorter scenario", calls, maxCalls)
	}
	return at, nil
}

// part is the value of a field, or the node itself where it has none.
func (n *node) part(name string) *node {
	if v := n.field(name); v != nil {
		return v
	}
	return n
}

// item is an item of a list, or the node itself where it has none.
func (n *node) item(i int) *node {
	if i < len(n.items) {
		return n.items[i]
	}
	return n
}

// checked is a form whose values are looked at as a whole once they are read.
func checked[T any](f form[T], check func(*reader, *node, *T, *schema)) form[T] {
	read := f.read
	f.read = func(r *reader, n *node) (T, bool) {
		before := len(r.faults)
		v, ok := read(r, n)
		if n.kind == mapping || n.kind == null {
			check(r, n, &v, &f.schema)
		}
		return v, ok && len(r.faults) == before
	}
	return f
}

// wants says which of the fields that are needed are missing.
func wants[T any](r *reader, n *node, _ *T, s *schema) {
	for _, name := range s.Required {
		if n.field(name) == nil {
			r.fail(n, "the field %s is needed", name)
		}
	}
}

// whole is the form of a whole number.
func whole[T ~int | ~uint64](words string, least, most T) form[T] {
	low := float64(least)
	return scalar(schema{Type: "integer", Minimum: &low, words: words}, func(s string) (T, error) {
		n, err := strconv.ParseUint(s, 10, 63)
		switch {
		case err != nil || T(n) < least:
			return 0, errForm
		case T(n) > most:
			return 0, errRange
		}
		return T(n), nil
	}, func(v T) string { return fmt.Sprint(v) })
}

// rates is the form of a number of calls per time: 20/s. It is per second, and
// above zero.
func rates() form[float64] {
	return scalar(schema{Pattern: `^[0-9]+(\.[0-9]+)?/(s|min|h)$`, words: "a number per time above zero, such as 20/s, 90/min or 500/h"}, func(s string) (float64, error) {
		count, unit, _ := strings.Cut(s, "/")
		per, ok := map[string]time.Duration{"s": time.Second, "min": time.Minute, "h": time.Hour}[unit]
		n, err := strconv.ParseFloat(count, 64)
		switch {
		case !ok || !decimal(count) || err != nil:
			return 0, errForm
		case n == 0:
			return 0, errZero
		}
		return n / per.Seconds(), nil
	}, func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) + "/s" })
}

// ParseScenario reads the text of a file. Its errors are [Errors].
func ParseScenario(name string, data []byte) (Scenario, error) {
	src, data := sourceOf(name, data)
	s, r := read(src, data, scenarios())
	if err := r.done(); err != nil {
		return Scenario{}, err
	}
	s.Name = strings.Map(seen, bare(name))
	if s.Title == "" {
		s.Title = s.Name
	}
	return s, nil
}

// LoadScenario reads a file.
func LoadScenario(name string) (Scenario, error) {
	data, err := readFile(name)
	if err != nil {
		return Scenario{}, fmt.Errorf("%s: %w", name, reason(err))
	}
	return ParseScenario(name, data)
}

// ScenarioSchema gives the JSON Schema of the file, for editors.
func ScenarioSchema() []byte {
	root := scenarios().schema
	return document(&root, scenarioURL, "A scenario of ridethrough's lab")
}
