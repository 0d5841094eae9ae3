package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/internal/brief"
	"github.com/ridethrough/ridethrough/internal/operation/reload"
	"github.com/ridethrough/ridethrough/internal/terminal/printable"
)

// Scenario is an outage to simulate: the callers, the provider and its failures.
type Scenario struct {
	Name     string // of the file, without its extension
	Title    string
	About    string
	Lasts    time.Duration // the time in which calls start
	Seed     uint64        // of all random numbers
	Callers  Callers
	Others   Callers // a second group, whose waits are counted apart; Number 0: none
	Upstream Service
	Fleet    Fleet // the gateways among which the callers are divided; Number 0: one
	Outages  []Outage
	Policies []string // the names of those to simulate; none: all
}

// HasRate reports whether the provider has a limit of tokens per minute.
func (s *Scenario) HasRate() bool {
	return slices.ContainsFunc(s.Outages, func(o Outage) bool { return o.CountsTokens() && o.Kind != Window })
}

// Callers are the clients. Each makes one call at a time.
type Callers struct {
	Number   int
	Every    time.Duration // the average time from the end of a call to the next
	Patience time.Duration // until a caller disconnects; 0: no limit
	Tokens   int           // of a call
	Cached   float64       // the share of the tokens that a caller's next call reads from the provider's cache
}

// Service is the provider outside of outages.
type Service struct {
	Takes   time.Duration // the average time of an answer
	Refuses time.Duration // the time of a rejection
	Rate    float64       // accepted calls per second; 0: no limit
}

// Outage is one failure for some time.
type Outage struct {
	Kind     string // of OutageKinds
	From     time.Duration
	For      time.Duration
	Status   int           // of rejections
	Share    float64       // of calls that a partial outage rejects
	Down, Up time.Duration // the intervals of flapping
	Tokens   int           // that a rate limit or a token bucket allows per minute, and a window in all
	Window   time.Duration // the length of a window
	Rate     float64       // calls per second that a limited capacity accepts
	Slower   float64       // how many times as long an answer takes
	Slots    int           // calls that are answered at a time
	Reads    float64       // tokens of a prompt that are read in a second
}

// The kinds of outages.
const (
	Total     = "total"
	Partial   = "partial"
	Flapping  = "flapping"
	RateLimit = "rate-limit"
	Bucket    = "token-bucket"
	Window    = "window"
	BrownOut  = "brown-out"
	Limited   = "limited"
	Slots     = "slots"
)

// requiredByKind are the required fields of each kind of outage. A kind may have no fields that others require.
var requiredByKind = map[string][]string{
	Total:     nil,
	Partial:   {"share"},
	Flapping:  {"down", "up"},
	RateLimit: {"tokens"},
	Bucket:    {"tokens"},
	Window:    {"tokens", "window"},
	BrownOut:  {"slower"},
	Limited:   {"rate"},
	Slots:     {"slots", "reads"},
}

// OutageKinds returns the kinds in the order of the manual.
func OutageKinds() []string {
	return []string{Total, Partial, Flapping, RateLimit, Bucket, Window, BrownOut, Limited, Slots}
}

// CountsTokens reports whether it is a limit of tokens, which a provider states in its answers.
func (o *Outage) CountsTokens() bool {
	return o.Kind == RateLimit || o.Kind == Bucket || o.Kind == Window
}

// Limits of a scenario, so that it takes at most a minute and a gigabyte.
const (
	MaxCallers = 20_000
	maxCalls   = 20_000_000
	maxLasts   = 7 * day
)

