package config_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/internal/operation/config"
)

const (
	labManual    = "../../../docs/lab.md"
	scenarioFile = "../../../docs/scenario.schema.json"
)

const flaky = `title: A flaky hour
lasts: 2h
callers: {number: 50, every: 90s, patience: 10m, tokens: 1000}
upstream: {takes: 3s, rate: 90/min}
outages:
  - {kind: total, from: 10m, for: 5m, status: 503}
  - {kind: partial, from: 15m, for: 5m, share: 30%}
  - {kind: flapping, from: 20m, for: 20m, down: 1m, up: 90s}
  - {kind: rate-limit, from: 40m, for: 10m, tokens: 30000}
  - {kind: brown-out, from: 50m, for: 10m, slower: 12.5}
  - {kind: limited, from: 1h, for: 10m, rate: 2/s}
policies: [patient+breaker, codex]
`

func TestParseScenario_AllFields(t *testing.T) {
	s, err := config.ParseScenario("dir/flaky.yaml", []byte(flaky))
	if err != nil {
		t.Fatalf("parse scenario: %v", err)
	}
	m := time.Minute
	want := config.Scenario{
		Name: "flaky", Title: "A flaky hour", Lasts: 2 * time.Hour, Seed: 1,
		Callers:  config.Callers{Number: 50, Every: 90 * time.Second, Patience: 10 * m, Tokens: 1000},
		Upstream: config.Service{Takes: 3 * time.Second, Refuses: 200 * time.Millisecond, Rate: 1.5},
		Outages: []config.Outage{
			{Kind: config.Total, From: 10 * m, For: 5 * m, Status: 503},
			{Kind: config.Partial, From: 15 * m, For: 5 * m, Status: 529, Share: 0.3},
			{Kind: config.Flapping, From: 20 * m, For: 20 * m, Status: 529, Down: m, Up: 90 * time.Second},
			{Kind: config.RateLimit, From: 40 * m, For: 10 * m, Status: 429, Tokens: 30000},
			{Kind: config.BrownOut, From: 50 * m, For: 10 * m, Status: 529, Slower: 12.5},
			{Kind: config.Limited, From: 60 * m, For: 10 * m, Status: 529, Rate: 2},
		},
		Policies: []string{"patient+breaker", "codex"},
	}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("scenario (-want +got):\n%s", diff)
	}
}

// scenarioMistakes are scenarios and their errors. No schema can express those
// marked beyond.
var scenarioMistakes = []struct {
	text, want string
	beyond     bool
}{
	{"", "1:1: the field lasts is required", false},
	{"lasts: 1h\ncallers: {number: 1}\noutages: [{kind: total, for: 1m}]", "2:10: the field every is required", false},
	{"lasts: 1h\ncallers: {number: 1, every: 1m}\noutages: []", "3:10: an empty list; want a list of outages", false},
	{"title: \"a\\e[31m\"\n" + body("{kind: total, for: 1m}"), `1:8: "a\x1b[31m": it contains an invisible character; want a sentence`, true},
	{"about: \"a\\u202eb\"\n" + body("{kind: total, for: 1m}"), `1:8: "a\u202eb": it contains an invisible character; want sentences`, true},
	{body("{kind: totally, for: 1m}"), `3:18: "totally"; want a kind of outage: total, partial, flapping, rate-limit, token-bucket, window, brown-out, limited or slots`, false},
	{body("{kind: total}"), "3:11: the field for is required", false},
	{body("{kind: partial, for: 1m}"), "3:11: a partial outage needs the field share", true},
	{body("{kind: total, for: 1m, share: 3%}"), "3:41: share belongs to a partial outage, not to a total one", true},
	{body("{kind: total, for: 1m, status: 600}"), `3:42: "600": it is too large; want a status from 400 to 599`, false},
	{body("{kind: total, for: 1m, status: 200}"), `3:42: "200"; want a status from 400 to 599`, false},
	{body("{kind: brown-out, for: 1m, slower: 3, status: 500}"), "3:57: brown-out rejects nothing, so it has no status", true},
	{body("{kind: slots, for: 1m, slots: 3, reads: 100/s, status: 500}"), "3:66: slots rejects nothing, so it has no status", true},
	{body("{kind: limited, for: 1m, rate: 3}"), `3:42: "3"; want a number per time above zero, such as 20/s, 90/min or 500/h`, false},
	{body("{kind: limited, for: 1m, rate: 0/s}"), `3:42: "0/s": it is zero; want a number per time above zero, such as 20/s, 90/min or 500/h`, true},
	{body("{kind: total, from: 30m, for: 31m}"), "3:11: this outage ends at 1h1m, but the scenario lasts only 1h", true},
	{body("{kind: window, for: 1m, tokens: 5}"), "3:11: a window outage needs the field window", true},
	{body("{kind: total, for: 1m, tokens: 5}"), "3:42: tokens belongs to a rate-limit, token-bucket or window outage, not to a total one", true},
	{body("{kind: rate-limit, for: 1m, tokens: 5}"), "3:11: a rate-limit counts tokens; set the field tokens of callers", true},
	{body("{kind: slots, for: 1m, slots: 3, reads: 100/s}"), "3:11: a slots outage reads prompts; set the field tokens of callers", true},
	{"lasts: 1h\ncallers: {number: 1, every: 1m, tokens: 9}\noutages: [{kind: rate-limit, for: 1m, tokens: 5}]", "3:47: no call would ever be answered: each costs 9 tokens, and 5 are allowed", true},
	{"lasts: 1h\ncallers: {number: 20001, every: 1h}\noutages: [{kind: total, for: 1m}]", "2:19: 20001 callers are more than the limit of 20000", true},
	{"lasts: 7d\ncallers: {number: 20000, every: 1m}\noutages: [{kind: total, for: 1m}]", "2:33: about 201600000 calls are more than the limit of 20000000; use fewer callers, longer times between calls, or a shorter scenario", true},
	{"lasts: 8d\ncallers: {number: 1, every: 1m}\noutages: [{kind: total, for: 1m}]", "1:8: 192h is longer than the longest scenario, 168h", true},
	{body("{kind: total, for: 1m}") + "\ncaller: 3", `4:1: unknown field "caller"; did you mean callers?`, false},
}

