package gateway_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/turn"
)

// pair is a gateway with two providers. The second is the first one's fallback.
type pair struct {
	*harness
	first, second *simulator.Provider
	answered      int // requests that the second had got
}

// newPair starts both inside the test's bubble.
func newPair(t *testing.T, first, second simulator.Script, f gateway.Fallback) *pair {
	p := &pair{first: simulator.New(first), second: simulator.New(second)}
	hosts := map[string]http.RoundTripper{"first.test": p.first.Transport(), "second.test": p.second.Transport()}
	f.To = "second"
	p.harness = newHarnessWith(t, gateway.Config{
		Policy: policy.Patient(),
		Base:   roundTrip(func(req *http.Request) (*http.Response, error) { return hosts[req.URL.Host].RoundTrip(req) }),
		Upstreams: []gateway.Upstream{
			{Name: "first", API: "anthropic", Base: address("first.test"), Fallback: []gateway.Fallback{f}},
			{
				Name: "second", API: "anthropic", Base: address("second.test"),
				Key: func() (string, error) { return "key-of-the-second", nil },
			},
		},
	})
	t.Cleanup(func() { _, _ = p.first.Close(), p.second.Close() })
	return p
}

func TestFailover_FollowsTheEndOfPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, outage(time.Hour), simulator.Script{}, gateway.Fallback{After: 2 * time.Minute})
		resp, text, err := p.get("/v1/messages", whole(claude), "X-Api-Key", "key-of-the-client")
		if err != nil || resp.StatusCode != 200 || time.Since(p.begun) != 2*time.Minute {
			t.Errorf("%d %q, %v after %v", resp.StatusCode, text, err, time.Since(p.begun))
		}
		if h := resp.Header; h.Get("X-Ridethrough-Upstream") != "" && (h.Get("X-Ridethrough-Retries") != "4" || h.Get("X-Ridethrough-Waited-Ms") != "120000") {
			t.Errorf("headers %v", h)
		}
		var events []string
		for _, e := range p.events {
			switch e := e.(type) {
			case turn.Retry:
				events = append(events, "retry at "+e.Upstream)
			case turn.Switched:
				events = append(events, "from "+e.From+" to "+e.To+": "+e.Why)
			case turn.Recovered:
				events = append(events, fmt.Sprintf("recovered at %s after %d in %v", e.Upstream, e.Retries, e.Waited))
			}
		}
		want := strings.Repeat("retry at first, ", 5) + "from first to second: HTTP 529: Overloaded, recovered at second after 5 in 2m0s"
		if got := strings.Join(events, ", "); got != want {
			t.Errorf("events: %s, want %s", got, want)
		}
		seen := p.second.Requests()
		if len(seen) != 1 || seen[0].Header.Get("X-Api-Key") != "key-of-the-second" || seen[0].Header.Get("Authorization") != "" {
			t.Errorf("the second upstream saw %+v", seen)
		}
		for _, r := range p.first.Requests() {
			if r.Header.Get("X-Api-Key") != "key-of-the-client" {
				t.Errorf("the first upstream saw %v", r.Header)
			}
		}
	})
}

func TestFailover_AnswerNamesItsUpstream(t *testing.T) {
	for want, first := range map[string]simulator.Script{"first": {}, "second": outage(time.Hour)} {
		synctest.Test(t, func(t *testing.T) {
			p := newPair(t, first, simulator.Script{}, gateway.Fallback{After: 8 * time.Second})
			resp, _, err := p.get("/v1/messages", whole(claude))
			if got := resp.Header.Get("X-Ridethrough-Upstream"); err != nil || got != want {
				t.Errorf("%q, want %q, %v", got, want, err)
			}
		})
	}
}

func TestFailover_ImmediateForChosenKinds(t *testing.T) {
	for _, reply := range []string{"401", "529"} {
		synctest.Test(t, func(t *testing.T) {
			kinds := fault.Set(0).With(fault.Auth, fault.Overloaded)
			p := newPair(t, simulator.Script{Replies: replies(t, reply)}, simulator.Script{}, gateway.Fallback{Kinds: kinds})
			resp, _, err := p.get("/v1/messages", claude)
			if err != nil || resp.StatusCode != 200 || time.Since(p.begun) > time.Second || len(p.second.Requests()) != 1 {
				t.Errorf("%s: %d, %v after %v", reply, resp.StatusCode, err, time.Since(p.begun))
			}
		})
	}
}

