package config_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/internal/operation/config"
)

func parse(t *testing.T, text string) config.Config {
	t.Helper()
	c, err := config.Parse("config.yaml", []byte(text))
	if err != nil {
		t.Fatalf("Parse: got error %v, want none, of:\n%s", err, text)
	}
	return c
}

const integer = `# everything at once
listen: 127.0.0.1:9000
tls: {cert: cert.pem, key: /run/secrets/key.pem}
token: {env: GATEWAY_TOKEN}
tokens: tokens
hosts: [gateway.internal, 10.0.0.7]
origins: [http://localhost:5173, app://x]
policy: night
policies:
  night:
    backoff: [5s, 30s, 5m]
    multiplier: 1.5
    jitter: {down: 5%, up: 10%}
    max-backoff: 1h
    retries: 40
    max-total-wait: 1d
    deadline: 1d12h
    min-remaining: 30s
    max-retry-after: 2h
    retry-on: [transient, quota]
  short: {preset: patient, max-total-wait: 2h}
upstreams:
  anthropic:
    key: {file: /run/secrets/anthropic}
    policy: short
    limits: {connect: 5s, first-byte: none, idle: 90s}
    body: 16MiB
    fallback:
      - {to: second, after: 2m}
      - to: third
        immediately-on: [quota, auth]
    routes:
      - models: ["claude-opus-*", claude-4]
        policy: {backoff: [1s], retries: 3}
        limits: {idle: 10m}
        admission: off
        reserve: 0%
        fallback: [{to: second}, {to: anthropic, model: claude-haiku}]
  second:
    api: anthropic
    url: https://llm.example/anthropic
    key: {env: SECOND_KEY}
  third: {api: anthropic, url: "http://127.0.0.1:4000", key: none, status-page: anthropic}
spool: {memory: 1GiB, dir: spool}
notices:
  to:
    team: {kind: slack, url: {env: SLACK_WEBHOOK}, events: [began, ended]}
    phone: {kind: ntfy, url: "https://ntfy.sh/topic", token: {file: ntfy-token}, template: "${title}"}
    here: {kind: desktop}
  after: 2m
  remind: none
fleet: eu-1
nats-replicas: 3
log: debug
`

func TestShow_ParsesToSameConfig(t *testing.T) {
	for _, text := range []string{integer, "", "policy: none\n", "policies: {a: {preset: worker, jitter: 0%}}\npolicy: a\n", "upstreams:\n  ollama:\n", "upstreams:\npolicies:\nspool:\n"} {
		c := parse(t, text)
		once := c.Show(false)
		again := parse(t, once)
		if twice := again.Show(false); twice != once {
			t.Errorf("%s\n-- reads as --\n%s", once, twice)
		}
		if changes := again.Changes(&c); len(changes) > 0 {
			t.Errorf("changes after a round trip: got %v, want none", changes)
		}
	}
}

func TestUnits_ParseAndShow(t *testing.T) {
	for _, tt := range []struct{ field, written, shown string }{
		{"policy: {backoff: [%s]}", "300ms", "300ms"},
		{"policy: {backoff: [%s]}", "90s", "1m30s"},
		{"policy: {backoff: [%s]}", "1.5h", "1h30m"},
		{"policy: {backoff: [%s]}", "1d12h", "36h"},
		{"policy: {backoff: [%s]}", "0.5d", "12h"},
		{"policy: {backoff: [%s]}", "100000d", "2400000h"},
		{"upstreams: {openai: {limits: {idle: %s}}}", "none", "none"},
		{"spool: {memory: %s}", "1GB", "1000000000B"},
		{"spool: {memory: %s}", "1 MiB", "1MiB"},
		{"spool: {memory: %s}", "0.5GiB", "512MiB"},
		{"spool: {memory: %s}", "1kB", "1000B"},
		{"policy: {backoff: [1s], jitter: %s}", "2.5%", "2.5%"},
		{"policy: {backoff: [1s], multiplier: %s}", "1.25", "1.25"},
		{"policy: {backoff: [1s], retries: %s}", "7", "7"},
	} {
		c := parse(t, strings.Replace(tt.field, "%s", tt.written, 1))
		if shown := c.Show(false); !strings.Contains(shown, " "+tt.shown+"\n") && !strings.Contains(shown, "["+tt.shown+"]\n") {
			t.Errorf("%s: want %s in\n%s", tt.written, tt.shown, shown)
		}
	}
}

