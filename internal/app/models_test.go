package app_test

import (
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/app"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// parse returns the configuration of a text.
func parse(t *testing.T, text string) *config.Config {
	t.Helper()
	c, err := config.Parse(filepath.Join(t.TempDir(), "config.yaml"), []byte(text))
	if err != nil {
		t.Fatalf("Parse: %v", config.Excerpts(err))
	}
	return &c
}

// modelsOf returns the models of a configuration.
func modelsOf(c *config.Config, list string) *app.Models {
	return app.NewModels(env(list), func() *config.Config { return c }, classify.Classifier{})
}

// provided is a simulated provider on loopback that records the requests.
type provided struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string // "KEY MODEL" of each
}

func provide(t *testing.T, script string) *provided {
	t.Helper()
	replies, err := simulator.Parse(script)
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	sim := simulator.New(simulator.Script{Replies: replies[:len(replies)-1], Then: replies[len(replies)-1]})
	p := &provided{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, model, _ := strings.Cut(string(body), `"model":"`)
		model, _, _ = strings.Cut(model, `"`)
		p.mu.Lock()
		p.seen = append(p.seen, r.Header.Get("X-Api-Key")+" "+model)
		p.mu.Unlock()
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		sim.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { p.Close(); _ = sim.Close() })
	return p
}

// asked returns the requests since the last call.
func (p *provided) asked() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer func() { p.seen = nil }()
	return strings.Join(p.seen, ", ")
}

// turnOf runs a turn and returns its answer and the switches.
func turnOf(t *testing.T, w agent.Agent) (answer, switched string) {
	t.Helper()
	for e, err := range w.Run(t.Context(), turn.State{}, turn.Begin("t1", "hello")...) {
		if err != nil {
			t.Fatalf("Run: %v", err)
		}
		switch e := e.(type) {
		case turn.AssistantMessage:
			answer = e.Content.Text()
		case turn.Switched:
			switched += e.From + " → " + e.To
		case turn.Error:
			answer = "error: " + e.Message
		}
	}
	return answer, switched
}

