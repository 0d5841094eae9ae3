package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/internal/operation/reload"
	"github.com/ridethrough/ridethrough/policy"
)

// Strategy is the retry behavior of another program.
type Strategy struct {
	Name          string
	Title         string
	Policy        policy.Policy
	Statuses      []int         // HTTP statuses that it retries
	Fewer         []Fewer       // statuses that it retries less often
	MaxRetryAfter time.Duration // the longest Retry-After that it honors; 0: it honors none
	Beyond        string        // its reaction to a longer one: BeyondIgnores, BeyondEnds or BeyondShortens
	Timeout       time.Duration // of each try; 0: none
	Source        string        // where the numbers are published
	Seen          string        // the version of the source, and when it was read
	Note          string        // remarks
	Doubt         string        // what could not be verified; "": nothing
}

// Fewer limits the retries after a status.
type Fewer struct{ Status, Retries int }

// Reactions to a Retry-After that is too long.
const (
	BeyondIgnores  = "ignores"
	BeyondEnds     = "ends"
	BeyondShortens = "shortens"
)

// strategies is the codec of a file of strategies.
func strategies() codec[names[Strategy]] {
	one := checked(object(
		&schema{name: "strategy", expected: "the fields of a strategy", Required: []string{"title", "policy", "statuses", "source", "seen"}}, nil,
		newField("title", anyName("a name"), func(s *Strategy) *string { return &s.Title }, fieldDoc{"Its title.", "", "required"}),
		newField("policy", strategyPolicy(), func(s *Strategy) *policy.Policy { return &s.Policy }, fieldDoc{"Its backoff and retries.", "", "required"}),
		newField("statuses", seq[*[]int]("a list of statuses", statuses()), func(s *Strategy) *[]int { return &s.Statuses }, fieldDoc{"The statuses that it retries.", "", "required"}),
		newField("fewer", seq[*[]Fewer]("a list of status and retries", fewer()), func(s *Strategy) *[]Fewer { return &s.Fewer }, fieldDoc{"The statuses that it retries less often.", "", "nothing"}),
		newField("max-retry-after", duration(), func(s *Strategy) *time.Duration { return &s.MaxRetryAfter }, fieldDoc{"The longest Retry-After that it honors.", "", "it honors none"}),
		newField("beyond", oneOf("what it does", BeyondIgnores, BeyondEnds, BeyondShortens), func(s *Strategy) *string { return &s.Beyond }, fieldDoc{"What it does with a longer Retry-After.", BeyondIgnores, ""}),
		newField("timeout", duration(), func(s *Strategy) *time.Duration { return &s.Timeout }, fieldDoc{"The timeout of each try.", "", "none"}),
		newField("source", anyName("a place"), func(s *Strategy) *string { return &s.Source }, fieldDoc{"Where the numbers are published.", "", "required"}),
		newField("seen", anyName("a version and a date"), func(s *Strategy) *string { return &s.Seen }, fieldDoc{"The version, and when it was read.", "", "required"}),
		newField("note", anyName("sentences"), func(s *Strategy) *string { return &s.Note }, fieldDoc{"Remarks.", "", "nothing"}),
		newField("doubt", anyName("sentences"), func(s *Strategy) *string { return &s.Doubt }, fieldDoc{"What could not be verified.", "", "nothing"}),
	), checkRequired)
	return byName[*names[Strategy]]("strategies by name", policyName(), one)
}

// strategyPolicy is the codec of a policy without a name.
func strategyPolicy() codec[policy.Policy] {
	f := policyFields()
	return codec[policy.Policy]{
		schema: f.schema,
		read: func(r *reader, n *node, to *policy.Policy) bool {
			var v rule
			ok := f.read(r, n, &v)
			*to = v.Policy
			return ok
		},
		show: func(p *policy.Policy) *node { return f.show(&rule{Policy: *p}) },
	}
}

func fewer() codec[Fewer] {
	return checked(object(
		&schema{expected: "status and retries", Required: []string{"status", "retries"}}, nil,
		newField("status", integer("a status from 400 to 599", 400, 599), func(f *Fewer) *int { return &f.Status }, fieldDoc{"The status.", "", "required"}),
		newField("retries", integer("a number from 0", 0, 1000), func(f *Fewer) *int { return &f.Retries }, fieldDoc{"The number of retries.", "", "required"}),
	), checkRequired)
}

// allServer is the lowest of the statuses that 5xx stands for.
const allServer = 500

// statuses is the codec of a status, or 5xx.
func statuses() codec[int] {
	f := scalar(&schema{expected: "a status, or 5xx"}, nil, strconv.Itoa)
	f.read = func(r *reader, n *node, to *int) bool {
		if n.text == "5xx" {
			*to = -allServer
			return true
		}
		status, err := strconv.Atoi(n.text)
		if err != nil || status < 400 || status > 599 {
			r.mismatch(n, f.schema, "")
			return false
		}
		*to = status
		return true
	}
	return f
}

// Retries reports whether the strategy retries after the nth failure, which has this status.
func (s *Strategy) Retries(status, n int) bool {
	for _, f := range s.Fewer {
		if f.Status == status && n > f.Retries {
			return false
		}
	}
	return slices.Contains(s.Statuses, status) || status >= allServer && slices.Contains(s.Statuses, -allServer)
}

// ParseStrategies parses the text of a file of strategies by name.
func ParseStrategies(name string, data []byte) ([]Strategy, error) {
	src, data := sourceOf(name, data)
	var all names[Strategy]
	r := read(src, data, strategies(), &all)
	if err := r.done(); err != nil {
		return nil, err
	}
	made := make([]Strategy, len(all))
	for i, one := range all {
		made[i] = one.value
		made[i].Name = one.name
		if made[i].Beyond == "" {
			made[i].Beyond = BeyondIgnores
		}
	}
	return made, nil
}

// parseRule parses the text of a file with the fields of one policy.
func parseRule(name string, data []byte) (rule, error) {
	src, data := sourceOf(name, data)
	var own rule
	return own, read(src, data, policyFields(), &own).done()
}

// LoadPolicy reads a file with the fields of one policy. The text is a warning about it; "": none.
func LoadPolicy(name string) (policy.Policy, string, error) {
	data, err := reload.ReadFile(name)
	if err != nil {
		return policy.Policy{}, "", fmt.Errorf("%s: %w", name, reload.Pathless(err))
	}
	own, err := parseRule(name, data)
	if err != nil {
		return policy.Policy{}, "", err
	}
	return own.Policy, policyWarning(own.Policy), nil
}

// Policies returns the names of all policies: the presets, none, and those of the file.
func (c *Config) Policies() []string { return c.policyNames() }

// baseName returns the name of a file without its directory and extension.
func baseName(name string) string {
	return strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
}