// mistakes are files with one mistake each, and its error.
var mistakes = []struct{ text, want string }{
	{"polcy: patient", `1:1: unknown field "polcy"; did you mean policy?`},
	{"color: red", `1:1: unknown field "color"; want listen, tls, token, tokens, hosts, origins, policy, max-wait, quota, supervisor, policies, upstreams, mcp, agents, faults, spool, receive, detached, notices, fleet, nats-replicas or log`},
	{"listen: a:1\nlisten: b:2", `2:1: duplicate field "listen", first on line 1`},
	{"listen: 8484", `1:9: "8484"; want HOST:PORT, such as 127.0.0.1:8484`},
	{"listen: [a]", `1:9: a list; want HOST:PORT, such as 127.0.0.1:8484`},
	{"tls: {cert: x}", `1:6: tls needs the field key with the path of a file`},
	{"tls: x", `1:6: "x"; want cert and key`},
	{"hosts: []", `1:8: an empty list; want a list of host names`},
	{"origins: [http://x/]", `1:11: "http://x/"; want an origin such as http://localhost:5173 or https://app.example, without a path`},
	{"origins: ['*']", `1:11: "*"; want an origin such as http://localhost:5173 or https://app.example, without a path`},
	{"origins: [http://u@x]", `1:11: "http://***@x"; want an origin such as http://localhost:5173 or https://app.example, without a path`},
	{"origins: [localhost:80]", `1:11: "localhost:80"; want an origin such as http://localhost:5173 or https://app.example, without a path`},
	{"origins: [http://]", `1:11: "http://"; want an origin such as http://localhost:5173 or https://app.example, without a path`},
	{"hosts: [http://x]", `1:9: "http://x"; want a host without scheme and port, such as gateway.internal`},
	{"policy: patent", `1:9: unknown policy "patent"; did you mean patient?`},
	{"policy: {backoff: [5]}", `1:20: "5"; want a time above zero, such as 30s, 5m or 1d12h`},
	{"policy: {backoff: [5 s]}", `1:20: "5 s"; want a time above zero, such as 30s, 5m or 1d12h`},
	{"policy: {backoff: [0s]}", `1:20: "0s": it is zero; want a time above zero, such as 30s, 5m or 1d12h`},
	{"policy: {backoff: [300000d]}", `1:20: "300000d": it is too large; want a time above zero, such as 30s, 5m or 1d12h`},
	{"policy: {backoff: [-5s]}", `1:20: "-5s"; want a time above zero, such as 30s, 5m or 1d12h`},
	{"policy: {retries: 3}", `1:9: a policy needs backoff or preset`},
	{"policy: {preset: patience}", `1:18: "patience"; want a preset: patient, interactive, attended, worker, simple or council`},
	{"policy: {backoff: [1s], retries: -1}", `1:34: "-1"; want a number from 0, or unlimited`},
	{"policy: {backoff: [1s], retries: many}", `1:34: "many"; want a number from 0, or unlimited`},
	{"policy: {backoff: [1s], retries: 1.5}", `1:34: "1.5"; want a number from 0, or unlimited`},
	{"policy: {backoff: [1s], multiplier: 0.5}", `1:37: "0.5"; want a number from 1, such as 2`},
	{"policy: {backoff: [1s], multiplier: .nan}", `1:37: ".nan"; want a number from 1, such as 2`},
	{"policy: {backoff: [1s], jitter: 10}", `1:33: "10"; want a share from 0% to 100%, such as 10%`},
	{"policy: {backoff: [1s], jitter: {up: 200%}}", `1:38: "200%": it is too large; want a share from 0% to 100%, such as 10%`},
	{"policy: {backoff: [1s], retry-on: [slow]}", `1:36: "slow"; want a kind of fault: transient, unknown, rate-limited, overloaded, unavailable, truncated, upstream-timeout, timeout, quota, auth, invalid, refused or too-long`},
	{"policies: {patient: {backoff: [1s]}}", `1:12: "patient"; want a name that begins with a letter and is no preset's`},
	{"upstreams: [anthropic]", `1:12: a list; want upstreams by name`},
	{"upstreams: {v1: {api: openai}}", `1:13: "v1"; want a name of lower-case letters`},
	{"upstreams: {local: {url: http://h}}", `1:20: "local" is not the name of an API; want the field api: `},
	{"upstreams: {a: {api: grpc}}", `1:22: "grpc"; want an API: `},
	{"upstreams: {openai: {url: example.com}}", `1:27: want a base URL with http:// or https:// and a host`},
	{"upstreams: {openai: {url: https://h/v1/chat/completions}}", `1:27: /v1/chat/completions is an endpoint`},
	{"upstreams: {openai: {key: {}}}", `1:27: want {env: NAME} or {file: PATH}`},
	{"upstreams: {openai: {key: {env: A, file: b}}}", `1:27: want {env: NAME} or {file: PATH}`},
	{"upstreams: {openai: {limits: {idle: 0s}}}", `1:37: "0s": it is zero; want a time above zero, such as 30s, or none`},
	{"upstreams: {openai: {limits: {first_byte: 1s}}}", `1:31: unknown field "first_byte"; did you mean first-byte?`},
	{"upstreams: {openai: {body: 32}}", `1:28: "32"; want a size above zero with its unit, such as 32MiB`},
	{"upstreams: {openai: {body: 99999999999GiB}}", `it is too large; want a size`},
	{"upstreams: {openai: {fallback: [{to: missing}]}}", `1:38: unknown upstream "missing"; want openai`},
	{"upstreams: {openai: {fallback: [{after: 1m}]}}", `1:33: a fallback needs the field to with the name of an upstream`},
	{"upstreams: {openai: {routes: [{models: ['[a']}]}}", `1:41: "[a"; want a model's name or a pattern such as claude-opus-*`},
	{"policy: {backoff: [1s], multiplier: '2'}", `1:37: "2"; want a number from 1, such as 2`},
	{"fleet: a.b", `1:8: "a.b"; want 1 to 40 letters, digits, - and _`},
	{"nats-replicas: 0", `1:16: "0"; want a number from 1 to 5`},
	{"nats-replicas: 6", `1:16: "6": it is too large; want a number from 1 to 5`},
	{"nats-replicas: '3'", `1:16: "3"; want a number from 1 to 5`},
	{"log: loud", `1:6: "loud"; want a level: debug, info, warn or error`},
	{"a", `1:1: "a"; want the fields of a configuration`},
	{"listen: a:1\n---\nlisten: b:1", `3:1: a second document starts here; want one`},
	{"listen: !!str a:1", `1:9: unsupported YAML value: tag`},
	{"listen: *x", `1:9: unknown anchor &x`},
	{"spool: &x {dir: a}\nspool: *x", `2:1: duplicate field "spool", first on line 1`},
	{"upstreams:\n  openai:\n    <<: *x", `3:5: merge keys (<<) are not supported; use a preset or repeat the fields`},
	{"listen:\n\tx: y", `2:1: invalid YAML: tab; YAML is indented with spaces`},
	{"listen: a: b", `1:9: invalid YAML: mapping value is not allowed in this context; a value with a colon and a space needs quotes`},
	{"listen: @a", `1:9: invalid YAML: '@' is a reserved character; a text that begins with it needs quotes`},
	{"%YAML 1.2\n---\nlisten: a:1", `1:1: invalid YAML: directives (%) are not supported`},
	{"? listen\n: a:1", `1:1: invalid YAML: keys that begin with ? are not supported`},
	{"listen:\na:1", `2:1: invalid YAML: a value below its key must be indented`},
	{"hosts: [a", `1:8: invalid YAML: sequence end token ']' not found`},
}