// scenarios is the codec of the file.
func scenarios() codec[Scenario] {
	f := object(
		&schema{expected: "the fields of a scenario", Required: []string{"lasts", "callers", "outages"}},
		func(_ *reader, _ *node, s *Scenario) { s.Upstream = usualService },
		newField("title", printableText("a sentence"), func(s *Scenario) *string { return &s.Title }, fieldDoc{"Its title.", "", "the file's name"}),
		newField("about", printableText("sentences"), func(s *Scenario) *string { return &s.About }, fieldDoc{"What the scenario shows.", "", "nothing"}),
		newField("lasts", duration(), func(s *Scenario) *time.Duration { return &s.Lasts }, fieldDoc{"The time in which calls start. Calls in progress at its end are still completed.", "", "required"}),
		newField("seed", integer[uint64]("a number from 0", 0, 1<<53), func(s *Scenario) *uint64 { return &s.Seed }, fieldDoc{"The seed of all random numbers. The same seed gives the same figures.", "1", ""}),
		newField("callers", callers(), func(s *Scenario) *Callers { return &s.Callers }, fieldDoc{"The clients.", "", "required"}),
		newField("others", callers(), func(s *Scenario) *Callers { return &s.Others }, fieldDoc{"A second group of clients, whose waits are shown apart: persons. Those of the first group are agents then.", "", "none"}),
		newField("upstream", services(), func(s *Scenario) *Service { return &s.Upstream }, fieldDoc{"The provider.", "", "its defaults"}),
		newField("fleet", scenarioFleets(), func(s *Scenario) *Fleet { return &s.Fleet }, fieldDoc{"The gateways among which the callers are divided. Policies with `+fleet` have their circuit breakers act as one, and with `+admission+fleet` their limits too.", "", "one gateway"}),
		newField("outages", seq[*[]Outage]("a list of outages", outages()), func(s *Scenario) *[]Outage { return &s.Outages }, fieldDoc{"What fails, and when. Outages may overlap: the first one that rejects a call decides.", "", "required"}),
		newField("policies", seq[*[]string]("a list of policies", anyName("a policy's name")), func(s *Scenario) *[]string { return &s.Policies }, fieldDoc{"The policies to simulate, by the names that `ridethrough lab --policies` lists.", "", "all of them"}),
	)
	return checked(f, checkScenario)
}

// printableText is the codec of a text without control characters, since terminals and
// charts show it unchanged.
func printableText(words string) codec[string] {
	return scalar(&schema{expected: words}, func(s string) (string, error) {
		switch {
		case s == "":
			return "", errForm
		case printable.Text(s) != s:
			return "", errors.New("it contains an invisible character")
		}
		return s, nil
	}, itself)
}

func callers() codec[Callers] {
	return checked(object(
		&schema{name: "callers", about: "The clients. Each makes one call at a time.", expected: "the fields of callers", Required: []string{"number", "every"}}, nil,
		newField("number", integer("a number from 1", 1, 1<<31), func(c *Callers) *int { return &c.Number }, fieldDoc{"Their number, at most " + strconv.Itoa(MaxCallers) + ".", "", "required"}),
		newField("every", duration(), func(c *Callers) *time.Duration { return &c.Every }, fieldDoc{"The average time from the end of a call to the same caller's next one.", "", "required"}),
		newField("patience", duration(), func(c *Callers) *time.Duration { return &c.Patience }, fieldDoc{"How long a caller waits for an answer before it disconnects.", "", "no limit"}),
		newField("tokens", integer("a number from 1", 1, 1<<31), func(c *Callers) *int { return &c.Tokens }, fieldDoc{"The tokens that a call costs under a limit.", "", "none"}),
		newField("cached", share(), func(c *Callers) *float64 { return &c.Cached }, fieldDoc{"The share of the tokens that a call reads from the provider's cache, if the caller's previous call began at most five minutes before. A token bucket does not count it.", "", "none"}),
	), checkRequired)
}

// usualService is a provider of which a scenario says nothing.
var usualService = Service{Takes: 6 * time.Second, Refuses: 200 * time.Millisecond}

func services() codec[Service] {
	return object(
		&schema{name: "upstream", about: "The provider outside of outages.", expected: "the fields of an upstream"},
		func(_ *reader, _ *node, s *Service) { *s = usualService },
		newField("takes", duration(), func(s *Service) *time.Duration { return &s.Takes }, fieldDoc{"The average time of an answer. Single answers take from half to one and a half times as long.", "6s", ""}),
		newField("refuses", duration(), func(s *Service) *time.Duration { return &s.Refuses }, fieldDoc{"The time of a rejection.", "200ms", ""}),
		newField("rate", rates(), func(s *Service) *float64 { return &s.Rate }, fieldDoc{"The highest rate of calls that it accepts. It rejects others with status 529.", "", "no limit"}),
	)
}

