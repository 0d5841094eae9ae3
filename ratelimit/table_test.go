package ratelimit_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/ratelimit"
)

func TestTable_TellsOfACrossingOnce(t *testing.T) {
	table := ratelimit.Table{Clock: &still{now: now}}
	k := ratelimit.Key{Upstream: "openai", Credential: "c", Model: "gpt-5"}
	for i, tt := range []struct {
		used int
		want string
	}{
		{50, "[]"},
		{79, "[]"},
		{80, "[0.8]"},
		{81, "[]"},
		{79, "[]"},
		{82, "[]"}, // it has not been clearly below
		{94, "[]"},
		{95, "[0.95]"},
		{100, "[]"},
		{86, "[]"},
		{96, "[]"},
		{84, "[]"},
		{96, "[0.95]"},
		{0, "[]"},
		{99, "[0.95]"}, // the higher of both
		{0, "[]"},
		{80, "[0.8]"},
	} {
		h := headers("x-ratelimit-limit-tokens", "100", "x-ratelimit-remaining-tokens", strconv.Itoa(100-tt.used))
		got := []float64{}
		for _, c := range table.Observe(&ratelimit.Call{Key: k}, 200, h) {
			if c.Key != k || c.Limit.Name != "tokens" {
				t.Errorf("step %d: a crossing of %+v, want of the tokens of %+v", i, c, k)
			}
			got = append(got, c.Level)
		}
		if fmt.Sprint(got) != tt.want {
			t.Errorf("step %d, %d %% used: crossed %v, want %s", i, tt.used, got, tt.want)
		}
	}
}

// The windows of a subscription are of all models: two models cross a level once.
func TestTable_SharesWindowsOfAnAccount(t *testing.T) {
	table := ratelimit.Table{Clock: &still{now: now}}
	h := headers("anthropic-ratelimit-unified-5h-utilization", "0.9", "anthropic-ratelimit-requests-limit", "50", "anthropic-ratelimit-requests-remaining", "5")
	crossings := 0
	for _, model := range []string{"opus", "sonnet"} {
		for _, c := range table.Observe(&ratelimit.Call{Key: ratelimit.Key{Upstream: "anthropic", Credential: "c", Model: model}}, 200, h) {
			if c.Limit.Name == "5h" {
				crossings++
			}
		}
	}
	if crossings != 1 {
		t.Errorf("the window of the account crossed 80 %% %d times, want once", crossings)
	}
	got := ""
	for _, h := range table.Show("anthropic", now) {
		got += fmt.Sprintf("%q:", h.Model)
		for _, l := range h.Limits {
			got += fmt.Sprintf(" %s %.0f%%", l.Name, 100*l.Used)
		}
		got += "\n"
	}
	if want := "\"\": 5h 90%\n\"opus\": requests 90%\n\"sonnet\": requests 90%\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if other := table.Show("openai", now); len(other) != 0 {
		t.Errorf("another upstream: got %+v, want none", other)
	}
}

func TestTable_ForgetsWhatIsOld(t *testing.T) {
	table := ratelimit.Table{Clock: &still{now: now}}
	h := headers("x-ratelimit-limit-tokens", "100", "x-ratelimit-remaining-tokens", "1")
	table.Observe(&ratelimit.Call{Key: ratelimit.Key{Upstream: "u"}}, 200, h)
	for after, want := range map[time.Duration]int{time.Hour: 1, 25 * time.Hour: 0} {
		if got := table.Show("u", now.Add(after)); len(got) != want {
			t.Errorf("after %v: got %+v, want %d", after, got, want)
		}
	}
}

func TestTable_IsBounded(t *testing.T) {
	table := ratelimit.Table{Clock: &still{now: now}}
	h := headers("x-ratelimit-limit-tokens", "100", "x-ratelimit-remaining-tokens", "1")
	for i := range 3000 {
		table.Observe(&ratelimit.Call{Key: ratelimit.Key{Upstream: "u", Credential: strconv.Itoa(i)}}, 200, h)
	}
	got := table.Show("u", now)
	if len(got) != 1024 {
		t.Errorf("%d keys are kept, want 1024", len(got))
	}
	for _, h := range got {
		if n, _ := strconv.Atoi(h.Credential); n < 3000-1024 {
			t.Errorf("key %d is kept, want the latest", n)
		}
	}
}
