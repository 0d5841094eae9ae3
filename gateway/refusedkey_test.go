package gateway_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/policy"
)

// expired is what a provider says of the key "old".
const expired = `{"type":"error","error":{"type":"authentication_error","message":"The token is expired"},"request_id":"req_1"}`

// rotating is a provider that accepts every key but "old". It answers the first requests with that one with 529.
type rotating struct {
	http.RoundTripper
	faults int
	status int // of a refusal

	mu   sync.Mutex
	keys []string // that it was sent
}

func (p *rotating) RoundTrip(req *http.Request) (*http.Response, error) {
	key := req.Header.Get("X-Api-Key") + strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer ") + req.Header.Get("X-Goog-Api-Key")
	p.mu.Lock()
	p.keys = append(p.keys, key)
	n := len(p.keys)
	p.mu.Unlock()
	switch {
	case key != "old":
		return p.RoundTripper.RoundTrip(req)
	case n <= p.faults:
		return says(529, messageError)(req)
	}
	return says(p.status, expired, "Content-Type", "application/json", "Request-Id", "req_1", "Www-Authenticate", "Bearer")(req)
}

// newRotating returns a harness with such a provider, whose upstreams have a key of their own or the clients'.
func newRotating(t *testing.T, faults, status int, key func() (string, error)) (*harness, *rotating) {
	provider := simulator.New(simulator.Script{})
	t.Cleanup(func() { _ = provider.Close() })
	p := &rotating{RoundTripper: provider.Transport(), faults: faults, status: status}
	upstreams := everything(address("provider.test"))
	for i := range upstreams {
		upstreams[i].Key = key
	}
	return newHarnessWith(t, gateway.Config{Upstreams: upstreams, Policy: policy.Patient(), Base: p}), p
}

// withKey returns the headers of an agent with a key.
func withKey(agent, path, key string) []string {
	switch path {
	case messages:
		return []string{"User-Agent", agent, "X-Api-Key", key}
	case google:
		return []string{"User-Agent", agent, "X-Goog-Api-Key", key}
	}
	return []string{"User-Agent", agent, "Authorization", "Bearer " + key}
}

// An agent whose key comes from a program renews it at a 401 or 403, and sends its request again.
func TestRefusedKey_ClientGetsTheProvidersAnswer(t *testing.T) {
	for _, tt := range []struct{ agent, path string }{
		{claudeCode, messages}, {codexExec, responses}, {geminiCLI, google}, {qwenCode, chat}, {opencode, messages}, {pi, chat}, {cline, chat}, {plainSDK, chat},
	} {
		for _, status := range []int{401, 403} {
			synctest.Test(t, func(t *testing.T) {
				w, p := newRotating(t, 0, status, nil)
				resp, text, err := w.get(tt.path, bodyOf(tt.path), withKey(tt.agent, tt.path, "old")...)
				h := resp.Header
				if err != nil || resp.StatusCode != status || text != expired || h.Get("Request-Id") != "req_1" || h.Get("Www-Authenticate") != "Bearer" || h.Get("X-Should-Retry") != "" {
					t.Errorf("%s with an old key: got %d %v %q, error %v; want the provider's %d as it is", tt.agent, resp.StatusCode, h, text, err, status)
				}
				resp, text, err = w.get(tt.path, bodyOf(tt.path), withKey(tt.agent, tt.path, "new")...)
				if err != nil || resp.StatusCode != 200 || strings.Contains(text, "expired") || len(p.keys) != 2 {
					t.Errorf("%s with a new key: got %d %q, error %v after %d requests; want an answer after 2", tt.agent, resp.StatusCode, text, err, len(p.keys))
				}
			})
		}
	}
}

// No key of the client's changes anything where the upstream has its own: the client is not to ask eleven times.
func TestRefusedKey_OfTheUpstreamEndsTheClientsRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, p := newRotating(t, 0, 401, func() (string, error) { return "old", nil })
		resp, text, err := w.get(messages, claude, withKey(claudeCode, messages, "new")...)
		if err != nil || resp.StatusCode != 401 || text != expired || resp.Header.Get("X-Should-Retry") != "false" || len(p.keys) != 1 {
			t.Errorf("got %d %v %q, error %v after %d requests; want the 401 with X-Should-Retry: false after 1", resp.StatusCode, resp.Header, text, err, len(p.keys))
		}
	})
}