func outages() codec[Outage] {
	return checked(object(
		&schema{name: "outage", about: "One failure for some time.", expected: "the fields of an outage", Required: []string{"kind", "for"}}, nil,
		newField("kind", oneOf("a kind of outage", OutageKinds()...), func(o *Outage) *string { return &o.Kind }, fieldDoc{"What fails: `total` rejects every call, `partial` a share of them, `flapping` all of them at intervals, `rate-limit` those above a number of tokens in each minute, `token-bucket` those above a number of tokens that is filled up again evenly in a minute, `window` those above a number of tokens in a longer time, as of a subscription, `limited` those above a rate. `brown-out` only slows answers down, and with `slots` as many calls are answered at a time, and the others wait for their turn, as at a server of one's own.", "", "required"}),
		newField("from", duration(), func(o *Outage) *time.Duration { return &o.From }, fieldDoc{"When it starts.", "", "at the start of the scenario"}),
		newField("for", duration(), func(o *Outage) *time.Duration { return &o.For }, fieldDoc{"How long it lasts.", "", "required"}),
		newField("status", integer("a status from 400 to 599", 400, 599), func(o *Outage) *int { return &o.Status }, fieldDoc{"The HTTP status of a rejection.", "", "529; 429 for a limit of tokens"}),
		newField("share", share(), func(o *Outage) *float64 { return &o.Share }, fieldDoc{"The share of calls that a partial outage rejects.", "", "required by partial"}),
		newField("down", duration(), func(o *Outage) *time.Duration { return &o.Down }, fieldDoc{"How long each down interval of flapping is.", "", "required by flapping"}),
		newField("up", duration(), func(o *Outage) *time.Duration { return &o.Up }, fieldDoc{"How long each up interval in between is.", "", "required by flapping"}),
		newField("tokens", integer("a number from 1", 1, 1<<40), func(o *Outage) *int { return &o.Tokens }, fieldDoc{"The tokens that a rate limit or a token bucket allows per minute, and a window in all. Answers state what is left, rejections when there is more.", "", "required by rate-limit, token-bucket and window"}),
		newField("window", duration(), func(o *Outage) *time.Duration { return &o.Window }, fieldDoc{"The length of a window. When one is over, the next begins.", "", "required by window"}),
		newField("rate", rates(), func(o *Outage) *float64 { return &o.Rate }, fieldDoc{"The rate of calls that a limited capacity accepts.", "", "required by limited"}),
		newField("slower", multiplier(), func(o *Outage) *float64 { return &o.Slower }, fieldDoc{"How many times as long an answer takes in a brown-out.", "", "required by brown-out"}),
		newField("slots", integer("a number from 1", 1, 1<<31), func(o *Outage) *int { return &o.Slots }, fieldDoc{"How many calls are answered at a time.", "", "required by slots"}),
		newField("reads", rates(), func(o *Outage) *float64 { return &o.Reads }, fieldDoc{"How many tokens of a prompt are read before an answer begins, without those in the cache.", "", "required by slots"}),
	), checkOutage)
}

// checkOutage reports missing and invalid fields of an outage.
func checkOutage(r *reader, n *node, o *Outage, s *schema) {
	checkRequired(r, n, o, s)
	if o.Kind == "" {
		return
	}
	for _, name := range requiredByKind[o.Kind] {
		if n.field(name) == nil {
			r.fail(n, "a %s outage needs the field %s", o.Kind, name)
		}
	}
	for _, e := range n.entries {
		if kinds := kindsWith(e.key.text); len(kinds) > 0 && !slices.Contains(kinds, o.Kind) {
			r.fail(e.value, "%s belongs to a %s outage, not to a %s one", e.key.text, orList(kinds), o.Kind)
		}
	}
	if v := n.field("status"); v != nil && (o.Kind == BrownOut || o.Kind == Slots) {
		r.fail(v, "%s rejects nothing, so it has no status", o.Kind)
	}
	if o.Status == 0 {
		if o.Status = 529; o.CountsTokens() {
			o.Status = 429
		}
	}
}