func body(outage string) string {
	return "lasts: 1h\ncallers: {number: 1, every: 1m}\noutages: [" + outage + "]"
}

func TestParseScenario_ProviderHasItsDefaults(t *testing.T) {
	const short = "lasts: 1h\ncallers: {number: 1, every: 1m}\noutages: [{kind: total, for: 1m}]\n"
	want := config.Service{Takes: 6 * time.Second, Refuses: 200 * time.Millisecond}
	for _, file := range []string{short, short + "upstream:\n"} {
		if s, err := config.ParseScenario("short", []byte(file)); err != nil || s.Upstream != want {
			t.Errorf("scenario %q: got %+v, error %v; want %+v", file, s.Upstream, err, want)
		}
	}
}

func TestParseScenario_MistakesHavePositions(t *testing.T) {
	for _, tt := range scenarioMistakes {
		_, err := config.ParseScenario("s.yaml", []byte(tt.text))
		if err == nil || !strings.HasPrefix(err.Error(), "s.yaml:"+tt.want) {
			t.Errorf("%s\n got %v\nwant %s", tt.text, err, tt.want)
		}
	}
}

func TestScenarioSchema_MatchesParse(t *testing.T) {
	schema := resolve(t, config.ScenarioSchema())
	for _, tt := range scenarioMistakes {
		if wrong := check(schema, tt.text); (wrong == nil) != tt.beyond {
			t.Errorf("%s: the schema says %v", tt.text, wrong)
		}
	}
	examples := append(strings.Split(text(t, labManual), "```yaml\n")[1:], flaky+"```")
	shapes, err := os.ReadDir("../../lab/gallery")
	if err != nil || len(shapes) < 5 {
		t.Fatalf("gallery has %d entries, want at least 5: %v", len(shapes), err)
	}
	for _, shape := range shapes {
		examples = append(examples, text(t, "../../lab/gallery/"+shape.Name()))
	}
	for _, example := range examples {
		example, _, _ = strings.Cut(example, "```")
		if wrong := check(schema, example); wrong != nil {
			t.Errorf("the schema refuses: %v in\n%s", wrong, example)
		}
		if _, err := config.ParseScenario("s.yaml", []byte(example)); err != nil {
			t.Errorf("%v in\n%s", err, example)
		}
	}
}

func TestScenarioManualAndSchema_MatchCode(t *testing.T) {
	prose, _, _ := strings.Cut(text(t, labManual), marker)
	page := strings.TrimSpace(prose+marker+"\n"+config.ScenarioReference()) + "\n"
	for name, want := range map[string]string{labManual: page, scenarioFile: string(config.ScenarioSchema())} {
		if *update {
			if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
				t.Fatalf("write file: %v", err)
			}
		}
		if text(t, name) != want {
			t.Errorf("%s differs; regenerate with: go test ./internal/operation/config -run Manual -update", name)
		}
	}
}

func TestStrategy_RetriesListedFaultsUpToLimit(t *testing.T) {
	all, err := config.ParseStrategies("s.yaml", []byte(`one:
  title: One
  policy: {backoff: [1s], retries: 9}
  statuses: [408, 5xx]
  fewer: [{status: 529, retries: 2}]
  source: here
  seen: now
`))
	if err != nil {
		t.Fatalf("parse strategies: %v", err)
	}
	s := all[0]
	if s.Name != "one" || s.Policy.Retries != 9 || s.Beyond != config.BeyondIgnores {
		t.Errorf("policy of a program: got %+v, want the name one, 9 retries, and hints beyond the limit ignored", s)
	}
	for _, tt := range []struct {
		status, n int
		again     bool
	}{{408, 1, true}, {429, 1, false}, {500, 9, true}, {529, 2, true}, {529, 3, false}, {404, 1, false}} {
		if got := s.Retries(tt.status, tt.n); got != tt.again {
			t.Errorf("failure %d with %d is tried again: %v", tt.n, tt.status, got)
		}
	}
	_, err = config.ParseStrategies("s.yaml", []byte("one: {title: One, statuses: [99]}"))
	if err == nil || !strings.Contains(err.Error(), "and 3 more") {
		t.Errorf("a strategy without source, version and policy gives %v", err)
	}
}

func FuzzParseScenario(f *testing.F) {
	f.Add([]byte(flaky))
	for _, tt := range scenarioMistakes {
		f.Add([]byte(tt.text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := config.ParseScenario("s.yaml", data)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "s.yaml:") {
				t.Fatalf("%v has no place", err)
			}
			return
		}
		if s.Callers.Number < 1 || s.Callers.Number > config.MaxCallers || s.Lasts <= 0 || len(s.Outages) == 0 {
			t.Fatalf("%+v can be played", s)
		}
		if _, err := json.Marshal(s); err != nil {
			t.Fatalf("marshal: %v", err)
		}
	})
}
