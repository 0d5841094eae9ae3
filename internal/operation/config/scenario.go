package config

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/ridethrough/ridethrough/internal/terminal/printable"
	"github.com/ridethrough/ridethrough/internal/text"
)

// Scenario is an outage to simulate: the callers, the provider and its failures.
type Scenario struct {
	_ struct{} `want:"the fields of a scenario"`

	Name     string        // of the file, without its extension
	Title    string        `yaml:"title" as:"sentence" want:"a sentence" doc:"Its title." without:"the file's name"`
	About    string        `yaml:"about" as:"sentence" want:"sentences" doc:"What the scenario shows." without:"nothing"`
	Lasts    time.Duration `yaml:"lasts" doc:"The time in which calls start. Calls in progress at its end are still completed." required:"true"`
	Seed     uint64        `yaml:"seed" want:"a number from 0" min:"0" max:"9007199254740992" doc:"The seed of all random numbers. The same seed gives the same figures." default:"1"`
	Callers  Callers       `yaml:"callers" doc:"The clients." required:"true"`
	Others   Callers       `yaml:"others" doc:"A second group of clients, whose waits are shown separately: people. The first group are agents then." without:"none"`
	Upstream Service       `yaml:"upstream" doc:"The provider." without:"its defaults"`
	Fleet    Fleet         `yaml:"fleet" doc:"The gateways among which the callers are divided. Policies with ‘+fleet’ have their circuit breakers act as one, and with ‘+admission+fleet’ their limits too." without:"one gateway"`
	Outages  []Outage      `yaml:"outages" list:"a list of outages" doc:"What fails, and when. Outages may overlap: the first one that rejects a call decides." required:"true"`
	Policies []string      `yaml:"policies" list:"a list of policies" want:"a policy's name" doc:"The policies to simulate, by the names that ‘ridethrough lab --policies’ lists." without:"all of them"`
}

// HasRate reports whether the provider has a limit of tokens per minute.
func (s *Scenario) HasRate() bool {
	return slices.ContainsFunc(s.Outages, func(o Outage) bool { return o.CountsTokens() && o.Kind != Window })
}

// Callers are the clients. Each makes one call at a time.
type Callers struct {
	_ struct{} `name:"callers" about:"The clients. Each makes one call at a time." want:"the fields of callers"`

	Number   int           `yaml:"number" want:"a number from 1" min:"1" max:"2147483648" doc:"Their number, at most 20000." required:"true"`
	Every    time.Duration `yaml:"every" doc:"The average time from the end of a call to the same caller's next one." required:"true"`
	Patience time.Duration `yaml:"patience" doc:"How long a caller waits for an answer before it disconnects." without:"no limit"`
	Tokens   int           `yaml:"tokens" want:"a number from 1" min:"1" max:"2147483648" doc:"The tokens that a call costs under a limit." without:"none"`
	Cached   float64       `yaml:"cached" as:"share" doc:"The share of the tokens that a call reads from the provider's cache, if the caller's previous call began at most five minutes before. A token bucket does not count it." without:"none"`
}

// Service is the provider outside of outages.
type Service struct {
	_ struct{} `name:"upstream" about:"The provider outside of outages." want:"the fields of an upstream"`

	Takes   time.Duration `yaml:"takes" doc:"The average time of an answer. Single answers take from half to one and a half times as long." default:"6s"`
	Refuses time.Duration `yaml:"refuses" doc:"The time of a rejection." default:"200ms"`
	Rate    float64       `yaml:"rate" as:"rate" doc:"The highest rate of calls that it accepts. It rejects others with status 529." without:"no limit"`
}

