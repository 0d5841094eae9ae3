package gateway_test

import (
	"cmp"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/policy"
)

// seen is a provider that notes the last request.
type seen struct {
	url    string
	header http.Header
}

func (s *seen) RoundTrip(req *http.Request) (*http.Response, error) {
	s.url, s.header = req.URL.String(), req.Header
	return says(200, messageStart+messageHi+messageStop)(req)
}

// at returns an upstream at an address.
func at(t *testing.T, name, api, base string) gateway.Upstream {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	return gateway.Upstream{Name: name, API: api, Base: u}
}

func TestGateway_FindsTheUpstreamOfAPath(t *testing.T) {
	const (
		google     = "https://aiplatform.googleapis.com"
		deployment = "/openai/deployments/d/chat/completions?api-version=2024-10-21"
		project    = "/projects/p/locations/"
	)
	res := at(t, "azure", "azure", "https://res.openai.azure.com")
	named := func(name, api, base string) []gateway.Upstream { return []gateway.Upstream{at(t, name, api, base)} }
	tests := []struct {
		path, header, want string
		more               []gateway.Upstream // before the defaults
	}{
		// Vertex AI
		{path: "/v1" + project + "us-east5/publishers/anthropic/models/m@1:rawPredict", want: "https://us-east5-aiplatform.googleapis.com/v1" + project + "us-east5/publishers/anthropic/models/m@1:rawPredict"},
		{path: project + "global/publishers/anthropic/models/m:streamRawPredict", want: google + "/v1" + project + "global/publishers/anthropic/models/m:streamRawPredict"},
		{path: "/v1" + project + "eu/publishers/anthropic/models/count-tokens:rawPredict", want: "https://aiplatform.eu.rep.googleapis.com/v1" + project + "eu/publishers/anthropic/models/count-tokens:rawPredict"},
		{path: "/v1" + project + "us-east5/publishers/anthropic/models/m:rawPredict", header: "Anthropic-Version", want: "https://us-east5-aiplatform.googleapis.com/v1" + project + "us-east5/publishers/anthropic/models/m:rawPredict"},
		{path: "/v1beta1" + project + "us-central1/publishers/google/models/g:streamGenerateContent?alt=sse&x=1", want: "https://us-central1-aiplatform.googleapis.com/v1beta1" + project + "us-central1/publishers/google/models/g:streamGenerateContent?alt=sse&x=1"},
		{path: "/v1" + project + "us-central1/endpoints/7:generateContent", want: "https://us-central1-aiplatform.googleapis.com/v1" + project + "us-central1/endpoints/7:generateContent"},
		{path: "/v1" + project + "global/endpoints/openapi/chat/completions", want: google + "/v1" + project + "global/endpoints/openapi/chat/completions"},
		{path: "/v1/publishers/google/models/g:generateContent?key=k", want: google + "/v1/publishers/google/models/g:generateContent?key=k"},
		{path: "/vertex/v1" + project + "global/publishers/google/models/g%2Fh:generateContent", want: google + "/v1" + project + "global/publishers/google/models/g%2Fh:generateContent"},
		{path: "/v1" + project + "us-east5/publishers/google/models/g:generateContent", more: named("v", "vertex", "https://proxy.test/google/v1"), want: "https://proxy.test/google/v1" + project + "us-east5/publishers/google/models/g:generateContent"},
		{path: "/v1" + project + "evil.test%23/publishers/google/models/g:generateContent", want: google + "/v1" + project + "evil.test%23/publishers/google/models/g:generateContent"},
		{path: "/v1" + project + "US-EAST5/publishers/google/models/g:generateContent", want: google + "/v1" + project + "US-EAST5/publishers/google/models/g:generateContent"},
		{path: "/v1" + project + "..%2F..%2Fx/publishers/google/models/g:generateContent"},
		{path: "/v1" + project + "../x/publishers/google/models/g:generateContent"},
		{path: "/v1//projects/p/locations/l/publishers/google/models/g:generateContent"},

		// Azure
		{path: deployment, more: []gateway.Upstream{res}, want: "https://res.openai.azure.com" + deployment},
		{path: deployment},
		{path: deployment, more: named("openai", "openai", "https://res.openai.azure.com/openai"), want: "https://res.openai.azure.com" + deployment},
		{path: "/openai/v1/responses", header: "Api-Key", more: []gateway.Upstream{res}, want: "https://res.openai.azure.com/openai/v1/responses"},
		{path: "/openai/v1/responses?api-version=preview", more: []gateway.Upstream{res}, want: "https://res.openai.azure.com/openai/v1/responses?api-version=preview"},
		{path: "/openai/v1/responses", more: []gateway.Upstream{res}, want: "https://api.openai.com/v1/responses"},
		{path: "/openai/v1/responses", header: "Api-Key", want: "https://api.openai.com/v1/responses"},
		{path: "/azure/openai/deployments/d%2Fe/chat/completions", more: []gateway.Upstream{res}, want: "https://res.openai.azure.com/openai/deployments/d%2Fe/chat/completions"},
		{path: "/azure/v1/chat/completions", more: []gateway.Upstream{res}, want: "https://res.openai.azure.com/openai/v1/chat/completions"},
		{path: "/azure/deployments/d/chat/completions", more: named("azure", "azure", "https://res.test/openai/v1/"), want: "https://res.test/openai/deployments/d/chat/completions"},
		{path: "/OpenAI/deployments/d/chat/completions", more: []gateway.Upstream{res}},

		// Gemini's Interactions
		{path: "/v1beta/interactions", want: "https://generativelanguage.googleapis.com/v1beta/interactions"},
		{path: "/g/v1beta/interactions", more: named("g", "gemini", "https://proxy.test/go"), want: "https://proxy.test/go/v1beta/interactions"},
		{path: "/v1beta1" + project + "l/interactions", want: "https://l-aiplatform.googleapis.com/v1beta1" + project + "l/interactions"},

		// Cohere
		{path: "/v2/chat", want: "https://api.cohere.com/v2/chat"},
		{path: "/v2/rerank", want: "https://api.cohere.com/v2/rerank"},
		{path: "/c/v2/chat", more: named("c", "cohere", "https://proxy.test/co/v2"), want: "https://proxy.test/co/v2/chat"},
		{path: "/v2x/chat"},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			s := &seen{}
			all := tt.more
			for _, u := range gateway.Defaults() {
				if len(tt.more) == 0 || u.Name != tt.more[0].Name {
					all = append(all, u)
				}
			}
			w := newHarnessWith(t, gateway.Config{Upstreams: all, Policy: policy.Policy{}, Base: s})
			resp, text, _ := w.get(tt.path, whole(gpt), cmp.Or(tt.header, "X-Other"), "2023-06-01")
			if s.url != tt.want || (tt.want == "") != (resp.StatusCode == http.StatusNotFound) {
				t.Errorf("%s with header %q: sent to %q, status %d, %q; want %q", tt.path, tt.header, s.url, resp.StatusCode, text, tt.want)
			}
		})
	}
}