func TestFailover_NotForOtherFinalFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, simulator.Script{Replies: replies(t, "400")}, simulator.Script{}, gateway.Fallback{After: time.Minute})
		resp, _, _ := p.get("/v1/messages", claude)
		if resp.StatusCode != 400 || len(p.second.Requests()) != 0 {
			t.Errorf("%d, %d requests at the second", resp.StatusCode, len(p.second.Requests()))
		}
	})
}

func TestFailover_ReturnsWhenTheFallbackRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		second := simulator.Script{Then: simulator.Status{Code: 401}}
		p := newPair(t, outage(time.Hour), second, gateway.Fallback{After: time.Minute})
		_, text, err := p.get("/v1/messages", claude)
		if err != nil || !strings.Contains(text, "message_stop") || len(p.second.Requests()) != 1 {
			t.Errorf("%q, %v", text[max(0, len(text)-300):], err)
		}
		if took := time.Since(p.begun); took < time.Hour || took > 90*time.Minute {
			t.Errorf("answered after %v", took)
		}
	})
}

func TestFailover_SharesOneBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, outage(48*time.Hour), outage(48*time.Hour), gateway.Fallback{After: time.Hour})
		_, text, err := p.get("/v1/messages", claude)
		if took := time.Since(p.begun); err != nil || took > 8*time.Hour || took < 7*time.Hour || !strings.Contains(text, "gave up after") {
			t.Errorf("%q, %v after %v", text[max(0, len(text)-300):], err, took)
		}
	})
}

func TestConfig_CheckFindsMistakes(t *testing.T) {
	a, b := address("a.test"), address("b.test")
	one := gateway.Upstream{Name: "one", API: "openai", Base: a}
	key := func() (string, error) { return "k", nil }
	tests := []struct {
		want string
		with []gateway.Upstream
	}{
		{"", []gateway.Upstream{one, {Name: "two", API: "openai", Base: b, NoKey: true, Fallback: []gateway.Fallback{{To: "one"}}, Key: nil}, {Name: "three", API: "openai", Base: b, Fallback: []gateway.Fallback{{To: "two"}}}}[:1]},
		{"used twice", []gateway.Upstream{one, one}},
		{`no API is named "x"`, []gateway.Upstream{{Name: "one", API: "x"}}},
		{"want a name of", []gateway.Upstream{{Name: "v1", API: "openai"}}},
		{"want a name of", []gateway.Upstream{{Name: "a/b", API: "openai"}}},
		{"is an endpoint", []gateway.Upstream{{Name: "one", API: "openai", Base: &url.URL{Scheme: "http", Host: "a", Path: "/v1/chat/completions"}}}},
		{"has no user", []gateway.Upstream{{Name: "one", API: "openai", Base: &url.URL{Scheme: "http", Host: "a", User: url.User("me")}}}},
		{"no upstream has that name", []gateway.Upstream{{Name: "one", API: "openai", Fallback: []gateway.Fallback{{To: "two"}}}}},
		{"it is the upstream itself; name another model", []gateway.Upstream{{Name: "one", API: "openai", Fallback: []gateway.Fallback{{To: "one"}}}}},
		{"", []gateway.Upstream{{Name: "one", API: "openai", Fallback: []gateway.Fallback{{To: "one", Model: "small"}, {To: "one", Model: "tiny"}}}}},
		{"in the list already", []gateway.Upstream{{Name: "one", API: "openai", Fallback: []gateway.Fallback{{To: "one", Model: "small"}, {To: "one", Model: "small"}}}}},
		{"its model is no name", []gateway.Upstream{{Name: "one", API: "openai", Fallback: []gateway.Fallback{{To: "one", Model: "a\nb"}}}}},
		{"its model is no name", []gateway.Upstream{{Name: "one", API: "openai", Fallback: []gateway.Fallback{{To: "one", Model: strings.Repeat("a", 257)}}}}},
		{"", []gateway.Upstream{
			{Name: "one", API: "openai", Key: key, Fallback: []gateway.Fallback{{To: "two"}}},
			{Name: "two", API: "openai", Base: b, Key: key, Fallback: []gateway.Fallback{{To: "one"}}},
		}},
		{"it needs a key of its own", []gateway.Upstream{one, {Name: "two", API: "openai", Base: b, Fallback: []gateway.Fallback{{To: "one"}}}}},
		{"answers no request", []gateway.Upstream{{Name: "one", API: "anthropic", Key: key}, {Name: "two", API: "gemini", Fallback: []gateway.Fallback{{To: "one"}}}}},
		{"Key, NoKey and Sign exclude each other", []gateway.Upstream{{Name: "one", API: "openai", Key: key, NoKey: true}}},
		{"malformed", []gateway.Upstream{{Name: "one", API: "openai", Routes: []gateway.Route{{Models: []string{"["}}}}}},
		{"negative", []gateway.Upstream{{Name: "one", API: "openai", Limits: &gateway.Limits{Idle: -1}}}},
	}
	for _, tt := range tests {
		_, err := gateway.New(gateway.Config{Upstreams: tt.with})
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("want %q, got %v", tt.want, err)
		}
	}
}

