package config_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/policy"
)

// env returns the lookup of an environment, given as NAME=VALUE.
func env(pairs ...string) func(string) string {
	return func(name string) string {
		for _, p := range pairs {
			if value, ok := strings.CutPrefix(p, name+"="); ok {
				return value
			}
		}
		return ""
	}
}

// write writes a file into a directory and returns its path.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatalf("write file: %v", err)
	}
	return path
}

func TestConfig_Gateway(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "key", "key-of-first\n")
	if err := os.Mkdir(filepath.Join(dir, "spool"), 0o700); err != nil {
		t.Fatalf("mkdir: %v", err)
	}
	name := write(t, dir, "config.yaml", strings.Replace(integer, "/run/secrets/anthropic", "key", 1))
	c, err := config.Load(name)
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	e := env("GATEWAY_TOKEN=let me in, it is me", "SECOND_KEY=key-of-second")
	g, err := c.Gateway(e)
	if err != nil {
		t.Fatalf("gateway of the configuration: %s", config.Excerpts(err))
	}
	if token, err := c.Token(e); token != "let me in, it is me" || err != nil {
		t.Errorf("token %q, %v", token, err)
	}
	first, second, third := g.Upstreams[0], g.Upstreams[1], g.Upstreams[2]
	if first.Name != "anthropic" || first.API != "anthropic" || first.Base != nil {
		t.Errorf("first %+v", first)
	}
	if want := (gateway.Limits{Connect: 5 * time.Second, Idle: 90 * time.Second, Body: 16 << 20}); *first.Limits != want {
		t.Errorf("limits %v, want %v", first.Limits, want)
	}
	if p := g.Policy; p.Retries != 40 || p.Backoff.At(4, 0.5) != time.Duration(7.5*1.025*float64(time.Minute)) || p.Deadline != 36*time.Hour || p.RetryOn != fault.Transient.With(fault.Quota) {
		t.Errorf("policy %+v", p)
	}
	if p := first.Policy; p.MaxWait != 2*time.Hour || p.Retries != policy.Unlimited || len(p.Backoff.Steps) != 8 {
		t.Errorf("a policy like patient: %+v", p)
	}
	if f := first.Fallback; len(f) != 2 || f[0].To != "second" || f[0].After != 2*time.Minute || f[1].Kinds != fault.Set(0).With(fault.Quota, fault.Auth) {
		t.Errorf("fallback %+v", f)
	}
	if r := first.Routes; len(r) != 1 || r[0].Models[1] != "claude-4" || r[0].Policy.Retries != 3 || r[0].Limits.Idle != 10*time.Minute || len(r[0].Fallback) != 2 || r[0].Fallback[1].To != "anthropic" || r[0].Fallback[1].Model != "claude-haiku" {
		t.Errorf("routes %+v", r)
	}
	if r := first.Routes[0]; r.Admission != gateway.AdmissionOff || r.Reserve == nil || *r.Reserve != 0 || second.Routes != nil {
		t.Errorf("admission of the route: %q and %v, want off and 0", r.Admission, r.Reserve)
	}
	if key, err := first.Key(); key != "key-of-first" || err != nil {
		t.Errorf("key %q, %v", key, err)
	}
	if key, _ := second.Key(); key != "key-of-second" || second.Base.Path != "/anthropic" {
		t.Errorf("second %+v", second)
	}
	if third.Key != nil || !third.NoKey {
		t.Errorf("third %+v", third)
	}
	if g.Spool.Memory != 1<<30 || g.Spool.Dir != filepath.Join(dir, "spool") {
		t.Errorf("spool %+v", g.Spool)
	}
	if _, err := gateway.New(g); err != nil {
		t.Errorf("new: %v", err)
	}
}

func TestConfig_ResponsesWebSocket(t *testing.T) {
	for word, want := range map[string]bool{"": false, "    responses-websocket: ride\n": false, "    responses-websocket: \"426\"\n": true} {
		c := parseIn(t, t.TempDir(), "upstreams:\n  openai:\n    url: http://127.0.0.1:8000/v1\n"+word)
		g, err := c.Gateway(env())
		if err != nil || g.Upstreams[0].NoSocket != want {
			t.Errorf("%q: got %+v and error %v, want that WebSockets are refused: %v", word, g.Upstreams, err, want)
		}
	}
}

