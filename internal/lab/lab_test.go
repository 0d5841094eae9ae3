package lab_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/internal/lab"
	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/policy"
)

// scenario returns a scenario of two hundred callers and one hour.
func scenario(outages ...config.Outage) config.Scenario {
	return config.Scenario{
		Name: "test", Title: "A <test>", Lasts: time.Hour, Seed: 1,
		Callers:  config.Callers{Number: 200, Every: time.Minute},
		Upstream: config.Service{Takes: 2 * time.Second, Refuses: 100 * time.Millisecond},
		Outages:  outages,
	}
}

// run simulates a scenario with strategies by their names.
func run(t testing.TB, s config.Scenario, names ...string) *lab.Report {
	t.Helper()
	all, err := lab.Choose(names)
	if err != nil {
		t.Fatalf("choose: %v", err)
	}
	r, err := lab.Run(t.Context(), s, all, nil)
	if err != nil {
		t.Fatalf("run: %v", err)
	}
	return r
}

// written returns a report in all its formats.
func written(t *testing.T, r *lab.Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.WriteJSON(&b); err != nil {
		t.Fatalf("write json: %v", err)
	}
	return b.String() + r.SVG() + r.OutageLine(60, false)
}

const m = time.Minute

func TestRun_IsDeterministic(t *testing.T) {
	s := scenario(
		config.Outage{Kind: config.Flapping, From: 5 * m, For: 20 * m, Status: 529, Down: 2 * m, Up: 3 * m},
		config.Outage{Kind: config.Partial, From: 10 * m, For: 30 * m, Status: 500, Share: 0.3},
	)
	names := []string{"patient+breaker", "interactive+breaker", "worker", "codex", "aws-standard"}
	first := written(t, run(t, s, names...))
	if again := written(t, run(t, s, names...)); again != first {
		t.Error("two runs with one seed: reports differ")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if again := written(t, run(t, s, names...)); again != first {
		t.Error("runs on one core and on several: reports differ")
	}
	s.Seed = 2
	if other := written(t, run(t, s, names...)); other == first {
		t.Error("runs with two seeds: reports are equal")
	}
}

func TestRun_PatientCallersAreAllAnswered(t *testing.T) {
	r := run(t, scenario(config.Outage{Kind: config.Total, From: 10 * m, For: 30 * m, Status: 529}), "patient+breaker", "patient", "openai-sdk")
	shared, alone, sdk := r.Results[0], r.Results[1], r.Results[2]
	for _, one := range []*lab.Result{shared, alone} {
		if one.GaveUp > 0 || one.Answered != one.Calls || one.Hit != 200 || one.Recovered != 200 {
			t.Errorf("%s: %d of %d calls, %d gave up, %d of %d hit were answered", one.Strategy.Name, one.Answered, one.Calls, one.GaveUp, one.Recovered, one.Hit)
		}
		if one.Longest < 29*m || one.Median > one.P95 || one.P95 > one.Longest {
			t.Errorf("%s: waits of %v, %v and %v", one.Strategy.Name, one.Median, one.P95, one.Longest)
		}
	}
	if shared.InVain >= alone.InVain/3 || shared.LastAnswer > time.Minute || alone.LastAnswer < 5*m {
		t.Errorf("with a breaker %d requests in vain, last answer after %v; without %d, %v", shared.InVain, shared.LastAnswer, alone.InVain, alone.LastAnswer)
	}
	if sdk.GaveUp < 1000 || sdk.Answered+sdk.GaveUp != sdk.Calls {
		t.Errorf("openai-sdk: %d calls gave up, %d of %d answered", sdk.GaveUp, sdk.Answered, sdk.Calls)
	}
}

// The numbers of requests per failing turn were measured with the real clients
// against the simulator.
func TestThirdParty_SendsAsManyRequestsAsMeasured(t *testing.T) {
	for _, tt := range []struct {
		name     string
		status   int
		requests int
	}{
		{"openai-sdk", 500, 3},
		{"anthropic-sdk", 529, 3},
		{"aws-standard", 503, 3},
		{"aws-standard", 529, 1}, // a status that it does not retry
		{"go-retryablehttp", 503, 5},
		{"litellm", 503, 3},
		{"portkey", 503, 6},
		{"claude-code", 500, 11},
		{"claude-code", 529, 3},
		{"codex", 500, 30},
		{"codex", 429, 1},
		{"opencode", 500, 6},
		{"gemini-cli", 503, 10},
		{"crush", 529, 4},
		{"simple", 529, 4},
	} {
		s := scenario(config.Outage{Kind: config.Total, For: time.Hour, Status: tt.status})
		s.Callers = config.Callers{Number: 1, Every: 20 * m}
		one := run(t, s, tt.name).Results[0]
		if one.Calls == 0 || one.Requests != tt.requests*one.Calls || one.GaveUp != one.Calls {
			t.Errorf("%s, %d: %d requests in %d calls, want %d each", tt.name, tt.status, one.Requests, one.Calls, tt.requests)
		}
	}
}

func TestRun_RateLimitBoundsAnswersPerMinute(t *testing.T) {
	s := scenario(config.Outage{Kind: config.RateLimit, For: time.Hour, Status: 429, Tokens: 100_000})
	s.Callers.Tokens = 1000
	r := run(t, s, "simple", "simple+breaker", "portkey", "codex")
	for _, one := range r.Results {
		for minute, n := range one.Answers {
			if n > 100+30 { // of an answer begun in the minute before
				t.Errorf("%s: %d answers in minute %d, more than the limit lets through", one.Strategy.Name, n, minute)
			}
		}
	}
	obeying, shared, ignoring, never := r.Results[0], r.Results[1], r.Results[2], r.Results[3]
	if obeying.Median > m || shared.InVain >= obeying.InVain/2 {
		t.Errorf("simple obeys Retry-After: median %v, want at most %v; %d requests in vain, with a breaker %d", obeying.Median, m, obeying.InVain, shared.InVain)
	}
	if ignoring.GaveUp <= obeying.GaveUp {
		t.Errorf("portkey ignores Retry-After: %d calls gave up, want more than the %d of simple", ignoring.GaveUp, obeying.GaveUp)
	}
	if never.Hit != never.GaveUp || never.Hit == 0 {
		t.Errorf("codex does not retry a 429: %d calls gave up, want all %d that were hit", never.GaveUp, never.Hit)
	}
}

func TestRun_SimulatesEachKindOfOutage(t *testing.T) {
	first := config.Outage{From: 10 * m, For: 30 * m, Status: 529}
	kind := func(kind string, change func(*config.Outage)) config.Scenario {
		o := first
		o.Kind = kind
		change(&o)
		return scenario(o)
	}
	partial := run(t, kind(config.Partial, func(o *config.Outage) { o.Share = 0.25 }), "codex").Results[0]
	if refused := float64(partial.InVain) / float64(partial.Requests); refused < 0.12 || refused > 0.17 {
		t.Errorf("partial: %.3f of all requests refused, want a quarter for half of the time", refused)
	}
	flapping := run(t, kind(config.Flapping, func(o *config.Outage) { o.Down, o.Up = 2*m, 4*m }), "openai-sdk").Results[0]
	for minute, n := range flapping.Answers {
		if down := minute >= 10 && minute < 40 && (minute-10)%6 == 1; down != (n == 0) && minute < 60 {
			t.Errorf("flapping: %d answers in minute %d, want none only while down", n, minute)
		}
	}
	slow := run(t, kind(config.BrownOut, func(o *config.Outage) { o.Slower = 30 }), "openai-sdk").Results[0]
	if slow.Hit > 0 || slow.Answers[30] >= slow.Answers[5]*3/4 {
		t.Errorf("brown-out: %d calls hit, want 0; %d answers a minute, want fewer than %d", slow.Hit, slow.Answers[30], slow.Answers[5])
	}
	limited := run(t, kind(config.Limited, func(o *config.Outage) { o.Rate = 1 }), "patient").Results[0]
	for _, n := range limited.Answers[12:39] {
		if n > 65 {
			t.Errorf("limited to one per second: %d answers in a minute, want at most 65", n)
		}
	}
	bounded := scenario(first)
	bounded.Outages[0].Kind, bounded.Upstream.Rate = config.Total, 1
	if r := run(t, bounded, "openai-sdk").Results[0]; slices.Max(r.Answers) > 65 {
		t.Errorf("upstream of one call per second: %d answers in a minute, want at most 65", slices.Max(r.Answers))
	}
}

func TestRun_CallersLeaveAfterTheirPatience(t *testing.T) {
	s := scenario(config.Outage{Kind: config.Total, From: 10 * m, For: 20 * m, Status: 529})
	s.Callers.Patience = 5 * m
	for _, one := range run(t, s, "patient", "patient+breaker").Results {
		if one.Left < 200 || one.GaveUp > 0 || one.Left+one.Answered != one.Calls {
			t.Errorf("%s: %d left, %d gave up, %d answered of %d", one.Strategy.Name, one.Left, one.GaveUp, one.Answered, one.Calls)
		}
		if one.Longest > 5*m {
			t.Errorf("%s: longest wait %v, want at most the patience of %v", one.Strategy.Name, one.Longest, 5*m)
		}
	}
}

// TestRun_CanceledLeaksNoGoroutine is in a bubble, which does not end while one of its goroutines is left.
func TestRun_CanceledLeaksNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		s := scenario(config.Outage{Kind: config.Total, From: 10 * m, For: 40 * m, Status: 529})
		all, _ := lab.Choose(nil)
		if _, err := lab.Run(ctx, s, all, func(int) { cancel(gone) }); !errors.Is(err, gone) {
			t.Errorf("run with a canceled context: %v, want the cause %v", err, gone)
		}
	})
}