func TestParse_MistakesHavePositions(t *testing.T) {
	for _, tt := range mistakes {
		_, err := config.Parse("dir/config.yaml", []byte(tt.text))
		all, ok := errors.AsType[config.Errors](err)
		if !ok || len(all) != 1 || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "config.yaml:") {
			t.Errorf("%s:\n got %v\nwant %s", tt.text, config.Excerpts(err), tt.want)
		}
	}
}

func TestParse_BoundsDepth(t *testing.T) {
	for _, deep := range []string{"[", "{a: ", "- ", "\n- "} {
		_, err := config.Parse("c.yaml", []byte(strings.Repeat(deep, 50_000)))
		if err == nil || err.Error() != "c.yaml:1:1: the file has more values than the limit of 20000" {
			t.Errorf("%q again and again: %v", deep, err)
		}
	}
}

func TestParse_ReportsAllMistakes(t *testing.T) {
	_, err := config.Parse("dir/config.yaml", []byte("listen: 8484\npolicy:\n    backoff: [1m, soon]\nupstreams: {openai: {polcy: x}}\n"))
	const want = `dir/config.yaml:1:9: "8484"; want HOST:PORT, such as 127.0.0.1:8484
    1 | listen: 8484
      |         ^
dir/config.yaml:3:19: "soon"; want a time above zero, such as 30s, 5m or 1d12h
    3 |     backoff: [1m, soon]
      |                   ^
dir/config.yaml:4:22: unknown field "polcy"; did you mean policy?
    4 | upstreams: {openai: {polcy: x}}
      |                      ^`
	if got := config.Excerpts(err); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := err.Error(); got != `config.yaml:1:9: "8484"; want HOST:PORT, such as 127.0.0.1:8484 (and 2 more)` {
		t.Errorf("on one line: %s", got)
	}
}

