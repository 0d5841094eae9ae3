package config

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/policy"
)

// Strategy is the retry behavior of another program.
type Strategy struct {
	_ struct{} `want:"the fields of a strategy"`

	Name          string        `yaml:",name"`
	Policy        policy.Policy // of the file's rule
	rule          rule          `yaml:"policy" doc:"Its backoff and retries." required:"true"`
	Title         string        `yaml:"title" want:"a name" doc:"Its title." required:"true"`
	Statuses      []int         `yaml:"statuses" list:"a list of statuses" as:"status" doc:"The statuses that it retries." required:"true"`
	Fewer         []Fewer       `yaml:"fewer" list:"a list of status and retries" doc:"The statuses that it retries less often." without:"nothing"`
	MaxRetryAfter time.Duration `yaml:"max-retry-after" doc:"The longest Retry-After that it honors." without:"it honors none"`
	Beyond        string        `yaml:"beyond" want:"what it does" enum:"ignores ends shortens" doc:"What it does with a longer Retry-After." default:"ignores"`
	Timeout       time.Duration `yaml:"timeout" doc:"The timeout of each try." without:"none"`
	Source        string        `yaml:"source" want:"a place" doc:"Where the numbers are published." required:"true"`
	Seen          string        `yaml:"seen" want:"a version and a date" doc:"The version, and the date of reading." required:"true"`
	Note          string        `yaml:"note" want:"sentences" doc:"Remarks." without:"nothing"`
	Doubt         string        `yaml:"doubt" want:"sentences" doc:"What could not be verified." without:"nothing"`
}

// Fewer limits the retries after a status.
type Fewer struct {
	_ struct{} `want:"status and retries"`

	Status  int `yaml:"status" want:"a status from 400 to 599" min:"400" max:"599" doc:"The status." required:"true"`
	Retries int `yaml:"retries" want:"a number from 0" min:"0" max:"1000" doc:"The number of retries." required:"true"`
}

// Reactions to a Retry-After that is too long.
const (
	BeyondIgnores  = "ignores"
	BeyondEnds     = "ends"
	BeyondShortens = "shortens"
)

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
	var all []Strategy
	err := read(name, data, &all, `list:"strategies by name" keys:"policy-name"`).done()
	for i := range all {
		all[i].Policy = all[i].rule.policy()
		all[i].Beyond = cmp.Or(all[i].Beyond, BeyondIgnores)
	}
	return all, err
}

func parseRule(name string, data []byte) (rule, error) {
	var own rule
	err := read(name, data, &own, "").done()
	return own, err
}

// LoadPolicy reads a file with the fields of one policy. It also returns a warning about the policy, or "".
func LoadPolicy(name string) (policy.Policy, string, error) {
	data, err := readFile(name)
	if err != nil {
		return policy.Policy{}, "", err
	}
	own, err := parseRule(name, data)
	if err != nil {
		return policy.Policy{}, "", err
	}
	return own.policy(), policyWarning(own.policy()), nil
}

// Policies returns the names of all policies: the presets, none, and those of the file.
func (c *Config) Policies() []string { return c.policyNames() }

func baseName(name string) string {
	return strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
}