func TestRun_DeadlineOfPolicyIsInVirtualTime(t *testing.T) {
	s := scenario(config.Outage{Kind: config.BrownOut, For: time.Hour, Slower: 200})
	one := run(t, s, "council").Results[0]
	if one.GaveUp == 0 || one.Longest > policy.CouncilBudget {
		t.Errorf("%d calls gave up, want some; longest wait %v, want at most %v", one.GaveUp, one.Longest, policy.CouncilBudget)
	}
}

func TestThirdParty_NamesItsSources(t *testing.T) {
	for _, s := range lab.ThirdParty() {
		if s.Source == "" || s.Seen == "" || s.Policy.Retries < 1 || len(s.Statuses) == 0 || !strings.Contains(s.Seen, "2026") {
			t.Errorf("%s is incomplete: source %q, seen %q, %d retries, statuses %v", s.Name, s.Source, s.Seen, s.Policy.Retries, s.Statuses)
		}
		if o := s.Policy.Forecast(100); o.Stop != policy.Exhausted || len(o.Retries) != s.Policy.Retries {
			t.Errorf("%s stops with %q after %d retries, want %q after %d", s.Name, o.Stop, len(o.Retries), policy.Exhausted, s.Policy.Retries)
		}
	}
	for _, name := range []string{"openai-sdk", "anthropic-sdk", "aws-standard", "go-retryablehttp", "litellm", "portkey", "claude-code", "codex", "opencode", "gemini-cli", "crush"} {
		if _, err := lab.Choose([]string{name}); err != nil {
			t.Errorf("choose: %v", err)
		}
	}
	if _, err := lab.Choose([]string{"patent"}); err == nil || !strings.Contains(err.Error(), "want one of patient+breaker, patient+breaker+admission, ") {
		t.Errorf("choose an unknown policy: %v, want an error with the known ones", err)
	}
}