func TestParse_RejectsKeysWithoutRepeatingThem(t *testing.T) {
	for _, text := range []string{
		"upstreams: {openai: {key: sk-proj-1234567890abcdefghij}}",
		"upstreams: {openai: {key: hunter2secret, polcy: x}}",
		"upstreams:\n  openai:\n    key: hunter2secret\n",
		"upstreams:\n  openai:\n    key: \"hunter2secret\n",
		"upstreams:\n  openai:\n    key:\n      - hunter2secret\n",
		"upstreams: {openai: {\"api-key\":\"hunter,2secret\"}}",
		"upstreams: {openai: {polcy: x, key: &k hunter2secret}}",
		"upstreams:\n  openai:\n    api-key: hunter2secret\n",
		"upstreams:\n  openai:\n    api_key: 'hunter2secret' # mine\n",
		"upstreams:\n  openai:\n    key: {env: hunter-2secret}\n",
		"upstreams:\n  openai:\n    key: {value: hunter2secret}\n",
		"upstreams:\n  openai:\n    url: https://me:hunter2secret@example.com\n",
		"upstreams:\n  openai:\n    url: https://h/?key=hunter2secret\n",
		"upstreams: {sk-proj-1234567890abcdefghij: {key: {}}}",
		"token: hunter2secret",
		"token: 'hunter2secret",
	} {
		_, err := config.Parse("config.yaml", []byte(text))
		if err == nil {
			t.Errorf("%s: no error", text)
			continue
		}
		if shown := config.Excerpts(err) + err.Error(); strings.Contains(shown, "2secret") || strings.Contains(shown, "1234567890") {
			t.Errorf("%s: the error contains the secret:\n%s", text, shown)
		}
	}
}