func TestConfig_Network(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "ca.pem", "-----BEGIN CERTIFICATE-----")
	const plain = "upstreams:\n  openai:\n    url: http://127.0.0.1:8000/v1\n"
	for _, tt := range []struct {
		text string
		want gateway.Network
		err  string
	}{
		{plain, gateway.Network{}, ""},
		{plain + "    http2: prior-knowledge\n", gateway.Network{HTTP2: true}, ""},
		{plain + "    proxy: none\n", gateway.Network{Proxy: "none"}, ""},
		{plain + "    ca: other.pem\n", gateway.Network{}, "other.pem: no such file"},
		{plain + "    ca: ca.pem\n", gateway.Network{}, "CA has no certificate in PEM"},
		{"upstreams:\n  openai:\n    http2: prior-knowledge\n", gateway.Network{}, "over https it is negotiated"},
	} {
		c := parseIn(t, dir, tt.text)
		g, err := c.Gateway(env())
		if tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) || tt.err == "" && (err != nil || g.Upstreams[0].Network != tt.want) {
			t.Errorf("%s: got %+v and error %v, want %+v or %q", tt.text, g.Upstreams, err, tt.want, tt.err)
		}
	}
}

func TestConfig_ContentHasAsLongAsTheFirstByte(t *testing.T) {
	for text, want := range map[string][2]time.Duration{ // of the upstream, and of its route
		"":                                        {10 * time.Minute, 10 * time.Minute},
		"limits: {content: 20s}":                  {20 * time.Second, 20 * time.Second},
		"limits: {content: none}":                 {0, 0},
		"limits: {first-byte: 30s}":               {10 * time.Minute, 10 * time.Minute},
		"limits: {first-byte: 20m}":               {20 * time.Minute, 20 * time.Minute},
		"limits: {first-byte: none}":              {0, 0},
		"limits: {first-byte: none, content: 1h}": {time.Hour, time.Hour},
		"limits: {content: 20s}, routes: [{limits: {idle: 1m}}]":                {20 * time.Second, 20 * time.Second},
		"routes: [{limits: {content: none}}]":                                   {10 * time.Minute, 0},
		"routes: [{limits: {first-byte: none}}]":                                {10 * time.Minute, 0},
		"limits: {first-byte: none}, routes: [{limits: {first-byte: learned}}]": {0, 10 * time.Minute},
	} {
		if !strings.Contains(text, "routes") {
			text = strings.TrimPrefix(text+", routes: [{limits: {idle: 2m}}]", ", ")
		}
		c := parse(t, "upstreams: {openai: {key: none, "+text+"}}")
		made, err := c.Gateway(env())
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		up := made.Upstreams[0]
		if got := [2]time.Duration{up.Limits.Content, up.Routes[0].Limits.Content}; got != want {
			t.Errorf("%s: content has %v, want %v", text, got, want)
		}
	}
}

func TestConfig_FirstByteIsLearnedUnlessItIsFixed(t *testing.T) {
	tests := []struct {
		limits, route string // in the file; "": none
		want          gateway.Limits
	}{
		{"", "", gateway.Limits{FirstByte: 10 * time.Minute, Learned: true}},
		{"{idle: 1m}", "", gateway.Limits{FirstByte: 10 * time.Minute, Learned: true}},
		{"{first-byte: learned}", "", gateway.Limits{FirstByte: 10 * time.Minute, Learned: true}},
		{"{first-byte: 10m}", "", gateway.Limits{FirstByte: 10 * time.Minute}},
		{"{first-byte: none}", "", gateway.Limits{}},
		{"{first-byte: 30s}", "{idle: 1m}", gateway.Limits{FirstByte: 30 * time.Second}},
		{"{first-byte: 30s}", "{first-byte: learned}", gateway.Limits{FirstByte: 10 * time.Minute, Learned: true}},
		{"{first-byte: learned}", "{first-byte: 30s}", gateway.Limits{FirstByte: 30 * time.Second}},
	}
	for _, tt := range tests {
		text := "upstreams: {openai: {key: none"
		if tt.limits != "" {
			text += ", limits: " + tt.limits
		}
		if tt.route != "" {
			text += ", routes: [{limits: " + tt.route + "}]"
		}
		c := parse(t, text+"}}")
		made, err := c.Gateway(env())
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		up := made.Upstreams[0]
		got := *up.Limits
		if tt.route != "" {
			got = *up.Routes[0].Limits
		}
		if got.FirstByte != tt.want.FirstByte || got.Learned != tt.want.Learned {
			t.Errorf("%s: first byte %v, learned %v; want %v, %v", text, got.FirstByte, got.Learned, tt.want.FirstByte, tt.want.Learned)
		}
	}
}