func TestGateway_CredentialsOfCloudsPass(t *testing.T) {
	const secret = "secret"
	key := func() (string, error) { return "own", nil }
	for _, tt := range []struct {
		path, sent, want string // headers
		own              bool
	}{
		{"/v1/projects/p/locations/global/publishers/anthropic/models/m:rawPredict", "Authorization", "Authorization: secret", false},
		{"/v1/projects/p/locations/global/publishers/anthropic/models/m:rawPredict", "X-Api-Key", "", false},
		{"/v1/publishers/google/models/g:generateContent", "X-Goog-Api-Key", "X-Goog-Api-Key: secret", false},
		{"/v1/projects/p/locations/global/publishers/google/models/g:generateContent", "X-Goog-Api-Key", "Authorization: Bearer own", true},
		{"/openai/deployments/d/chat/completions", "Api-Key", "Api-Key: secret", false},
		{"/openai/deployments/d/chat/completions", "Authorization", "Authorization: secret", false},
		{"/openai/deployments/d/chat/completions", "Authorization", "Api-Key: own", true},
		{"/v2/chat", "Authorization", "Authorization: secret", false},
		{"/v2/chat", "X-Api-Key", "", false},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &seen{}
			all := everything(address("provider.test"))
			for i := range all {
				if tt.own {
					all[i].Key = key
				}
			}
			w := newHarnessWith(t, gateway.Config{Upstreams: all, Base: s})
			_, _, _ = w.get(tt.path, whole(gpt), tt.sent, secret)
			got := ""
			for _, name := range []string{"Authorization", "X-Api-Key", "X-Goog-Api-Key", "Api-Key"} {
				for _, value := range s.header[name] {
					got += name + ": " + value
				}
			}
			if s.url == "" || got != tt.want {
				t.Errorf("%s with %s, own key %v: sent %q to %q, want %q", tt.path, tt.sent, tt.own, got, s.url, tt.want)
			}
		})
	}
}

func TestConfig_AzureNeedsItsAddress(t *testing.T) {
	err := gateway.Config{Upstreams: []gateway.Upstream{{Name: "azure", API: "azure"}}}.Check()
	const want = `upstream "azure": the API azure has no public URL; want the one of your resource, such as https://NAME.openai.azure.com`
	if err == nil || err.Error() != want {
		t.Errorf("Check: got %v, want %s", err, want)
	}
}

// A request that only one API has a path for stays with upstreams of that API.
func TestFailover_StaysWithThePathsOwner(t *testing.T) {
	tests := []struct{ path, want string }{
		{"/first/openai/deployments/d/chat/completions", " first first"},
		{"/first/v1/chat/completions", " first first second second"},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			hosts := ""
			first, second := at(t, "first", "azure", "http://first"), at(t, "second", "openai", "http://second")
			second.NoKey = true
			first.Fallback = []gateway.Fallback{{To: "second"}}
			w := newHarnessWith(t, gateway.Config{
				Upstreams: []gateway.Upstream{first, second}, Policy: policy.Policy{Retries: 1},
				Base: roundTrip(func(req *http.Request) (*http.Response, error) {
					hosts += " " + req.URL.Host
					return says(503, "")(req)
				}),
			})
			_, _, _ = w.get(tt.path, gpt)
			if hosts != tt.want {
				t.Errorf("%s: asked%s, want%s", tt.path, hosts, tt.want)
			}
		})
	}
}
