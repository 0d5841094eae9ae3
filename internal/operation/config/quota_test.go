package config_test

import (
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/policy"
)

// quotaOf is what holds for a model at an upstream of the gateway.
func quotaOf(t *testing.T, text, upstream, model string) policy.Quota {
	t.Helper()
	c, err := config.Parse("config.yaml", []byte(text))
	if err != nil {
		t.Fatalf("parse: %v", err)
	}
	made, err := c.Gateway(env())
	if err != nil {
		t.Fatalf("gateway of the configuration: %v", err)
	}
	for _, u := range made.Upstreams {
		if u.Name == upstream {
			if p, _, _ := u.ForModel(model); p != nil {
				return p.Quota
			}
		}
	}
	return made.Policy.Quota
}

func TestConfig_Quota(t *testing.T) {
	const text = `
quota: {max: 7d, not-after: "06:00"}
upstreams:
  anthropic:
    quota: {windows: 3, not-after: "00:00"}
    routes:
      - models: [claude-haiku-*]
        quota: {wait: stop}
      - models: [claude-opus-*]
        policy: interactive
  openai:
    policy: none
  ollama: {}
`
	const until = policy.QuotaUntilReset
	tests := []struct {
		name, text, upstream, model string
		want                        policy.Quota
	}{
		{"nothing is said", "", "anthropic", "m", config.DefaultQuota()},
		{"of the file", text, "ollama", "m", policy.Quota{Wait: until, Windows: 1, Max: 168 * time.Hour, NotAfter: 6 * time.Hour}},
		{"of an upstream with a policy", text, "openai", "m", policy.Quota{Wait: until, Windows: 1, Max: 168 * time.Hour, NotAfter: 6 * time.Hour}},
		{"of an upstream", text, "anthropic", "m", policy.Quota{Wait: until, Windows: 3, Max: 168 * time.Hour, NotAfter: 24 * time.Hour}},
		{"of a route", text, "anthropic", "claude-haiku-4-5", policy.Quota{Wait: policy.QuotaStop, Windows: 3, Max: 168 * time.Hour, NotAfter: 24 * time.Hour}},
		{"of a route with a policy", text, "anthropic", "claude-opus-5", policy.Quota{Wait: until, Windows: 3, Max: 168 * time.Hour, NotAfter: 24 * time.Hour}},
		{"without a bound", "quota: {max: none}", "anthropic", "m", policy.Quota{Wait: until, Windows: 1}},
	}
	for _, tt := range tests {
		if got := quotaOf(t, tt.text, tt.upstream, tt.model); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// A user at a terminal learns of it at once, unless the file says otherwise.
func TestConfig_QuotaOfRunAndChat(t *testing.T) {
	for text, want := range map[string]policy.Quota{"": {}, "quota: {wait: until-reset}": config.DefaultQuota()} {
		c, err := config.Parse("config.yaml", []byte(text))
		if err != nil {
			t.Fatalf("parse: %v", err)
		}
		c.UseDefault("interactive", "default of run")
		if got := c.Retry().Quota; got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}