func TestConfig_FileIsOptional(t *testing.T) {
	c := parse(t, "")
	g, err := c.Gateway(env())
	if err != nil || len(g.Upstreams) != len(gateway.Defaults()) || g.Policy.MaxWait != 8*time.Hour || c.Listen != config.DefaultListen {
		t.Errorf("default gateway: got %+v and error %v, want all APIs with a public URL and 8h of waiting", g, err)
	}
}

func TestGateway_PolicyNoneAppliesToUpstreams(t *testing.T) {
	for _, text := range []string{"policy: none", "policy: {retries: 0}", "policy: own\npolicies: {own: {preset: patient, retries: 0}}"} {
		c := parse(t, text+"\nupstreams: {openai: {policy: none}}")
		g, err := c.Gateway(env())
		if err != nil {
			t.Fatalf("gateway: %v", err)
		}
		for _, p := range []policy.Policy{g.Policy, *g.Upstreams[0].Policy} {
			_, v := p.Next(policy.Run{}, &fault.Error{Kind: fault.Overloaded}, false, time.Now(), 0)
			if v.Stop != policy.Exhausted {
				t.Errorf("first failure with %s: got %+v, want it to stop as exhausted", text, v)
			}
		}
	}
}

func TestGateway_ErrorsHavePositions(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "empty", "\n")
	write(t, dir, "two", "a\nb\n")
	for _, tt := range []struct{ text, want string }{
		{"token: {env: NOWHERE}", "1:8: environment variable NOWHERE is empty or not set"},
		{"upstreams: {openai: {key: {env: NOWHERE}}}", "1:27: key of openai: environment variable NOWHERE is empty or not set"},
		{"upstreams: {openai: {key: {file: gone}}}", "1:27: key of openai: file " + dir + "/gone: no such file or directory"},
		{"upstreams: {openai: {key: {file: empty}}}", "1:27: key of openai: file " + dir + "/empty is empty or not set"},
		{"upstreams: {openai: {key: {file: two}}}", "1:27: key of openai: file " + dir + "/two has more than one line"},
		{"spool: {dir: gone}", "1:14: directory " + dir + "/gone: no such file or directory"},
		{"spool: {dir: two}", "1:14: " + dir + "/two is not a directory"},
		{"upstreams: {openai: {fallback: [{to: ollama}]}, ollama: {key: none}, gemini: {fallback: [{to: ollama}]}}", `1:95: upstream "gemini": fallback to "ollama": its API ollama`},
		{"upstreams: {openai: {fallback: [{to: b, after: 1m}]}, b: {api: openai, url: https://b.example/v1}}", `1:38: upstream "openai": fallback to "b": it needs a key of its own`},
		{"upstreams: {openai: {routes: [{fallback: [{to: openai}]}]}}", `1:48: upstream "openai": fallback to "openai": it is the upstream itself; name another model, as in {to: openai, model: NAME}`},
		{`upstreams: {openai: {fallback: [{to: openai, model: "a\nb"}]}}`, `1:38: upstream "openai": fallback to "openai": its model is no name: too long, or with line breaks or other control characters`},
	} {
		c, err := config.Parse(filepath.Join(dir, "config.yaml"), []byte(tt.text))
		if err != nil {
			t.Errorf("Parse(%q): got error %v, want none", tt.text, err)
			continue
		}
		_, err = c.Gateway(env())
		if err == nil {
			_, err = c.Token(env())
		}
		if err == nil || !strings.HasPrefix(err.Error(), "config.yaml:"+tt.want) {
			t.Errorf("%s:\n got %v\nwant %s", tt.text, err, tt.want)
		}
	}
}