func TestRoute_OverridesItsUpstream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		provider := simulator.New(outage(time.Hour))
		defer provider.Close()
		w := newHarnessWith(t, gateway.Config{
			Policy: policy.Patient(), Base: provider.Transport(),
			Upstreams: []gateway.Upstream{{
				Name: "anthropic", API: "anthropic", Base: address("provider.test"),
				Routes: []gateway.Route{{Models: []string{"claude-haiku*"}, Policy: new(policy.Simple())}},
			}},
		})
		_, _, _ = w.get("/v1/messages", strings.Replace(whole(claude), "sonnet", "haiku-5", 1))
		if took := time.Since(w.begun); took != 7*time.Second {
			t.Errorf("the route's policy took %v, want 7s", took)
		}
		_, _, _ = w.get("/v1/messages", whole(claude))
		if took := time.Since(w.begun); took < time.Hour {
			t.Errorf("the upstream's policy took %v", took)
		}
	})
}

func TestFailover_CredentialsStayAtTheirUpstream(t *testing.T) {
	tests := []struct{ path, header, want string }{
		{"/v1/messages", "X-Api-Key", "secret"},
		{"/v1/messages", "Authorization", "secret"},
		{"/v1/messages", "X-Goog-Api-Key", ""},
		{"/v1/messages", "Cookie", ""},
		{"/v1/chat/completions", "Authorization", "secret"},
		{"/v1/chat/completions", "X-Api-Key", ""},
		{"/v1/models", "X-Api-Key", ""},
		{"/v1beta/models/gemini-3:generateContent", "X-Goog-Api-Key", "secret"},
		{"/v1beta/models/gemini-3:generateContent", "X-Api-Key", ""},
		{"/api/chat", "Authorization", "secret"},
		{"/ollama/v1/chat/completions", "X-Api-Key", ""},
		{"/v1/messages", "X-Ridethrough-Token", ""},
		{"/v1/models", "X-Ridethrough-Token", ""},
	}
	const query = "key=secret&alt=sse&%6bey=secret"
	for _, tt := range tests {
		var seen *http.Request
		g := newGateway(t, gateway.Config{Base: roundTrip(func(req *http.Request) (*http.Response, error) {
			seen = req
			return says(200, "{}", "Content-Type", "application/json")(req)
		})})
		req, _ := http.NewRequestWithContext(t.Context(), "POST", "http://gateway.test"+tt.path+"?"+query, strings.NewReader("{}"))
		req.Header.Set(tt.header, "secret")
		g.ServeHTTP(&recorder{header: http.Header{}}, req)
		if seen == nil {
			t.Fatalf("%s: nothing was sent", tt.path)
		}
		if got := seen.Header.Get(tt.header); got != tt.want {
			t.Errorf("%s: %s is %q, want %q", tt.path, tt.header, got, tt.want)
		}
		gemini := strings.Contains(tt.path, "gemini")
		if got := seen.URL.RawQuery; gemini && got != query || !gemini && got != "alt=sse" {
			t.Errorf("%s: the query is %q", tt.path, got)
		}
	}
}

