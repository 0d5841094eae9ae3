package lab_test

import (
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/internal/lab"
	"github.com/ridethrough/ridethrough/internal/operation/config"
)

// sum adds up the minutes of a series from one to another.
func sum(series []int, from, to int) (n int) {
	for i := from; i < min(to, len(series)); i++ {
		n += series[i]
	}
	return n
}

func TestRun_TokenBucketIsFilledUpEvenly(t *testing.T) {
	s := scenario(config.Outage{Kind: config.Bucket, For: time.Hour, Status: 429, Tokens: 100_000})
	s.Callers.Tokens = 1000 // each of about 190 calls a minute
	one := run(t, s, "simple").Results[0]
	if first := sum(one.Answers, 0, 2); first < 250 || first > 310 {
		t.Errorf("answers in the first two minutes: got %d, want those of a full bucket and two minutes", first)
	}
	for minute, n := range one.Answers[2:60] {
		if n > 112 {
			t.Errorf("answers in minute %d: got %d, want the 100 of a minute, and a few that began before", minute+2, n)
		}
	}
	if one.Used < 0.99 || one.Used > 1 {
		t.Errorf("share used of the bucket: got %.3f, want all", one.Used)
	}
	s.Callers.Cached = 0.9
	if cached := run(t, s, "simple").Results[0]; cached.InVain > 0 || cached.Used > 0.3 {
		t.Errorf("with nine tenths from the cache: got %d requests in vain, %.3f used; want none and a fifth", cached.InVain, cached.Used)
	}
}

// Calls that are further apart than the cache lasts are not cheaper.
func TestRun_CacheIsForgotten(t *testing.T) {
	s := scenario(config.Outage{Kind: config.Bucket, For: time.Hour, Status: 429, Tokens: 1_000_000})
	s.Callers = config.Callers{Number: 100, Every: 30 * time.Minute, Tokens: 10_000, Cached: 1}
	one := run(t, s, "simple").Results[0]
	got, all := one.Used*61_000_000, float64(one.Calls)*10_000
	if got < 0.7*all || got >= all {
		t.Errorf("tokens that count: got %.0f of %.0f, want most, as most calls come too late for the cache", got, all)
	}
}

func TestRun_WindowOpensWhenTheNextBegins(t *testing.T) {
	s := scenario(config.Outage{Kind: config.Window, For: time.Hour, Window: 30 * time.Minute, Status: 429, Tokens: 2_000_000})
	s.Callers.Tokens = 1000 // about 190 calls a minute: spent after ten minutes
	r := run(t, s, "patient+breaker", "patient", "codex")
	shared, alone, never := r.Results[0], r.Results[1], r.Results[2]
	if r.Recovery != time.Hour {
		t.Errorf("recovery: got %v, want the time at which the last window is over", r.Recovery)
	}
	for _, one := range r.Results {
		spent := sum(one.Answers, 12, 30) + sum(one.Answers, 42, 60)
		if first := sum(one.Answers, 0, 12); first != 2000 || spent != 0 {
			t.Errorf("%s: got %d answers before the first window is spent and %d after, want 2000 and 0", one.Strategy.Name, first, spent)
		}
	}
	if shared.GaveUp+alone.GaveUp > 0 || never.GaveUp == 0 {
		t.Errorf("calls that gave up: got %d, %d and %d of codex; want none but of codex", shared.GaveUp, alone.GaveUp, never.GaveUp)
	}
	if shared.InVain > 20 || alone.InVain < 300 {
		t.Errorf("requests in vain in two spent windows: got %d with a breaker, %d without; want a few and one of each caller in each", shared.InVain, alone.InVain)
	}
}

func TestRun_SecondGroupIsShownApart(t *testing.T) {
	s := scenario(config.Outage{Kind: config.RateLimit, From: 10 * m, For: 30 * m, Status: 429, Tokens: 100_000})
	s.Callers.Tokens = 1000
	before := run(t, s, "simple").Results[0]
	s.Others = config.Callers{Number: 1, Every: 10 * time.Second, Tokens: 1}
	r := run(t, s, "simple")
	with := r.Results[0]
	if with.OthersP95 == 0 || with.OthersP95 > m || with.Calls < before.Calls+200 {
		t.Errorf("with a second group: got its waits of %v and %d calls, want some of up to a minute and more than %d", with.OthersP95, with.Calls, before.Calls)
	}
	has := func(r *lab.Report, name string) bool {
		for _, f := range r.Figures() {
			if f.Name == name {
				return true
			}
		}
		return false
	}
	if !has(r, "others") || !has(r, "used") {
		t.Error("figures: got none of the second group or of the limit, want both")
	}
	s.Others, s.Outages[0].Kind = config.Callers{}, config.Total
	if r := run(t, s, "simple"); has(r, "others") || has(r, "used") {
		t.Error("figures without a second group and a limit: got them, want none")
	}
}