// kindsWith returns the kinds of outages that require a field.
func kindsWith(field string) (kinds []string) {
	for _, kind := range OutageKinds() {
		if slices.Contains(requiredByKind[kind], field) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// checkScenario reports what makes a scenario impossible to simulate.
func checkScenario(r *reader, n *node, s *Scenario, shape *schema) {
	checkRequired(r, n, s, shape)
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
	s.checkFleet(r, at("fleet"))
	if path, err := s.bounds(); err != nil {
		r.fail(at(path[0]).part(path[1]), "%v", err)
	}
	for i, o := range s.Outages {
		item := at("outages").item(i)
		switch {
		case s.Lasts > 0 && o.From+o.For > s.Lasts:
			r.fail(item, "this outage ends at %s, but the scenario lasts only %s", brief.Duration(o.From+o.For), brief.Duration(s.Lasts))
		case o.Kind == Slots && c.Tokens == 0:
			r.fail(item, "a %s outage reads prompts; set the field tokens of callers", o.Kind)
		case o.CountsTokens() && (c.Tokens == 0 || s.Others.Number > 0 && s.Others.Tokens == 0):
			r.fail(item, "a %s counts tokens; set the field tokens of callers", o.Kind)
		case o.CountsTokens() && o.Tokens < max(c.Tokens, s.Others.Tokens):
			r.fail(item.part("tokens"), "no call would ever be answered: each costs %d tokens, and %d are allowed", max(c.Tokens, s.Others.Tokens), o.Tokens)
		}
	}
}

// Bounds returns an error if the scenario is too large to simulate.
func (s *Scenario) Bounds() error {
	_, err := s.bounds()
	return err
}

// bounds returns the error of Bounds and the path of its field.
func (s *Scenario) bounds() (at [2]string, err error) {
	c := s.Callers
	calls := float64(c.Number) * float64(s.Lasts) / float64(max(c.Every, 1))
	if o := s.Others; o.Number > 0 {
		calls += float64(o.Number) * float64(s.Lasts) / float64(max(o.Every, 1))
	}
	switch {
	case s.Lasts > maxLasts:
		return [2]string{"lasts"}, fmt.Errorf("%s is longer than the longest scenario, %s", brief.Duration(s.Lasts), brief.Duration(maxLasts))
	case c.Number+s.Others.Number > MaxCallers:
		return [2]string{"callers", "number"}, fmt.Errorf("%d callers are more than the limit of %d", c.Number+s.Others.Number, MaxCallers)
	case c.Every > 0 && calls > maxCalls:
		return [2]string{"callers", "every"}, fmt.Errorf("about %.0f calls are more than the limit of %d; "+
			"use fewer callers, longer times between calls, or a shorter scenario", calls, maxCalls)
	}
	return at, nil
}

// part returns the value of a field, or the node itself if it has none.
func (n *node) part(name string) *node {
	if v := n.field(name); v != nil {
		return v
	}
	return n
}

// item returns an item of a list, or the node itself if it has none.
func (n *node) item(i int) *node {
	if i < len(n.items) {
		return n.items[i]
	}
	return n
}

// checked returns a codec that also checks each value after all its fields were read.
func checked[P any](f codecOf[P], check func(*reader, *node, P, *schema)) codecOf[P] {
	read := f.read
	f.read = func(r *reader, n *node, to P) bool {
		before := len(r.faults)
		ok := read(r, n, to)
		if n.kind == mapping || n.kind == null {
			check(r, n, to, f.schema)
		}
		return ok && len(r.faults) == before
	}
	return f
}

// checkRequired reports missing required fields.
func checkRequired[P any](r *reader, n *node, _ P, s *schema) {
	for _, name := range s.Required {
		if n.field(name) == nil {
			r.fail(n, "the field %s is required", name)
		}
	}
}

// integer is the codec of an integer.
func integer[T ~int | ~uint64](words string, least, most T) codec[T] {
	low := float64(least)
	return scalar(&schema{Type: "integer", Minimum: &low, expected: words}, func(s string) (T, error) {
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

// rates is the codec of a rate above zero, such as 20/s. Its value is per second.
func rates() codec[float64] {
	return scalar(&schema{Pattern: `^[0-9]+(\.[0-9]+)?/(s|min|h)$`, expected: "a number per time above zero, such as 20/s, 90/min or 500/h"}, func(s string) (float64, error) {
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

// ParseScenario parses the text of a file. Its errors are [Errors].
func ParseScenario(name string, data []byte) (Scenario, error) {
	src, data := sourceOf(name, data)
	var s Scenario
	r := read(src, data, scenarios(), &s)
	if err := r.done(); err != nil {
		return Scenario{}, err
	}
	s.Name = printable.Text(baseName(name))
	if s.Title == "" {
		s.Title = s.Name
	}
	return s, nil
}

// LoadScenario reads and parses a file.
func LoadScenario(name string) (Scenario, error) {
	data, err := reload.ReadFile(name)
	if err != nil {
		return Scenario{}, fmt.Errorf("%s: %w", name, reload.Pathless(err))
	}
	return ParseScenario(name, data)
}

// ScenarioSchema returns the JSON Schema of the file, for editors.
func ScenarioSchema() []byte {
	root := scenarios().schema
	return document(root, scenarioURL, "A scenario of ridethrough's lab")
}