func TestUpstream_UnreadableKeyIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarnessWith(t, gateway.Config{Policy: policy.Patient(), Upstreams: []gateway.Upstream{{
			Name: "anthropic", API: "anthropic", Key: func() (string, error) { return "", io.ErrUnexpectedEOF },
		}}})
		resp, text, err := w.get("/v1/messages", claude)
		if err != nil || resp.StatusCode != 503 || !strings.Contains(text, "the key of the upstream anthropic cannot be read") {
			t.Errorf("status %d, body %q, error %v; want no error, status 503, body with \"the key of the upstream anthropic cannot be read\"", resp.StatusCode, text, err)
		}
	})
}

func TestFailover_ReturnsWhenTheFallbacksKeyFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		home := simulator.New(outage(20 * time.Minute))
		defer home.Close()
		none := func() (string, error) { return "", errors.New("no such file") }
		w := newHarnessWith(t, gateway.Config{
			Policy: policy.Patient(), Base: home.Transport(),
			Upstreams: []gateway.Upstream{
				{Name: "first", API: "anthropic", Base: address("first.test"), Fallback: []gateway.Fallback{{To: "second", After: time.Minute}}},
				{Name: "second", API: "anthropic", Base: address("second.test"), Key: none},
			},
		})
		_, text, err := w.get("/v1/messages", claude)
		if err != nil || !strings.Contains(text, "message_stop") || time.Since(w.begun) < 20*time.Minute {
			t.Errorf("%q, %v after %v", text[max(0, len(text)-300):], err, time.Since(w.begun))
		}
	})
}

func TestFailover_CommandsFollowTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, outage(time.Hour), simulator.Script{}, gateway.Fallback{After: 2 * time.Minute})
		time.AfterFunc(time.Minute, func() { p.gateway.Act(1, gateway.Pause) })
		time.AfterFunc(10*time.Minute, func() { p.gateway.Act(1, gateway.Resume) })
		_, text, err := p.get("/v1/messages", claude)
		if err != nil || !strings.Contains(text, "message_stop") || time.Since(p.begun) != 10*time.Minute || len(p.second.Requests()) != 1 {
			t.Errorf("%q, %v after %v", text[max(0, len(text)-300):], err, time.Since(p.begun))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		provider := simulator.New(outage(time.Hour))
		defer provider.Close()
		slow := func() (string, error) { time.Sleep(time.Minute); return "key", nil }
		w := newHarnessWith(t, gateway.Config{
			Policy: policy.Patient(), Base: provider.Transport(),
			Upstreams: []gateway.Upstream{
				{Name: "first", API: "anthropic", Base: address("first.test"), Fallback: []gateway.Fallback{{To: "second", After: time.Minute}}},
				{Name: "second", API: "anthropic", Base: address("second.test"), Key: slow},
			},
		})
		time.AfterFunc(90*time.Second, func() { w.gateway.Act(1, gateway.GiveUp) })
		_, text, _ := w.get("/v1/messages", claude)
		if !strings.Contains(text, "given up by command") || time.Since(w.begun) != 2*time.Minute {
			t.Errorf("%q after %v", text[max(0, len(text)-300):], time.Since(w.begun))
		}
	})
}

func TestFailover_PausedUpstreamIsLeftWhenPatienceEnds(t *testing.T) {
	for after, want := range map[time.Duration]time.Duration{2 * time.Minute: 2 * time.Minute, 0: 10 * time.Minute} { // 0: never
		synctest.Test(t, func(t *testing.T) {
			p := newPair(t, simulator.Script{}, simulator.Script{}, gateway.Fallback{After: after})
			p.gateway.ActOn("first", gateway.Pause)
			time.AfterFunc(10*time.Minute, func() { p.gateway.ActOn("first", gateway.Resume) })
			_, text, err := p.get("/v1/messages", claude)
			second := len(p.second.Requests())
			if err != nil || !strings.Contains(text, "message_stop") || time.Since(p.begun) != want || (second == 1) != (after > 0) {
				t.Errorf("fallback after %v: answered after %v with %d requests to it (%v), want after %v", after, time.Since(p.begun), second, err, want)
			}
		})
	}
}