// Outage is one failure for some time.
type Outage struct {
	_ struct{} `name:"outage" about:"One failure, for a period." want:"the fields of an outage"`

	Kind   string        `yaml:"kind" as:"outage" doc:"What fails: ‘total’ rejects every call, ‘partial’ a share of them, ‘flapping’ all of them at intervals, ‘rate-limit’ those above a number of tokens in each minute, ‘token-bucket’ those above a number of tokens that is filled up again evenly in a minute, ‘window’ those above a number of tokens in a longer time, as of a subscription, ‘limited’ those above a rate. ‘brown-out’ only slows answers down, and with ‘slots’ as many calls are answered at a time, and the others wait for their turn, as at a server of one's own." required:"true"`
	From   time.Duration `yaml:"from" doc:"When it starts." without:"at the start of the scenario"`
	For    time.Duration `yaml:"for" doc:"How long it lasts." required:"true"`
	Status int           `yaml:"status" want:"a status from 400 to 599" min:"400" max:"599" doc:"The HTTP status of a rejection." without:"529; 429 for a limit of tokens"`
	Share  float64       `yaml:"share" as:"share" doc:"The share of calls that a partial outage rejects." without:"required by partial"`
	Down   time.Duration `yaml:"down" doc:"How long each down interval of flapping is." without:"required by flapping"`
	Up     time.Duration `yaml:"up" doc:"How long each up interval in between is." without:"required by flapping"`
	Tokens int           `yaml:"tokens" want:"a number from 1" min:"1" max:"1099511627776" doc:"The tokens that a rate limit or a token bucket allows per minute, and a window in total. Answers state the remaining tokens, rejections the time of the next ones." without:"required by rate-limit, token-bucket and window"`
	Window time.Duration `yaml:"window" doc:"The length of a window. When one is over, the next begins." without:"required by window"`
	Rate   float64       `yaml:"rate" as:"rate" doc:"The rate of calls that a limited capacity accepts." without:"required by limited"`
	Slower float64       `yaml:"slower" as:"multiplier" doc:"By what factor a brown-out slows answers down." without:"required by brown-out"`
	Slots  int           `yaml:"slots" want:"a number from 1" min:"1" max:"2147483648" doc:"How many calls are answered at a time." without:"required by slots"`
	Reads  float64       `yaml:"reads" as:"rate" doc:"How many tokens of a prompt are read before an answer begins, without those in the cache." without:"required by slots"`
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

// requiredByKind are the required fields of each kind of outage. A kind may not have fields that only others
// require.
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

// CountsTokens reports whether the outage is a limit of tokens, which a provider states in its answers.
func (o *Outage) CountsTokens() bool {
	return o.Kind == RateLimit || o.Kind == Bucket || o.Kind == Window
}

// Limits of a scenario, so that it takes at most a minute and a gigabyte.
const (
	MaxCallers = 20_000
	maxCalls   = 20_000_000
	maxLasts   = 7 * day
)

func (s *Scenario) start(r *reader, n *node) {
	s.Seed = 1
	s.Upstream.start(r, n)
}

func (s *Service) start(*reader, *node) {
	s.Takes, s.Refuses = 6*time.Second, 200*time.Millisecond
}

func (o *Outage) check(r *reader, n *node) {
	for _, name := range requiredByKind[o.Kind] {
		if n.field(name) == nil {
			r.fail(n, "a %s outage needs the field %s", o.Kind, name)
		}
	}
	for _, e := range n.entries {
		if kinds := kindsWith(e.key.text); len(kinds) > 0 && !slices.Contains(kinds, o.Kind) {
			r.fail(e.value, "%s belongs to a %s outage, not to a %s one", e.key.text, text.Or(kinds), o.Kind)
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

func kindsWith(field string) (kinds []string) {
	for _, kind := range OutageKinds() {
		if slices.Contains(requiredByKind[kind], field) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

func (s *Scenario) check(r *reader, _ *node) {
	say := func(path, format string, args ...any) {
		r.faults = append(r.faults, r.fault(r.at[path], format, args...))
	}
	for i, p := range s.Fleet.Partitions {
		if p.Away >= s.Fleet.Number {
			say(fmt.Sprintf("fleet.partitions.%d", i), "%d of %d gateways are no part of them", p.Away, s.Fleet.Number)
		}
	}
	if path, err := s.bounds(); err != nil {
		say(path, "%v", err)
	}
	for i, o := range s.Outages {
		c, item := s.Callers, fmt.Sprintf("outages.%d", i)
		switch {
		case o.From+o.For > s.Lasts:
			say(item, "this outage ends at %s, but the scenario lasts only %s", text.Duration(o.From+o.For), text.Duration(s.Lasts))
		case o.Kind == Slots && c.Tokens == 0:
			say(item, "a %s outage reads prompts; set the field tokens of callers", o.Kind)
		case o.CountsTokens() && (c.Tokens == 0 || s.Others.Number > 0 && s.Others.Tokens == 0):
			say(item, "a %s counts tokens; set the field tokens of callers", o.Kind)
		case o.CountsTokens() && o.Tokens < max(c.Tokens, s.Others.Tokens):
			say(item+".tokens", "no call would ever be answered: each costs %d tokens, and %d are allowed", max(c.Tokens, s.Others.Tokens), o.Tokens)
		}
	}
}

// Bounds returns an error if the scenario is too large to simulate.
func (s *Scenario) Bounds() error {
	_, err := s.bounds()
	return err
}

// bounds returns the error of Bounds and the path of its field.
func (s *Scenario) bounds() (path string, err error) {
	c := s.Callers
	calls := float64(c.Number) * float64(s.Lasts) / float64(max(c.Every, 1))
	if o := s.Others; o.Number > 0 {
		calls += float64(o.Number) * float64(s.Lasts) / float64(max(o.Every, 1))
	}
	switch {
	case s.Lasts > maxLasts:
		return "lasts", fmt.Errorf("%s is longer than the longest scenario, %s", text.Duration(s.Lasts), text.Duration(maxLasts))
	case c.Number+s.Others.Number > MaxCallers:
		return "callers.number", fmt.Errorf("%d callers are more than the limit of %d", c.Number+s.Others.Number, MaxCallers)
	case c.Every > 0 && calls > maxCalls:
		return "callers.every", fmt.Errorf("about %.0f calls are more than the limit of %d; "+
			"use fewer callers, longer times between calls, or a shorter scenario", calls, maxCalls)
	}
	return "", nil
}

// ParseScenario parses the text of a file. Its errors are [Errors].
func ParseScenario(name string, data []byte) (Scenario, error) {
	var s Scenario
	r := read(name, data, &s, "")
	if err := r.done(); err != nil {
		return Scenario{}, err
	}
	s.Name = printable.Text(baseName(name))
	s.Title = cmp.Or(s.Title, s.Name)
	return s, nil
}

// LoadScenario reads and parses a file.
func LoadScenario(name string) (Scenario, error) {
	data, err := readFile(name)
	if err != nil {
		return Scenario{}, err
	}
	return ParseScenario(name, data)
}

// Fleet is several gateways, and the network between them.
type Fleet struct {
	_ struct{} `name:"fleet" about:"Several gateways, and the network between them." want:"the fields of a fleet"`

	Number     int           `yaml:"number" want:"a number from 2" min:"2" max:"100" doc:"Their number, at most 100." required:"true"`
	Delay      time.Duration `yaml:"delay" doc:"How long a message between them takes on average, from half to one and a half times as long." default:"5ms"`
	Skew       time.Duration `yaml:"skew" doc:"The clock difference between the first and the last." without:"not at all"`
	Partitions []Partition   `yaml:"partitions" list:"a list of partitions" doc:"When some of them cannot reach the others. All of them reach the provider." without:"never"`
}

// Partition is a period in which some gateways cannot reach the others.
type Partition struct {
	_ struct{} `name:"partition" about:"A period in which some gateways cannot reach the others." want:"the fields of a partition"`

	From time.Duration `yaml:"from" doc:"When it starts." without:"at the start of the scenario"`
	For  time.Duration `yaml:"for" doc:"How long it lasts." required:"true"`
	Away int           `yaml:"away" want:"a number from 1" min:"1" max:"100" doc:"How many gateways are cut off from the others, and still reach one another." required:"true"`
}

func (f *Fleet) start(*reader, *node) { f.Delay = 5 * time.Millisecond }