// Where a key expires in the wait, the status is lost. The stream ends so that the program asks again, once more
// streamed, and gets the 401 at once.
func TestRefusedKey_AfterTheCommitTheProgramAsksAgain(t *testing.T) {
	const words = `ridethrough: service unavailable, connection reset: HTTP 401: The token is expired`
	for _, tt := range []struct {
		agent, path, body string
		event             string // of the stream's end; "": none
		cut               bool
	}{
		{claudeCode, messages, "", `{"type":"error","error":{"type":"overloaded_error","message":"` + words, false},
		{codexExec, responses, "", `"code":"server_error","message":"` + words, false},
		{geminiCLI, google, "", `{"error":{"code":503,"message":"` + words, false},
		{qwenCode, chat, "", "", true},
		{opencode, messages, "", `{"type":"overloaded_error","message":"` + words, false},
		{opencode, chat, "", words, true},
		{pi, chat, "", words, true},
		{plainSDK, chat, instructed(chat, inContinue, 0), words, true},
		{vercel, messages, instructed(messages, inCline, 0), words, false},
		{vercel, messages, "", `"type":"authentication_error"`, false},
		{plainSDK, messages, "", `"type":"authentication_error"`, false},
		{plainSDK, chat, "", `"type":"authentication_error"`, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			w, p := newRotating(t, 3, 401, nil)
			body := tt.body
			if body == "" {
				body = bodyOf(tt.path)
			}
			session := []string{"X-Session-Id", "s"}
			resp, text, err := w.get(tt.path, body, append(withKey(tt.agent, tt.path, "old"), session...)...)
			if resp.StatusCode != 200 || (err != nil) != tt.cut || !strings.Contains(text, tt.event) || tt.event == "" && strings.Contains(text, "error") {
				t.Errorf("%s, %s: got %d %q, error %v; want a stream that ends with %q, cut: %v", tt.agent, tt.path, resp.StatusCode, text, err, tt.event, tt.cut)
			}
			begun := time.Now()
			resp, text, err = w.get(tt.path, body, append(withKey(tt.agent, tt.path, "old"), session...)...)
			if err != nil || resp.StatusCode != 401 || text != expired || resp.Header.Get("X-Should-Retry") != "" || time.Since(begun) > time.Second {
				t.Errorf("%s, again: got %d %v %q after %v, error %v; want the provider's 401 at once", tt.agent, resp.StatusCode, resp.Header, text, time.Since(begun), err)
			}
			resp, text, err = w.get(tt.path, body, append(withKey(tt.agent, tt.path, "new"), session...)...)
			if err != nil || resp.StatusCode != 200 || strings.Contains(text, "expired") || len(p.keys) != 6 {
				t.Errorf("%s with a new key: got %d %q, error %v after %d requests; want an answer after 6", tt.agent, resp.StatusCode, text, err, len(p.keys))
			}
		})
	}
}

// Two calls of one client that share a request are both told that its key is refused.
func TestRefusedKey_CallThatHasJoinedIsNotToldToStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, p := newRotating(t, 1, 401, nil)
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() {
				resp, text, err := w.get(messages, claude, append(withKey("Anthropic/JS 1.14.0", messages, "old"), "X-Stainless-Retry-Count", "1")...)
				if err != nil || resp.StatusCode != 401 || resp.Header.Get("X-Should-Retry") != "" || !strings.Contains(text, `"authentication_error"`) || !strings.Contains(text, "The token is expired") {
					t.Errorf("got %d %v %q, error %v; want the 401 without X-Should-Retry", resp.StatusCode, resp.Header, text, err)
				}
			})
			synctest.Wait() // the first one waits, and the second joins it
		}
		all.Wait()
		if len(p.keys) != 2 {
			t.Errorf("%d requests reached the provider, want 2 that both calls share", len(p.keys))
		}
	})
}

// A wait that is stated longer than SDKs should sleep is left out of the last answer; its end is in a header of its own.
func TestGiveUp_LongWaitsAreNotStated(t *testing.T) {
	at := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
	for _, tt := range []struct {
		name   string
		value  string
		status int
		keeps  bool
		opens  time.Duration // 0: it is not said
		extra  []string
	}{
		{"Retry-After", "7200", 429, false, 2 * time.Hour, nil},
		{"Retry-After", "61", 429, false, 61 * time.Second, nil},
		{"Retry-After", "60", 429, true, 0, nil},
		{"Retry-After", "0", 429, true, 0, nil},
		{"Retry-After", "1e999", 429, false, 400 * 24 * time.Hour, nil},
		{"Retry-After-Ms", "7200000", 503, false, 2 * time.Hour, nil},
		{"Retry-After-Ms", "60000", 503, true, 0, nil},
		{"X-Ms-Retry-After-Ms", "7200000", 429, false, 2 * time.Hour, nil},
		{"X-Amz-Retry-After", "7200000", 429, false, 2 * time.Hour, nil},
		{"X-Amz-Retry-After", "60000", 429, true, 0, nil},
		{"Retry-After", "7200", 429, true, 2 * time.Hour, []string{"X-Should-Retry", "true"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := policy.Patient()
			p.Retries, p.MaxRetryAfter, p.Quota.Max = 1, time.Second, time.Second
			w := newHarnessOf(t, p, says(tt.status, `{"error":{"message":"no","type":"rate_limit_exceeded"}}`, append(tt.extra, tt.name, tt.value, "Content-Type", "application/json")...))
			resp, _, err := w.get(chat, whole(gpt), "User-Agent", plainSDK)
			opens := ""
			if tt.opens > 0 {
				opens = time.Now().Add(tt.opens).UTC().Format(time.RFC3339)
			}
			got := resp.Header.Get(tt.name)
			if err != nil || resp.StatusCode != tt.status || (got != "") != tt.keeps || resp.Header.Get("X-Ridethrough-Opens-At") != opens {
				t.Errorf("%s: %s: got %d %v, error %v; want it kept: %v, X-Ridethrough-Opens-At %q", tt.name, tt.value, resp.StatusCode, resp.Header, err, tt.keeps, opens)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		p := policy.Patient()
		p.Retries, p.MaxRetryAfter = 1, time.Second
		for wait, keeps := range map[time.Duration]bool{time.Hour: false, 20 * time.Second: true} {
			w := newHarnessOf(t, p, says(503, "", "Retry-After", at(wait)))
			if resp, _, _ := w.get(chat, whole(gpt), "User-Agent", plainSDK); (resp.Header.Get("Retry-After") != "") != keeps {
				t.Errorf("a date in %v: got %v, want it kept: %v", wait, resp.Header, keeps)
			}
		}
	})
}