// TestFailover_LoopOfFallbacksEnds is about two upstreams that name each other: a fallback's own are not followed.
func TestFailover_LoopOfFallbacksEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := map[string]int{}
		key := func() (string, error) { return "key", nil }
		w := newHarnessWith(t, gateway.Config{
			Policy: policy.Simple(),
			Base: roundTrip(func(req *http.Request) (*http.Response, error) {
				asked[req.URL.Host]++
				return says(503, `{"error":{"message":"overloaded"}}`, "Content-Type", "application/json")(req)
			}),
			Upstreams: []gateway.Upstream{
				{Name: "first", API: "openai", Base: address("first.test"), Key: key, Fallback: []gateway.Fallback{{To: "second", Model: "x"}, {To: "first", Model: "y"}}},
				{Name: "second", API: "openai", Base: address("second.test"), Key: key, Fallback: []gateway.Fallback{{To: "first"}}},
			},
		})
		_, _, _ = w.get("/v1/chat/completions", gpt)
		if asked["first.test"] != 8 || asked["second.test"] != 4 {
			t.Errorf("requests %v, want the four tries of the policy at each of the three", asked)
		}
	})
}

func TestFailover_WaitIsBoundedByPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, outage(time.Hour), simulator.Script{}, gateway.Fallback{After: 2 * time.Minute})
		time.AfterFunc(110*time.Second, func() {
			all := p.gateway.Waits()
			if len(all) != 1 || all[0].Due.Sub(p.begun) != 2*time.Minute || all[0].Waited != 110*time.Second {
				t.Errorf("%+v", all)
			}
		})
		_, _, _ = p.get("/v1/messages", claude)
	})
}

func TestFailover_ReturnedRequestIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		home, away := simulator.New(outage(time.Hour)), simulator.New(simulator.Script{Then: simulator.Status{Code: 401}})
		defer home.Close()
		defer away.Close()
		hosts := map[string]http.RoundTripper{"first.test": home.Transport(), "second.test": away.Transport()}
		w := newHarnessWith(t, gateway.Config{
			Policy: policy.Policy{Retries: 1, Backoff: policy.Backoff{Steps: []time.Duration{time.Second}}, MaxWait: time.Hour},
			Base:   roundTrip(func(req *http.Request) (*http.Response, error) { return hosts[req.URL.Host].RoundTrip(req) }),
			Upstreams: []gateway.Upstream{
				{
					Name: "first", API: "anthropic", Base: address("first.test"),
					Fallback: []gateway.Fallback{{To: "second", Kinds: fault.Set(0).With(fault.Overloaded)}},
				},
				{Name: "second", API: "anthropic", Base: address("second.test"), NoKey: true},
			},
		})
		for _, requests := range []int{2, 2} {
			resp, _, _ := w.get("/v1/messages", claude)
			if resp.StatusCode != 529 || len(home.Requests()) != requests {
				t.Errorf("%d after %d requests", resp.StatusCode, len(home.Requests()))
			}
		}
	})
}

func TestUpstream_KeyIsRedactedInErrors(t *testing.T) {
	const key = "0123456789abcdef0123456789abcdef" // in a form that no pattern of keys matches
	for _, path := range []string{"/v1/messages", "/v1/models"} {
		synctest.Test(t, func(t *testing.T) {
			w := newHarnessWith(t, gateway.Config{
				Policy: policy.Patient(),
				Base:   says(401, `{"error":{"type":"authentication_error","message":"the key `+key+` is not one of ours"}}`, "Content-Type", "application/json"),
				Upstreams: []gateway.Upstream{{
					Name: "anthropic", API: "anthropic", Base: address("provider.test"), Key: func() (string, error) { return key, nil },
				}},
			})
			resp, text, err := w.get(path, claude, "Anthropic-Version", "2023-06-01")
			if err != nil || resp.StatusCode != 401 || strings.Contains(text, key) || !strings.Contains(text, "the key "+strings.Repeat("*", len(key))+" is not") {
				t.Errorf("%s: status %d, body %q, error %v", path, resp.StatusCode, text, err)
			}
			if text := fmt.Sprintf("%+v", w.events); strings.Contains(text, key) {
				t.Errorf("%s: events with the key: %s", path, text)
			}
		})
	}
}
