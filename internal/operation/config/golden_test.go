package config_test

import (
	"fmt"
	"net/url"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/ridethrough/ridethrough/internal/operation/config"
)

// golden has configurations of the docs and of tests, each with what it resolves to.
const golden = "testdata/golden.txtar"

// TestParse_ResolvesAsRecorded compares what each configuration changes, warns about and makes of a gateway with
// what was recorded. -update records it again.
func TestParse_ResolvesAsRecorded(t *testing.T) {
	archive, err := txtar.ParseFile(golden)
	if err != nil {
		t.Fatalf("read the record: %v", err)
	}
	for i := 0; i+1 < len(archive.Files); i += 2 {
		text, want := archive.Files[i], &archive.Files[i+1]
		got := resolved(t, string(text.Data))
		if *update {
			want.Data = []byte(got)
		}
		if diff := cmp.Diff(string(want.Data), got); diff != "" {
			t.Errorf("%s resolves differently (-recorded +now):\n%s\n%s", text.Name, diff, text.Data)
		}
	}
	if *update {
		if err := os.WriteFile(golden, txtar.Format(archive), 0o644); err != nil {
			t.Fatalf("write the record: %v", err)
		}
	}
	if n := len(archive.Files) / 2; n < 100 {
		t.Errorf("%d configurations in the record, want at least 100", n)
	}
}

// resolved returns the changes and the warnings of a configuration, and the values of its gateway that differ from
// those of an empty file.
func resolved(t *testing.T, text string) string {
	t.Helper()
	secrets := func(name string) string { return map[string]string{"HOME": "/home/user"}[name] + "-value-of-" + name }
	lines := func(c config.Config) []string {
		g, err := c.Gateway(secrets)
		made := []string{fmt.Sprintf("error: %v", err)}
		dump(&made, "gateway", reflect.ValueOf(g))
		n, err := c.Notices(secrets)
		made = append(made, fmt.Sprintf("notices error: %v", err))
		dump(&made, "notices", reflect.ValueOf(n))
		for _, name := range c.Agents() {
			a, err := c.Agent(name, secrets)
			made = append(made, fmt.Sprintf("agent error: %v", err))
			dump(&made, "agent "+name, reflect.ValueOf(a))
		}
		dump(&made, "supervisor", reflect.ValueOf(c.Supervisor()))
		return made
	}
	empty := parse(t, "")
	usual := map[string]bool{}
	for _, line := range lines(empty) {
		usual[line] = true
	}
	c := parse(t, text)
	var b strings.Builder
	for _, change := range c.Changes(&empty) {
		if change.New != "" || !strings.HasPrefix(change.Field, "upstreams.") { // those of an empty file are not there
			fmt.Fprintln(&b, change)
		}
	}
	for _, doubt := range c.Warnings() {
		fmt.Fprintln(&b, "warning:", doubt)
	}
	for _, line := range lines(c) {
		if !usual[line] {
			fmt.Fprintln(&b, line)
		}
	}
	return b.String()
}

// dump appends a line for each value that is not zero.
func dump(lines *[]string, at string, v reflect.Value) {
	if v.CanInterface() {
		if u, ok := v.Interface().(*url.URL); ok && u != nil {
			*lines = append(*lines, at+": "+u.String())
			return
		}
	}
	switch {
	case v.IsZero():
	case v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface:
		dump(lines, at, v.Elem())
	case v.Kind() == reflect.Func:
		*lines = append(*lines, at+": a function")
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			*lines = append(*lines, fmt.Sprintf("%s[%d]", at, i))
			dump(lines, fmt.Sprintf("%s[%d]", at, i), v.Index(i))
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			dump(lines, at+"."+v.Type().Field(i).Name, v.Field(i))
		}
	default:
		*lines = append(*lines, fmt.Sprintf("%s: %v", at, v))
	}
}

// circle returns a file in which two upstreams name each other, with this list of the first one.
func circle(list string) string {
	return "upstreams:\n  a: {api: openai, url: http://127.0.0.1:1/v1, key: none, fallback:\n  " + list + "}\n" +
		"  b: {api: openai, url: http://127.0.0.1:2/v1, key: none, fallback: [{to: a}]}\n"
}