func TestModels_FileDrivesGatewayAndAgentBothFailingOver(t *testing.T) {
	down, up := provide(t, "529"), provide(t, `say:"The second one."`)
	dir := t.TempDir()
	name := filepath.Join(dir, "config.yaml")
	text := fmt.Sprintf(`
policies: {quick: {backoff: [1ms], retries: 2}}
upstreams:
  first:
    api: anthropic
    url: %s
    key: {file: first-key}
    policy: quick
    fallback: [{to: second, model: claude-small}]
  second: {api: anthropic, url: %s, key: {env: SECOND_KEY}}
`, down.URL, up.URL)
	for file, content := range map[string]string{"config.yaml": text, "first-key": "key-of-first\n"} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
			t.Fatalf("WriteFile: %v", err)
		}
	}
	c, err := config.Load(name)
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	vars := "SECOND_KEY=key-of-second ANTHROPIC_API_KEY=key-of-the-user"
	const first, second = "key-of-first claude-large, key-of-first claude-large, key-of-first claude-large", "key-of-second claude-small"

	made, err := c.Gateway(env(vars))
	if err != nil {
		t.Fatalf("Gateway: %v", err)
	}
	g, err := gateway.New(made)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	defer g.Close()
	front := httptest.NewServer(g)
	defer front.Close()
	resp, err := http.Post(front.URL+"/first/v1/messages", "application/json", strings.NewReader(`{"model":"claude-large","max_tokens":9,"messages":[{"role":"user","content":"hello"}]}`))
	if err != nil {
		t.Fatalf("Post: %v", err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	if a, b := down.asked(), up.asked(); resp.StatusCode != 200 || !strings.Contains(string(body), "The second one.") || a != first || b != second {
		t.Errorf("gateway: %d %s; asked %q and %q, want %q and %q", resp.StatusCode, body, a, b, first, second)
	}

	w, err := app.Agents{Models: modelsOf(&c, vars)}.Agent(t.Context(), conversation.Settings{Model: "first/claude-large"})
	if err != nil {
		t.Fatalf("Agent: %v", err)
	}
	answer, switched := turnOf(t, w)
	if a, b := down.asked(), up.asked(); answer != "The second one." || switched != "first/claude-large → second/claude-small" || a != first || b != second {
		t.Errorf("agent: %q, switched %q; asked %q and %q, want %q and %q", answer, switched, a, b, first, second)
	}
}

func TestModels_AddressAndKeyStayTogether(t *testing.T) {
	at := provide(t, "ok")
	withURL := "upstreams: {anthropic: {url: " + at.URL + ", key: {env: FILE_KEY}}}"
	for _, tt := range []struct{ name, file, env, model, want string }{
		{"the file's", withURL, "FILE_KEY=file", "anthropic/m", "file m"},
		{"the file's, though the environment has a key", withURL, "FILE_KEY=file ANTHROPIC_API_KEY=user", "anthropic/m", "file m"},
		{"the environment's address without the file's key", "upstreams: {anthropic: {url: 'https://elsewhere.example', key: {env: FILE_KEY}}}", "FILE_KEY=file ANTHROPIC_BASE_URL=" + at.URL, "anthropic/m", " m"},
		{"the environment's address and key", "upstreams: {anthropic: {url: 'https://elsewhere.example', key: {env: FILE_KEY}}}", "FILE_KEY=file ANTHROPIC_API_KEY=user ANTHROPIC_BASE_URL=" + at.URL, "anthropic/m", "user m"},
		{"the file's address without a key", "upstreams: {work: {api: anthropic, url: " + at.URL + "}}", "ANTHROPIC_API_KEY=user", "work/m", "user m"},
		{"no key", "upstreams: {work: {api: anthropic, url: " + at.URL + ", key: none}}", "ANTHROPIC_API_KEY=user", "work/m", " m"},
		{"a base URL with a version", "upstreams: {work: {api: anthropic, url: " + at.URL + "/v1, key: none}}", "", "work/m", " m"},
		{"a model without its provider", "upstreams: {work: {api: anthropic, url: " + at.URL + ", key: none}}", "", "claude-x", " claude-x"},
	} {
		w, err := app.Agents{Models: modelsOf(parse(t, tt.file), tt.env)}.Agent(t.Context(), conversation.Settings{Model: tt.model})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if answer, _ := turnOf(t, w); at.asked() != tt.want {
			t.Errorf("%s: answer %q; want the key and model %q", tt.name, answer, tt.want)
		}
	}
}

func TestModels_ErrorsOfTheFile(t *testing.T) {
	for _, tt := range []struct {
		file, model string
		want        error
		says        string
	}{
		{"upstreams: {aws: {api: bedrock}}", "aws/m", nil, "upstream aws has the API bedrock, which only clients of the gateway can use; agents use upstreams with the API anthropic, openai, gemini, ollama, lmstudio or azure"},
		{"", "vertex/m", nil, "which only clients of the gateway can use"},
		{"upstreams: {work: {api: cohere, key: none}}", "work/m", nil, "has the API cohere"},
		{"upstreams: {work: {api: anthropic, key: {env: NOT_SET}}}", "work/m", app.ErrCredentials, "for work: environment variable NOT_SET is empty or not set"},
		{"upstreams: {work: {api: anthropic, key: none, ca: missing.pem}}", "work/m", app.ErrConfig, "missing.pem"},
		{"upstreams: {work: {api: anthropic, key: none, fallback: [{to: other}]}, other: {api: anthropic, url: 'https://other.example'}}", "work/m", app.ErrConfig, "it needs a key of its own"},
		{"upstreams: {work: {api: anthropic}}", "acme/m", nil, "anthropic, openai, gemini, ollama, lmstudio or work"},
	} {
		_, err := app.Agents{Models: modelsOf(parse(t, tt.file), "")}.Agent(t.Context(), conversation.Settings{Model: tt.model})
		if err == nil || tt.want != nil && !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s at %s: got error %v, want %v with %q", tt.model, tt.file, err, tt.want, tt.says)
		}
	}
	other := "upstreams: {work: {api: anthropic, key: {env: NOT_SET}}, local: {api: ollama, key: none}}"
	if _, err := modelsOf(parse(t, other), "").Open("local/m"); err != nil {
		t.Errorf("a key that another upstream lacks: got %v, want none", err)
	}
}