func TestGallery_NamesKnownPolicies(t *testing.T) {
	for _, s := range lab.Gallery() {
		least := 5
		if s.Fleet.Number > 0 {
			least = 2 // gateways of this project, that act as one or not
		}
		if all, err := lab.Choose(s.Policies); err != nil || len(all) < least || s.About == "" {
			t.Errorf("%s: %d policies, %v; want %d known ones at least, and a text", s.Name, len(all), err, least)
		}
		if lab.ScenarioFile(s.Name) == "" {
			t.Errorf("scenario file of %s is empty", s.Name)
		}
	}
	if _, ok := lab.Find("nope"); ok || lab.ScenarioFile("nope") != "" {
		t.Error("found an unknown scenario")
	}
}

func TestReport_SVGIsAccessibleXML(t *testing.T) {
	r := run(t, scenario(config.Outage{Kind: config.Total, From: 10 * m, For: 30 * m, Status: 529}), "patient+breaker", "codex")
	picture := r.SVG()
	decoder := xml.NewDecoder(strings.NewReader(picture))
	for {
		if _, err := decoder.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("token: %v", err)
		}
	}
	for _, want := range []string{`role="img"`, `aria-labelledby="t d"`, `<title id="t">A &lt;test&gt;</title>`, `<desc id="d">`, "patient+breaker answered 100 %", `class="d"`} {
		if !strings.Contains(picture, want) {
			t.Errorf("picture without %s:\n%.600s", want, picture)
		}
	}
	for _, not := range []string{"<script", "<image", "href=", "NaN"} {
		if strings.Contains(picture, not) {
			t.Errorf("picture contains %s", not)
		}
	}
}