// A request follows the list of the upstream that it is for, and no other.
func TestConfig_UpstreamsMayNameEachOther(t *testing.T) {
	c := parseIn(t, t.TempDir(), circle("[{to: b}]"))
	if _, err := c.Gateway(env()); err != nil {
		t.Errorf("two upstreams with each other as fallback: %v, want no error", err)
	}
}

// TestConfig_BrokenFilesAreRefusedWithPlaceAndRemedy covers what the tables of other tests do not: each error has the
// line, the column and what to write instead.
func TestConfig_BrokenFilesAreRefusedWithPlaceAndRemedy(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"polcy: patient", `1:1: unknown field "polcy"; did you mean policy?`},
		{`"": x`, `1:1: unknown field ""; want listen, tls, token`},
		{"log: info\nlog: debug", `2:1: duplicate field "log", first on line 1`},
		{"listen:\n\tx: y", `2:1: invalid YAML: tab; YAML is indented with spaces`},
		{"policy: {backoff: [5]}", `1:20: "5"; want a time above zero, such as 30s, 5m or 1d12h`},
		{"listen: true", `1:9: true or false; want HOST:PORT, such as 127.0.0.1:8484`},
		{"policy: ", `1:9: nothing; want the name of a policy, or its fields`},
		{"faults: {a: b}", `1:9: fields; want a path`},
		{"upstreams:\n  openai:\n    fallback: [{to: openai}]", `3:21: upstream "openai": fallback to "openai": it is the upstream itself; name another model`},
		{circle("[{to: b}, {to: a}]"), `3:18: upstream "a": fallback to "a": it is the upstream itself; name another model, as in {to: a, model: NAME}`},
		{circle("[{to: b}, {to: b}]"), `3:18: upstream "a": fallback to "b": it is in the list already; name another upstream or another model`},
		{circle("[{to: a, model: m}, {to: b}, {to: a, model: m}]"), `3:37: upstream "a": fallback to "a": it is in the list already; name another upstream or another model`},
		{"upstreams:\n  openai:\n    routes: [{models: [m], fallback: [{to: openai, model: m}]}]", `3:44: upstream "openai": fallback to "openai": it is the model that the route is for; name another model or another upstream`},
		{"upstreams:\n  openai: {fallback: [{to: b}]}\n  b: {api: openai, url: http://127.0.0.1:1/v1, key: none, fallback: [{to: openai}]}", `3:75: upstream "b": fallback to "openai": it needs a key of its own`},
		{"tls: {cert: no.pem, key: no.pem}", `1:6: file dir/no.pem: no such file or directory`},
		{"tokens: no-file", `1:9: file dir/no-file: no such file or directory`},
		{"upstreams: {openai: {ca: no.pem}}", `1:26: dir/no.pem: no such file or directory`},
		{"mcp: {a: {command: x, dir: no-dir}}", `1:28: directory dir/no-dir: no such file or directory`},
		{"mcp: {a: {}}", `1:10: an MCP server needs either command or url`},
		{"mcp: {a: {url: 'http://x', args: [b]}}", `1:10: args, env and dir are for a server with a command`},
		{"mcp: {a: {command: b, args: [sk-ant-api03-0123456789abcdef]}}", `1:30: this looks like a secret, which must not be in the configuration file`},
		{"agents: {a: {mcp: [b]}}", `1:20: unknown MCP server "b"; there is no section mcp`},
		{"agents: {a: {allow: ['[b']}}", `1:22: "[b"; want a tool's name or a pattern such as mcp__github__get_*`},
		{"agents: {1: {files: x}}", `1:10: "1"; want a name of at most 32 letters, digits, - and _ that begins with a letter`},
		{"quota: {not-after: 6}", `1:20: "6"; want a time of day such as "06:00"`},
		{"quota: {wait: no}", `1:15: "no"; want what follows a spent window: stop or until-reset`},
		{"quota: {windows: 0}", `1:18: "0"; want a number from 1`},
		{"notices: {to: {a: {kind: slack}}}", `1:19: slack needs the field url`},
		{"notices: {to: {a: {kind: sms}}}", `1:26: "sms"; want a kind of target: webhook, ntfy, slack or desktop`},
		{"notices: {to: {a: {}}}", `1:19: the field kind is required`},
		{"receive: {time: 5}", `1:17: "5"; want a time above zero, such as 30s, or none`},
		{"detached: {from: end}", `1:18: "end"; want content or request`},
		{"upstreams: {openai: {proxy: foo}}", `1:29: "foo"; want a URL such as http://proxy.example:3128 or socks5://127.0.0.1:1080, or none`},
		{"upstreams: {bedrock: {aws: {access-key: {env: A}}}}", `1:28: AWS credentials need the field secret-key`},
		{"upstreams: {bedrock: {region: x}}", `1:31: "x"; want an AWS region such as eu-central-1`},
		{"upstreams: {openai: {http2: yes}}", `1:29: "yes"; want a way to speak HTTP/2: prior-knowledge`},
		{"upstreams: {openai: {reserve: 5}}", `1:31: "5"; want a share from 0% to 100%, such as 10%`},
		{"upstreams: {openai: {status-page: x}}", `1:35: "x"; want anthropic, openai or google-cloud, or the URL of a summary.json`},
		{"upstreams: {openai: {limits: {first-byte: soon}}}", `1:43: "soon"; want a time above zero, such as 30s, none or learned`},
		{"upstreams: {openai: {key: {env: A-B}}}", `1:33: want the name of an environment variable, such as ANTHROPIC_API_KEY`},
		{"policy: ''", `1:9: ""; want the name of a policy, or its fields`},
		{"policy: [patient]", `1:9: a list; want the name of a policy, or its fields`},
		{"policies: {a: {preset: worker, jitter: [1%]}}", `1:40: a list; want a share such as 10%, or {down: 0%, up: 10%}`},
		{"policies: {'': {preset: worker}}", `1:12: ""; want a name that begins with a letter`},
		{"upstreams: {openai: {fallback: [{to: ''}]}}", `1:38: ""; want the name of an upstream`},
		{"upstreams: {openai: {fallback: {to: ollama}}}", `1:32: fields; want a list of fallbacks`},
		{"upstreams: {openai: {reserve: -5%}}", `1:31: "-5%"; want a share from 0% to 100%`},
		{"upstreams: {openai: {body: -1MiB}}", `1:28: "-1MiB"; want a size above zero with its unit, such as 32MiB`},
		{"upstreams: {openai: {body: 0B}}", `1:28: "0B": it is zero; want a size above zero`},
		{"upstreams: {openai: {key: {env: true}}}", `1:33: want the name of an environment variable`},
		{"upstreams: {openai: {key: 12345}}", `1:27: a secret must not be in the configuration file; want {env: NAME} or {file: PATH}`},
		{"upstreams: {openai: {key: }}", `1:26: nothing; want {env: NAME} or {file: PATH}, or none`},
		{"upstreams: {openai: {url: [a]}}", `1:27: want a base URL with http:// or https:// and a host`},
		{"- listen", `1:1: a list; want the fields of a configuration`},
		{"mcp: [a]", `1:6: a list; want MCP servers by name`},
		{"log: info\n---\nlog: debug", `3:1: a second document starts here; want one`},
		{"hosts: *names", `1:8: unknown anchor &names`},
		{"hosts: &names [*names]", `1:16: unknown anchor &names`},
		{"agents: {a: &a {files: x}, b: *a, c: *b}", `1:38: unknown anchor &b`},
		{strings.Repeat("x", 30<<20), `1:1: the file has 31457280 bytes, more than the limit of 262144`},
		{"listen: 'a", `1:9: invalid YAML: could not find end character of single-quoted text`},
		{"listen: {a: [}", `1:14: invalid YAML: could not find '{' character corresponding to '}'`},
		{"hosts:\n  - b\n fleet: a", `3:2: invalid YAML: value is not allowed in this context`},
	} {
		c, err := config.Parse("dir/config.yaml", []byte(tt.text))
		if err == nil {
			_, err = c.Gateway(env())
		}
		if err == nil {
			_, err = c.TLS(env(), nil)
		}
		if err == nil {
			_, err = c.Tokens(env(), nil)
		}
		if err == nil || !strings.HasPrefix(err.Error(), "config.yaml:"+tt.want) {
			t.Errorf("%.200s:\n got %v\nwant %s", tt.text, err, tt.want)
		}
	}
}