func TestGateway_RereadsChangedKeyFile(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "key", "first\n")
	c, err := config.Parse(filepath.Join(dir, "config.yaml"), []byte("upstreams: {openai: {key: {file: key}}}"))
	if err != nil {
		t.Fatalf("parse: %v", err)
	}
	g, err := c.Gateway(env())
	if err != nil {
		t.Fatalf("gateway: %v", err)
	}
	key := g.Upstreams[0].Key
	for _, step := range []struct {
		do   func()
		want string
	}{
		{func() {}, "first"},
		{func() { write(t, dir, "key", "second key\n\n") }, "second key"},
		{func() { write(t, dir, "key", "") }, "second key"}, // it is being written
		{func() { os.Remove(filepath.Join(dir, "key")) }, "second key"},
		{func() { os.Rename(write(t, dir, "new", "third"), filepath.Join(dir, "key")) }, "third"},
	} {
		step.do()
		if got, err := key(); got != step.want || err != nil {
			t.Errorf("got %q, %v; want %q", got, err, step.want)
		}
	}
}

func TestWarnings_UnintendedSettings(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"policy: {backoff: [1m]}", "1:9: this policy never gives up"},
		{"policy: {backoff: [1m], max-total-wait: 3d}", "1:9: this policy waits for more than a day"},
		{"policy: {backoff: [50ms], retries: 100}", "1:9: this policy retries many times"},
		{"policy: {backoff: [1m], retries: 0}", "1:9: this policy never retries, since retries is 0"},
		{"policy: {backoff: [10m], retries: 3, deadline: 5m}", "1:9: this policy never retries: its first wait is longer"},
		{"policy: {backoff: [10m], max-total-wait: 5m}", "1:9: this policy never retries: its first wait is longer"},
		{"policy: {backoff: [1s], retries: 3, deadline: 5m, min-remaining: 5m}", "1:9: this policy never retries: min-remaining is not below deadline"},
		{"policy: {backoff: [1s], retries: 3, min-remaining: 5m}", "1:9: min-remaining has no effect"},
		{"policy: {retries: 0}", ""},
		{"policy: {backoff: [1s], deadline: 5m, min-remaining: 4m}", ""},
		{"policies: {a: {preset: patient}}", "1:12: policy a is unused"},
		{"upstreams: {openai: {url: http://llm.example/v1}}", "1:27: credentials are sent to llm.example unencrypted"},
		{"upstreams: {openai: {routes: [{policy: none}, {models: [a]}]}}", "1:31: this route matches every model"},
		{"upstreams: {openai: {url: http://localhost:1/v1}}", ""},
		{"upstreams: {openai: {url: http://llm.example/v1, key: none}}", ""},
		{"upstreams: {openai: {policy: {backoff: [1m], retries: 3}}}", ""},
	} {
		c := parse(t, tt.text)
		doubts := c.Warnings()
		switch {
		case tt.want == "" && len(doubts) > 0:
			t.Errorf("warnings about %q: got %v, want none", tt.text, doubts)
		case tt.want != "" && (len(doubts) != 1 || !strings.HasPrefix(doubts[0].Error(), "config.yaml:"+tt.want)):
			t.Errorf("%s:\n got %v\nwant %s", tt.text, doubts, tt.want)
		}
	}
}

func TestConfig_FlagsAndEnvironmentOverrideFile(t *testing.T) {
	own := write(t, t.TempDir(), "own.yaml", "backoff: [7s]\nmax-total-wait: 1h\n")
	c := parse(t, "listen: a:1\npolicy: worker\nhosts: [x]\n")
	for _, set := range [][3]string{
		{"listen", "127.0.0.1:7", "--listen"},
		{"hosts", "a.example, b.example", "RIDETHROUGH_HOSTS"},
		{"origins", "http://localhost:80, https://B.example:443", "RIDETHROUGH_ORIGINS"},
		{"token", "RIDETHROUGH_TOKEN", "RIDETHROUGH_TOKEN"},
		{"policy", own, "--policy"},
		{"log", "warn", "--log"},
	} {
		if err := c.Set(set[0], set[1], set[2]); err != nil {
			t.Errorf("Set(%v): got error %v, want none", set, err)
		}
	}
	for name, base := range map[string]string{"gemini": "http://127.0.0.1:9", "chatgpt": "https://chatgpt.com/backend-api/codex", "code-assist": "https://cloudcode-pa.googleapis.com"} {
		if err := c.SetUpstream(name, base, "--upstream"); err != nil {
			t.Errorf("set upstream %s: %v", name, err)
		}
	}
	shown := strings.Join(strings.Fields(c.Show(true)), " ")
	for _, want := range []string{
		"listen: 127.0.0.1:7 # --listen", "hosts: [a.example, b.example] # RIDETHROUGH_HOSTS", "origins: [http://localhost, https://b.example] # RIDETHROUGH_ORIGINS", "env: RIDETHROUGH_TOKEN # RIDETHROUGH_TOKEN",
		"policy: backoff: [7s] # --policy", "max-total-wait: 1h # --policy", "log: warn # --log", "url: http://127.0.0.1:9 # --upstream", "code-assist: api: gemini # default", "chatgpt: api: openai # default url: https://chatgpt.com/backend-api/codex # --upstream", "url: https://api.openai.com # default",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("no %q in\n%s", want, c.Show(true))
		}
	}
	for _, tt := range [][3]string{
		{"listen", "8484", "want HOST:PORT"},
		{"policy", "forever", `unknown policy "forever"; want patient, interactive, attended, worker, simple, council or none`},
		{"log", "loud", "want a level"},
	} {
		if err := c.Set(tt[0], tt[1], "--x"); err == nil || !strings.Contains(err.Error(), tt[2]) {
			t.Errorf("Set(%v): got error %v, want one that says %q", tt, err, tt[2])
		}
	}
}