func TestModels_TermsOfTheFile(t *testing.T) {
	const s = time.Second
	c := parse(t, `
policy: {backoff: [9s]}
policies: {quick: {backoff: [2s]}}
upstreams:
  one:
    api: anthropic
    key: none
    policy: {backoff: [1s]}
    fallback: [{to: two, after: 1m, immediately-on: [quota]}, {to: one, model: small}]
    routes: [{models: [tiny-*], policy: quick, fallback: [{to: two}], complete: prefill}]
  two: {api: anthropic, key: none, complete: text}
`)
	for _, tt := range []struct {
		settings conversation.Settings
		want     string // the name of each, its first wait, its patience, and whether texts are completed
	}{
		{conversation.Settings{Model: "one/m"}, "one/m 1s 1m0s quota, two/m 9s forever text, one/small 1s forever"},
		{conversation.Settings{Model: "one/tiny-1"}, "one/tiny-1 2s forever text, two/tiny-1 9s forever text"},
		{conversation.Settings{Model: "one/m", Policy: "quick"}, "one/m 2s 1m0s quota, two/m 2s forever text, one/small 2s forever"},
		{conversation.Settings{Model: "one/m", Patience: wire.Millis(5 * s)}, "one/m 1s 5s quota, two/m 9s 5s text, one/small 1s forever"},
		{conversation.Settings{Model: "one/m", Fallback: []string{"two/x"}}, "one/m 1s 0s, two/x 9s forever text"},
		{conversation.Settings{Model: "two/m"}, "two/m 9s forever text"},
	} {
		w, err := app.Agents{Models: modelsOf(c, "")}.Agent(t.Context(), tt.settings)
		if err != nil {
			t.Errorf("%+v: %v", tt.settings, err)
			continue
		}
		var all []string
		for _, m := range append([]llm.Model{w.Model}, w.Fallback...) {
			terms := w.Terms(m.Name())
			text := fmt.Sprint(m.Name(), " ", terms.Policy.Backoff.Steps[0], " ", terms.Patience)
			text = strings.Replace(text, fmt.Sprint(time.Duration(agent.Forever)), "forever", 1)
			if terms.Immediately != 0 {
				text += " quota"
			}
			if terms.CompleteText {
				text += " text"
			}
			all = append(all, text)
		}
		if got := strings.Join(all, ", "); got != tt.want {
			t.Errorf("%+v: got %s, want %s", tt.settings, got, tt.want)
		}
	}
}

func TestModels_FollowAChangedConfiguration(t *testing.T) {
	one, two := provide(t, "ok"), provide(t, "ok")
	now := parse(t, "upstreams: {work: {api: anthropic, key: none, url: "+one.URL+"}}")
	agents := app.Agents{Models: app.NewModels(env(""), func() *config.Config { return now }, classify.Classifier{})}
	for i, at := range []*provided{one, two} {
		w, err := agents.Agent(t.Context(), conversation.Settings{Model: "work/m"})
		if err != nil {
			t.Fatalf("Agent: %v", err)
		}
		if answer, _ := turnOf(t, w); at.asked() != " m" {
			t.Errorf("turn %d did not ask the upstream of the configuration in force: %q", i, answer)
		}
		now = parse(t, "upstreams: {work: {api: anthropic, key: none, url: "+two.URL+"}}")
	}
}

func TestModels_LimitsOfTheFile(t *testing.T) {
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	defer silent.Close()
	c := parse(t, "upstreams: {work: {api: anthropic, key: none, policy: none, limits: {first-byte: 50ms}, url: "+silent.URL+"}}")
	w, err := app.Agents{Models: modelsOf(c, "")}.Agent(t.Context(), conversation.Settings{Model: "work/m"})
	if err != nil {
		t.Fatalf("Agent: %v", err)
	}
	if answer, _ := turnOf(t, w); !strings.Contains(answer, "50ms") {
		t.Errorf("a silent upstream: %q, want the limit of 50ms to end the try", answer)
	}
}

func TestCouncils_JudgeFailsOver(t *testing.T) {
	down, up := provide(t, "401"), provide(t, `say:"Judged."`)
	c := parse(t, fmt.Sprintf(`
upstreams:
  first: {api: anthropic, key: none, url: %s, fallback: [{to: second, immediately-on: [auth]}]}
  second: {api: anthropic, key: none, url: %s}
`, down.URL, up.URL))
	made, err := app.Agents{Models: modelsOf(c, "")}.Councils()([]string{"second/a", "second/b"}, "first/judge")
	if err != nil {
		t.Fatalf("Councils: %v", err)
	}
	result, err := made.Run(t.Context(), "hello")
	if err != nil || result.Aggregator.Text != "Judged." || down.asked() != " judge" || !strings.HasSuffix(up.asked(), " judge") {
		t.Errorf("got %q and error %v, want the fallback of the judge to answer", result.Aggregator.Text, err)
	}
}