// What is shown of a file with one long line, such as a picture that was taken for a configuration, fits a screen.
func TestExcerpts_OfALongLineAreShort(t *testing.T) {
	for _, size := range []int{20 << 10, 30 << 20} {
		_, err := config.Parse("config.yaml", []byte("upstreams: {anthropic: {url: "+strings.Repeat("x", size)+"}}"))
		if shown := config.Excerpts(err); err == nil || len(shown) > 1000 {
			t.Errorf("a line of %d bytes: %d bytes are shown, want at most 1000", size, len(shown))
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(integer)
	f.Add("upstreams: &a {openai: {url: https://h}}\npolicy: *a")
	f.Add("policy: {backoff: [1s, 2m, 3h, 1d12h], jitter: 10%}")
	f.Add("\uFEFFlisten: 'a\n  b'\r\n? x\n: |\n  text\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := config.Parse("config.yaml", []byte(text))
		if err == nil {
			shown := c.Show(true)
			if _, err := config.Parse("config.yaml", []byte(shown)); err != nil {
				t.Errorf("what is shown is refused: %v\n%s", config.Excerpts(err), shown)
			}
			_ = c.Warnings()
			return
		}
		all, ok := errors.AsType[config.Errors](err)
		if !ok || len(all) == 0 {
			t.Fatalf("an error without a place: %v", err)
		}
		lines := strings.Split(text, "\n")
		for _, e := range all {
			if e.Line < 1 || e.Line > len(lines) || e.Column < 1 || e.Column > len([]rune(lines[e.Line-1]))+1 || e.Message == "" {
				t.Errorf("%d:%d is no place in %d lines: %s", e.Line, e.Column, len(lines), e.Message)
			}
			_ = e.Excerpt()
		}
	})
}

func TestParse_EarlierKeysAreNamedAsNow(t *testing.T) {
	for text, want := range map[string]string{
		"policy: {preset: patient, max: 1h}\n": `config.yaml:1:27: "max" is now called "max-backoff"`,
		"policy:\n  waits: [1s]\n":             `config.yaml:2:3: "waits" is now called "backoff"`,
		"policies:\n  a: {like: patient, sleep: 3h}\n  b: {like: worker, wait: 1}\nlog: loud\n": `config.yaml:2:7: "like" is now called "preset" (and 2 more)`,
		"upstreams:\n  openai:\n    fallback: [{to: ollama, at-once: [quota]}]\n":               `config.yaml:3:29: "at-once" is now called "immediately-on"`,
	} {
		if _, err := config.Parse("config.yaml", []byte(text)); err == nil || err.Error() != want {
			t.Errorf("Parse(%q) returns %v, want %s", text, err, want)
		}
	}
}

func TestConfig_URLIsOnThisMachine(t *testing.T) {
	for listen, want := range map[string]string{
		"127.0.0.1:8484": "http://127.0.0.1:8484", ":8484": "http://127.0.0.1:8484", "0.0.0.0:1": "http://127.0.0.1:1",
		"[::]:2": "http://127.0.0.1:2", "gate:3": "http://gate:3",
	} {
		c := config.Config{Listen: listen}
		if got := c.URL(); got != want {
			t.Errorf("URL with listen %s: got %s, want %s", listen, got, want)
		}
	}
}

// An override reads only its field, and a file only the fields that it has: what a start allocates stays in memory
// until the first collection.
func TestParse_AllocatesForWhatTheFileHas(t *testing.T) {
	c, err := config.Parse("config.yaml", nil)
	if err != nil {
		t.Fatalf("parse: %v", err)
	}
	set := testing.AllocsPerRun(5, func() { _ = c.Set("listen", "127.0.0.1:1", "--listen") })
	parse := testing.AllocsPerRun(5, func() { _, _ = config.Parse("config.yaml", nil) })
	if set > 50 || parse > 50 {
		t.Errorf("allocations: got %.0f of Set and %.0f of Parse, want at most 50 each", set, parse)
	}
}