func TestSpark_ScalesToTheMaximum(t *testing.T) {
	for _, tt := range []struct {
		series []int
		width  int
		ascii  bool
		want   string
	}{
		{[]int{0, 1, 50, 100}, 9, false, " ▁▄█"},
		{[]int{0, 1, 50, 100}, 9, true, " .-#"},
		{[]int{1, 9, 0, 0, 0, 0, 3, 0}, 4, false, "█  ▃"}, // keeps peaks
		{nil, 5, false, ""},
		{[]int{0, 0}, 5, false, "  "},
	} {
		if got := lab.Spark(tt.series, tt.width, tt.ascii); got != tt.want {
			t.Errorf("sparkline of %v in %d columns: %q, want %q", tt.series, tt.width, got, tt.want)
		}
	}
	r := run(t, scenario(
		config.Outage{Kind: config.Total, From: 10 * m, For: 20 * m, Status: 529},
		config.Outage{Kind: config.Limited, From: 30 * m, For: 10 * m, Status: 529, Rate: 1},
	), "simple")
	want := strings.Repeat(" ", 10) + strings.Repeat("#", 20) + strings.Repeat("-", 10) + strings.Repeat(" ", 20)
	if line := r.OutageLine(1000, true); !strings.HasPrefix(line, want) {
		t.Errorf("outage line %q, want %q…", line, want)
	}
}

func TestReport_FitDropsTheLeastImportantFigures(t *testing.T) {
	r := run(t, scenario(config.Outage{Kind: config.Total, From: 10 * m, For: 20 * m, Status: 529}), "simple")
	for width, want := range map[int]string{
		1000: "answered, gave up, median, 95 %, longest, at once, requests, in vain, peak/s, last",
		60:   "answered, gave up, median, requests, in vain, peak/s, last",
		1:    "answered, gave up, requests, last",
	} {
		var names []string
		for _, f := range r.Fit(width) {
			names = append(names, f.Name)
		}
		if got := strings.Join(names, ", "); got != want {
			t.Errorf("figures in %d columns: %s, want %s", width, got, want)
		}
	}
}

// BenchmarkRun_EightHours simulates eight hours with ten thousand callers and an
// outage of four hours, the largest supported scenario.
func BenchmarkRun_EightHours(b *testing.B) {
	for _, name := range []string{"patient+breaker", "patient", "interactive+breaker"} {
		b.Run(name, func(b *testing.B) {
			s := scenario(config.Outage{Kind: config.Total, From: time.Hour, For: 4 * time.Hour, Status: 529})
			s.Lasts, s.Callers.Number, s.Callers.Every = 8*time.Hour, 10_000, 2*m
			b.ReportAllocs()
			for b.Loop() {
				r := run(b, s, name)
				b.ReportMetric(float64(r.Results[0].Requests), "requests/op")
			}
		})
	}
}

func TestRun_CallsLongerThanTheRunGiveUp(t *testing.T) {
	s := scenario(config.Outage{Kind: config.BrownOut, From: 59 * m, For: m, Slower: 1e6})
	s.Upstream.Takes = 100 * 365 * 24 * time.Hour // longer than any run
	r := run(t, s, "simple", "patient+breaker")
	for _, one := range r.Results {
		if one.Answered > 0 || one.GaveUp != 200 || one.Calls != 200 || one.Requests != 200 {
			t.Errorf("%s: %d of %d calls answered, %d gave up, %d requests", one.Strategy.Name, one.Answered, one.Calls, one.GaveUp, one.Requests)
		}
	}
	endless := lab.OwnStrategy("endless", policy.Policy{Retries: 3, Backoff: policy.Backoff{Steps: []time.Duration{1<<63 - 1}}}, false)
	s = scenario(config.Outage{Kind: config.Total, From: 30 * m, For: 30 * m, Status: 529})
	r, err := lab.Run(t.Context(), s, []lab.Strategy{endless}, nil)
	if one := r.Results[0]; err != nil || one.GaveUp != 200 || one.Calls != one.Answered+200 {
		t.Errorf("waits that overflow: error %v, %d of %d calls answered, %d gave up, want 200", err, one.Answered, one.Calls, one.GaveUp)
	}
}
