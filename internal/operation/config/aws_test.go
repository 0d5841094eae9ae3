package config_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/internal/operation/config"
)

// bedrockOf returns the configuration of an upstream of Bedrock's.
func bedrockOf(t *testing.T, text string, env func(string) string) (base string, sign func(*http.Request) error, failed string) {
	t.Helper()
	c, err := config.Load(write(t, t.TempDir(), "config.yaml", text))
	if err != nil {
		return "", nil, config.Excerpts(err)
	}
	g, err := c.Gateway(env)
	if err != nil {
		return "", nil, config.Excerpts(err)
	}
	for _, u := range g.Upstreams {
		if u.API == "bedrock" {
			return u.Base.String(), u.Sign, ""
		}
	}
	return "", nil, "none"
}

func TestConfig_BedrockRegion(t *testing.T) {
	tests := []struct{ text, region, want string }{
		{"", "", "https://bedrock-runtime.us-east-1.amazonaws.com"},
		{"", "us-west-2", "https://bedrock-runtime.us-west-2.amazonaws.com"},
		{"upstreams: {bedrock: {region: eu-central-1}}", "us-west-2", "https://bedrock-runtime.eu-central-1.amazonaws.com"},
		{"upstreams: {bedrock: {region: cn-north-1}}", "", "https://bedrock-runtime.cn-north-1.amazonaws.com.cn"},
		{"upstreams: {own: {api: bedrock, region: us-gov-west-1, url: 'https://vpce-1.example'}}", "", "https://vpce-1.example"},
	}
	for _, tt := range tests {
		if got, sign, failed := bedrockOf(t, tt.text, env("AWS_REGION="+tt.region)); got != tt.want || sign != nil || failed != "" {
			t.Errorf("%q with AWS_REGION=%s: %s, signs %v, %s; want %s", tt.text, tt.region, got, sign != nil, failed, tt.want)
		}
	}
}

func TestConfig_BedrockSigns(t *testing.T) {
	const keys = "access-key: {env: ID}, secret-key: {env: SECRET}"
	e := env("ID=AKID", "SECRET=secret", "TOKEN=session", "AWS_REGION=us-west-2")
	tests := []struct{ text, region, token string }{
		{"upstreams: {bedrock: {region: eu-central-1, aws: {" + keys + "}}}", "eu-central-1", ""},
		{"upstreams: {bedrock: {aws: {" + keys + ", session-token: {env: TOKEN}}}}", "us-west-2", "session"},
		{"upstreams: {bedrock: {url: 'https://bedrock-runtime.ap-south-1.amazonaws.com', aws: {" + keys + "}}}", "ap-south-1", ""},
	}
	for _, tt := range tests {
		_, sign, failed := bedrockOf(t, tt.text, e)
		if sign == nil {
			t.Errorf("%s: signs nothing: %s", tt.text, failed)
			continue
		}
		r, err := http.NewRequestWithContext(t.Context(), "POST", "https://bedrock.test/model/m/converse", strings.NewReader("{}"))
		if err != nil {
			t.Fatalf("new request: %v", err)
		}
		if err := sign(r); err != nil {
			t.Errorf("%s: %v", tt.text, err)
		}
		got := r.Header.Get("Authorization")
		if !strings.Contains(got, "Credential=AKID/") || !strings.Contains(got, "/"+tt.region+"/bedrock/") || r.Header.Get("X-Amz-Security-Token") != tt.token {
			t.Errorf("%s: signed as %v, want the region %s and the token %q", tt.text, r.Header, tt.region, tt.token)
		}
	}
}

func TestConfig_BedrockMistakes(t *testing.T) {
	tests := []struct{ text, want string }{
		{"upstreams: {bedrock: {region: Frankfurt}}", "an AWS region such as eu-central-1"},
		{"upstreams: {bedrock: {region: 'eu-'}}", "an AWS region such as eu-central-1"},
		{"upstreams: {bedrock: {aws: {access-key: {env: ID}}}}", "need the field secret-key"},
		{"upstreams: {bedrock: {aws: {access-key: AKID, secret-key: {env: SECRET}}}}", "must not be in the configuration file"},
		{"upstreams: {bedrock: {aws: {access-key: {env: ID}, secret-key: {env: GONE}}}}", "secret-key: environment variable GONE is empty or not set"},
		{"upstreams: {bedrock: {key: {env: ID}, aws: {access-key: {env: ID}, secret-key: {env: SECRET}}}}", "key and aws exclude each other"},
		{"upstreams: {openai: {region: eu-central-1}}", "for the API bedrock, and this is openai"},
		{"upstreams: {model: {api: bedrock}}", "none of v1, "},
	}
	for _, tt := range tests {
		if _, _, failed := bedrockOf(t, tt.text, env("ID=AKID", "SECRET=secret")); !strings.Contains(failed, tt.want) {
			t.Errorf("%s: %q, want %q in it", tt.text, failed, tt.want)
		}
	}
}
