package tenant_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/internal/operation/access"
	"github.com/ridethrough/ridethrough/internal/operation/metrics"
	"github.com/ridethrough/ridethrough/internal/operation/tenant"
	"github.com/ridethrough/ridethrough/ratelimit"
)

// limited returns a token with limits.
func limited(l access.Limits) access.Token { return access.Token{Name: "alice", Limits: l} }

// refusalOf returns a refusal as "LIMIT WAIT", or "".
func refusalOf(r *tenant.Refusal) string {
	if r == nil {
		return ""
	}
	return fmt.Sprint(r.Limit, " ", r.Wait)
}

func TestTable_RequestsPerMinute(t *testing.T) {
	table, began := tenant.New(new(metrics.Registry)), time.Now()
	alice := limited(access.Limits{Requests: 6})
	for _, tt := range []struct {
		at   time.Duration
		want string
	}{
		{0, ""},
		{0, ""},
		{0, ""},
		{time.Second, ""},
		{time.Second, ""},
		{time.Second, ""}, // 5.9 are used
		{time.Second, "rpm 9s"},
		{9 * time.Second, "rpm 1s"},
		{10 * time.Second, ""},
		{10 * time.Second, "rpm 10s"}, // a refusal counts for nothing
		{20 * time.Second, ""},
		{5 * time.Minute, ""},
	} {
		_, refused := table.Admit(alice, began.Add(tt.at))
		if got := refusalOf(refused); got != tt.want {
			t.Errorf("request at %v: got %q, want %q", tt.at, got, tt.want)
		}
	}
	if _, refused := table.Admit(access.Token{Name: "bob"}, began); refused != nil {
		t.Errorf("a token without limits is refused: %v", refused)
	}
}

func TestTable_TokensPerMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := tenant.New(new(metrics.Registry))
		alice := limited(access.Limits{Tokens: 6000})
		account, _ := table.Admit(alice, time.Now())
		account.Used(ratelimit.Charged{Input: 5000, Cached: 90_000, Output: 2000}) // known after the answer only
		_, refused := table.Admit(alice, time.Now())
		if got, want := refusalOf(refused), "tpm 10s"; got != want || !strings.Contains(refused.Text, "the token alice permits 6000 tokens a minute; try again in 10s") {
			t.Errorf("beyond the limit: got %q, %v, want %q", got, refused, want)
		}
		time.Sleep(11 * time.Second) // at 10 s the limit is used to the last token
		if _, refused := table.Admit(alice, time.Now()); refused != nil {
			t.Errorf("after the wait: got %v, want no refusal", refused)
		}
	})
}

func TestAccount_HoldsAtATime(t *testing.T) {
	table := tenant.New(new(metrics.Registry))
	account, _ := table.Admit(limited(access.Limits{Holds: 2}), time.Now())
	first, second := account.Hold(), account.Hold()
	if first == nil || second == nil || account.Hold() != nil {
		t.Fatal("of three requests that wait, want two places")
	}
	first()
	first() // frees one place only
	if account.Hold() == nil || account.Hold() != nil {
		t.Error("after one has ended: want one place")
	}
}

// What another gateway has reported counts here, once.
func TestTable_LimitsAreOneInAFleet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := tenant.New(new(metrics.Registry)), tenant.New(new(metrics.Registry))
		alice := limited(access.Limits{Requests: 3, Tokens: 1000, Holds: 2})
		var there *tenant.Account
		for range 3 {
			there, _ = a.Admit(alice, time.Now())
		}
		release := there.Hold()
		there.Used(ratelimit.Charged{Output: 400})
		report := a.Report()
		want := map[string]tenant.Use{"alice": {Requests: 3, Tokens: 400, Held: 1, Limits: alice.Limits}}
		if diff := cmp.Diff(want, report); diff != "" {
			t.Errorf("report (-want +got):\n%s", diff)
		}
		hear := func(report map[string]tenant.Use) {
			for name, use := range report {
				b.Hear(name, use, time.Now())
				b.HeldElsewhere(func(token string) int { return report[token].Held })
			}
		}
		hear(report)
		if _, refused := b.Admit(alice, time.Now()); refusalOf(refused) != "rpm 20s" {
			t.Errorf("at the other gateway: got %v, want a refusal for 20s", refused)
		}
		time.Sleep(20 * time.Second)
		here, _ := b.Admit(alice, time.Now())
		hear(a.Report()) // it has used nothing since, and still holds one
		if here.Hold() == nil || here.Hold() != nil {
			t.Error("with one request that waits elsewhere: want one place of two")
		}
		release()
		hear(a.Report())
		if here.Hold() == nil {
			t.Error("after that has ended: want the second place")
		}
		if again := a.Report(); len(again) > 0 {
			t.Errorf("without any use: got the report %v, want none", again)
		}
	})
}

func TestTable_CountsByToken(t *testing.T) {
	r := new(metrics.Registry)
	table := tenant.New(r)
	alice := limited(access.Limits{Requests: 1})
	account, _ := table.Admit(alice, time.Now())
	_, _ = table.Admit(alice, time.Now())
	account.Used(ratelimit.Charged{Input: 12, Cached: 100, Output: 3})
	account.Hold()
	w := httptest.NewRecorder()
	r.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	for _, want := range []string{
		`ridethrough_token_requests_total{token="alice"} 1`,
		`ridethrough_token_refused_total{limit="rpm",token="alice"} 1`,
		`ridethrough_token_used_tokens_total{kind="input",token="alice"} 12`,
		`ridethrough_token_used_tokens_total{kind="cached",token="alice"} 100`,
		`ridethrough_token_used_tokens_total{kind="output",token="alice"} 3`,
		`ridethrough_token_held_requests{token="alice"} 1`,
	} {
		if !strings.Contains(w.Body.String(), want+"\n") {
			t.Errorf("metrics have no %s:\n%s", want, w.Body)
		}
	}
}