func TestGallery_FiveHourWindowIsWaitedOut(t *testing.T) {
	sequential(t)
	s, ok := lab.Find("five-hour-window")
	if !ok {
		t.Fatal("five-hour-window: not in the gallery")
	}
	one := run(t, s, "patient+breaker").Results[0]
	if one.Answered != one.Calls {
		t.Errorf("answered: got %d of %d calls, want all", one.Answered, one.Calls)
	}
	if one.InVain > 1+4 {
		t.Errorf("requests in vain: got %d, want the one that met the end of the window, and a probe in each quarter of the last hour", one.InVain)
	}
	if at := sum(one.Refused, 290, 302); at > 0 {
		t.Errorf("requests in vain as the next window begins: got %d, want none: one probe passes", at)
	}
	if one.Peak > 4 || one.LastAnswer > 30*time.Second+10*time.Second {
		t.Errorf("after the reset: got %d requests in a second and the last answer after %v, want a slow start, and the last answer, which takes up to 30 s, within 10 s more", one.Peak, one.LastAnswer)
	}
}

// What `ridethrough serve` does by default where the provider states its limits.
func TestGallery_StatedLimitsAreKept(t *testing.T) {
	sequential(t)
	for _, c := range []struct {
		scenario     string
		begins       int // minute
		learns       int // so many minutes
		inVain       int
		othersAtMost time.Duration
	}{
		{"tokens-per-minute", 15, 0, 0, 0},
		{"mixed-fleet", 5, 2, 3, 2 * time.Second},
	} {
		s, ok := lab.Find(c.scenario)
		if !ok {
			t.Fatalf("%s: not in the gallery", c.scenario)
		}
		r := run(t, s, "patient+breaker+admission", "patient+breaker")
		one, without := r.Results[0], r.Results[1]
		if one.Answered != one.Calls || one.InVain > c.inVain || without.InVain < 20*max(1, one.InVain) {
			t.Errorf("%s: got %d of %d calls answered and %d requests in vain, %d without admission; want all, and at most %d", c.scenario, one.Answered, one.Calls, one.InVain, without.InVain, c.inVain)
		}
		if n := sum(one.Refused, c.begins+c.learns, len(one.Refused)); n > 0 {
			t.Errorf("%s: got %d requests in vain once the limit is known, want none", c.scenario, n)
		}
		if one.Used < 0.95 {
			t.Errorf("%s: got %.3f of the limit used, want at least 0.95", c.scenario, one.Used)
		}
		if one.OthersP95 > c.othersAtMost {
			t.Errorf("%s: got waits of %v in the second group, want at most %v; without admission %v", c.scenario, one.OthersP95, c.othersAtMost, without.OthersP95)
		}
	}
}

func TestGallery_AWeekIsWaitedForWhereTheQuotaAllows(t *testing.T) {
	sequential(t)
	s, ok := lab.Find("weekly-window")
	if !ok {
		t.Fatal("weekly-window: not in the gallery")
	}
	r := run(t, s, "patient+breaker+7d", "patient+breaker")
	week, usual := r.Results[0], r.Results[1]
	if week.Answered != week.Calls || week.LastAnswer > 2*time.Minute {
		t.Errorf("with a quota of a week: got %d of %d calls answered, the last %v after the window opens; want all, within two minutes", week.Answered, week.Calls, week.LastAnswer)
	}
	if usual.GaveUp == 0 || usual.Longest > 5*time.Hour {
		t.Errorf("with the usual quota: got %d calls that gave up and a longest wait of %v, want some, and at most five hours", usual.GaveUp, usual.Longest)
	}
}

func TestRun_ServerAnswersSoManyAtATime(t *testing.T) {
	s := scenario(config.Outage{Kind: config.Slots, For: time.Hour, Slots: 2, Reads: 100})
	s.Callers = config.Callers{Number: 20, Every: time.Second, Tokens: 400} // which are read in 4s
	s.Upstream.Takes = 6 * time.Second
	one := run(t, s, "simple").Results[0]
	if n := sum(one.Answers, 5, 55); n < 570 || n > 630 {
		t.Errorf("answers in fifty minutes of two slots and ten seconds for each: got %d, want about 600", n)
	}
}