func TestWatch_ReportsSettledChange(t *testing.T) {
	dir := t.TempDir()
	name := write(t, dir, "config.yaml", "a")
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var calls atomic.Int64
		asked, done := make(chan int), make(chan int)
		go func() { config.Watch(ctx, name, asked, func() { calls.Add(1) }); close(done) }()
		after := func(d time.Duration, want int64, what string) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			if got := calls.Load(); got != want {
				t.Errorf("%s: %d calls, want %d", what, got, want)
			}
		}
		after(5*time.Second, 0, "nothing happens")
		write(t, dir, "config.yaml", "ab")
		after(time.Second, 0, "the file may still be written")
		write(t, dir, "config.yaml", "abc")
		after(time.Second, 0, "the file was still written")
		after(time.Second, 1, "it is written")
		after(5*time.Second, 1, "once")
		os.Rename(write(t, dir, "new", "abd"), name)
		after(3*time.Second, 2, "another file of that name")
		os.Remove(name)
		after(3*time.Second, 3, "no file")
		asked <- 1
		after(0, 4, "a reload is requested")
		os.Symlink(filepath.Join(dir, "data", "config.yaml"), name) // as Kubernetes mounts it
		for i, version := range []string{"one", "two"} {
			os.Mkdir(filepath.Join(dir, version), 0o700)
			write(t, dir, filepath.Join(version, "config.yaml"), "abc")
			os.Symlink(version, filepath.Join(dir, "next"))
			os.Rename(filepath.Join(dir, "next"), filepath.Join(dir, "data"))
			after(3*time.Second, int64(5+i), "a link that leads elsewhere")
		}
		cancel()
		<-done
	})
}

func BenchmarkKeyInAFile(b *testing.B) {
	path := filepath.Join(b.TempDir(), "key")
	if err := os.WriteFile(path, []byte("key\n"), 0o600); err != nil {
		b.Fatalf("write file: %v", err)
	}
	c, err := config.Parse("config.yaml", []byte("upstreams: {openai: {key: {file: "+path+"}}}"))
	if err != nil {
		b.Fatalf("parse: %v", err)
	}
	g, err := c.Gateway(env())
	if err != nil {
		b.Fatalf("gateway: %v", err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := g.Upstreams[0].Key(); err != nil {
			b.Fatalf("key: %v", err)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := config.Parse("config.yaml", []byte(integer)); err != nil {
			b.Fatalf("parse: %v", err)
		}
	}
}

func TestUses_AreBoundedByMaxWait(t *testing.T) {
	c, err := config.Parse("", []byte("max-wait: 10m\npolicies: {short: {backoff: [1s], retries: unlimited, max-total-wait: 5m}}\nupstreams: {openai: {policy: short}}\n"))
	if err != nil {
		t.Fatalf("parse: %v", err)
	}
	want := map[string]time.Duration{"patient": 10 * time.Minute, "short": 5 * time.Minute, "attended": 10 * time.Minute, "worker": 0}
	for _, u := range c.Uses() {
		if limit, checked := want[u.Name]; checked && u.Policy.MaxWait != limit {
			t.Errorf("%s, used by %q: waits for at most %v in all, want %v", u.Name, u.By, u.Policy.MaxWait, limit)
		}
		delete(want, u.Name)
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
}