func TestModels_NetworkOfTheFile(t *testing.T) {
	sim := simulator.New(simulator.Script{Answer: "Trusted."})
	defer sim.Close()
	secure := httptest.NewUnstartedServer(sim)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // of the handshake that is refused
	secure.StartTLS()
	defer secure.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}), 0o600); err != nil {
		t.Fatalf("WriteFile: %v", err)
	}
	var proxied atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proxied.Add(1)
		sim.ServeHTTP(w, r)
	}))
	defer proxy.Close()
	c := parse(t, fmt.Sprintf(`
policy: none
upstreams:
  trusted: {api: anthropic, key: none, url: %[1]s, ca: %[2]s}
  unknown: {api: anthropic, key: none, url: %[1]s}
  proxied: {api: anthropic, key: none, url: 'http://llm.invalid', proxy: %[3]s}
`, secure.URL, ca, proxy.URL))
	for name, want := range map[string]string{"trusted": "Trusted.", "unknown": "certificate", "proxied": "Trusted."} {
		w, err := app.Agents{Models: modelsOf(c, "")}.Agent(t.Context(), conversation.Settings{Model: name + "/m"})
		if err != nil {
			t.Fatalf("Agent: %v", err)
		}
		if answer, _ := turnOf(t, w); !strings.Contains(answer, want) {
			t.Errorf("upstream %s: %q, want %q", name, answer, want)
		}
	}
	if proxied.Load() != 1 {
		t.Errorf("the proxy got %d requests, want 1", proxied.Load())
	}
}

// A turn is asked again for what breaks off before its text, with every API, as the gateway does; not where complete is
// off.
func TestModels_TurnIsCompletedBeforeItsText(t *testing.T) {
	for _, api := range []string{"anthropic", "openai", "gemini", "ollama"} {
		for name, row := range map[string]struct{ script, mode, want string }{
			"reasoning": {`think:"Let me see."+say:"The first one."+cut:2, think:"Once more."+say:"The second one."`, "lossless", "The second one."},
			"a call":    {`call:list{"path":"a b"}+call:now+cut:3:clean, say:"The second one."`, "lossless", "The second one."},
			"off":       {`think:"Let me see."+say:"The first one."+cut:2, say:"The second one."`, "off", "error: "},
		} {
			p := provide(t, row.script)
			text := fmt.Sprintf("policies: {quick: {backoff: [1ms], retries: 2}}\nupstreams:\n  one: {api: %s, url: %s, key: none, policy: quick, complete: %s}", api, p.URL, row.mode)
			c, err := config.Parse("config.yaml", []byte(text))
			if err != nil {
				t.Fatalf("%s: Parse: %v", api, err)
			}
			w, err := app.Agents{Models: modelsOf(&c, "")}.Agent(t.Context(), conversation.Settings{Model: "one/model", Effort: "high"})
			if err != nil {
				t.Fatalf("%s: Agent: %v", api, err)
			}
			if answer, _ := turnOf(t, w); !strings.HasPrefix(answer, row.want) {
				t.Errorf("%s, %s: the turn ended with %q, want %q", api, name, answer, row.want)
			}
		}
	}
}

// What an address has shown is known to the turns after it, whose models are opened again.
func TestModels_RememberWhichAddressIsNoGateway(t *testing.T) {
	sim := simulator.New(simulator.Script{})
	defer sim.Close()
	var told []bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		told = append(told, r.Header.Get("X-Ridethrough-Accept") != "")
		sim.ServeHTTP(w, r)
	}))
	defer server.Close()
	models := modelsOf(parse(t, "upstreams: {house: {api: anthropic, url: "+server.URL+", key: none}}"), "")
	for range 3 {
		model, err := models.Open("house/claude-opus-4-5")
		if err != nil {
			t.Fatalf("Open: %v", err)
		}
		turnOf(t, agent.Agent{Model: model})
	}
	if want := []bool{true, false, false}; !slices.Equal(told, want) {
		t.Errorf("turns that told the server what is for gateways: %v, want %v", told, want)
	}
}
