package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/internal/cli"
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/policy"
)

// explain runs the command on a text.
func explain(t *testing.T, input string, args ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	args = append([]string{"explain", "--now", "2026-11-02T21:00:00Z"}, args...)
	code = cli.Run(t.Context(), args, command.Streams{In: strings.NewReader(input), Out: &stdout, Err: &stderr, Env: lookup(nil)})
	return code, stdout.String(), stderr.String()
}

const curl529 = "HTTP/2 529\r\nrequest-id: req_7\r\nretry-after: 7\r\n\r\n" +
	`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`

func TestExplain_InputFormats(t *testing.T) {
	tests := []struct {
		name, input, args string
		kind              string
		status            int
	}{
		{"response", curl529, "", "overloaded", 529},
		{"response without a reason phrase or a body", "HTTP/1.1 503", "", "overloaded", 503},
		{"behind a proxy", "HTTP/1.1 200 Connection established\r\n\r\n" + curl529, "", "overloaded", 529},
		{"after a 100", "HTTP/1.1 100 Continue\r\n\r\n" + curl529, "", "overloaded", 529},
		{"redirected", "HTTP/1.1 307 Temporary Redirect\r\nLocation: /v1\r\nContent-Length: 0\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" + curl529, "", "overloaded", 529},
		{"window behind a proxy", "HTTP/1.1 200 Connection established\r\n\r\nHTTP/2 429 \r\nretry-after: 7200\r\n\r\n" + `{"type":"error","error":{"type":"rate_limit_error"}}`, "", "quota", 429},
		{"refused by a proxy", "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\n\r\n", "", "auth", 407},
		{"body with a status", `{"error":{"code":"insufficient_quota","message":"You exceeded your current quota"}}`, "--status 429", "quota", 429},
		{"body alone", `{"error":{"type":"overloaded_error","message":"Overloaded"}}`, "", "overloaded", 200},
		{"event", "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n\n", "", "overloaded", 200},
		{"page", "<html><title>502 Bad Gateway</title></html>", "--status 502", "unavailable", 502},
		{"line of a log", "TypeError: fetch failed", "", "unavailable", 0},
		{"line of Go", "dial tcp 127.0.0.1:1: connect: connection refused", "", "unavailable", 0},
		{"status alone", "", "--status 401", "auth", 401},
	}
	for _, tt := range tests {
		code, out, errs := explain(t, tt.input, append(strings.Fields(tt.args), "--json")...)
		var got struct {
			Kind     string
			Class    string
			Status   int
			Rule     string
			Verdicts map[string]string
		}
		if err := json.Unmarshal([]byte(out), &got); code != 0 || err != nil {
			t.Fatalf("%s: code %d, %q %q, %v", tt.name, code, out, errs, err)
		}
		if got.Kind != tt.kind || got.Status != tt.status || got.Class == "" || got.Rule == "" || len(got.Verdicts) != len(policy.Presets()) {
			t.Errorf("%s: got %s, want kind %s, status %d, a class, a rule and a verdict of each preset", tt.name, out, tt.kind, tt.status)
		}
	}
}

// TestExplain_TextAsArgument is about an error in the place of a file.
func TestExplain_TextAsArgument(t *testing.T) {
	for _, c := range []struct {
		arg  string
		code int
		want string
	}{
		{"TypeError: fetch failed", 0, `"kind":"unavailable"`},
		{`{"error":{"type":"overloaded_error","message":"Overloaded"}}`, 0, `"kind":"overloaded"`},
		{"HTTP/1.1 503", 0, `"status":503`},
		{"overloaded_error", 0, `"kind":"overloaded"`},
		{"eror.json", 1, "open eror.json: no such file or directory"},
		{"../error", 1, "open ../error: no such file or directory"},
	} {
		if code, out, errs := explain(t, "", c.arg, "--json"); code != c.code || !strings.Contains(out+errs, c.want) {
			t.Errorf("explain %q: got code %d, %s%s, want %d and %s", c.arg, code, out, errs, c.code, c.want)
		}
	}
}

func TestExplain_GuessedKind(t *testing.T) {
	for input, guessed := range map[string]bool{"Your wallet is depleted.": true, "Overloaded": false} {
		_, text, _ := explain(t, input, "--status", "400")
		_, object, _ := explain(t, input, "--status", "400", "--json")
		if strings.Contains(text, "guessed") != guessed || strings.Contains(object, `"guessed":true`) != guessed {
			t.Errorf("explain %q: want guessed %v in\n%s%s", input, guessed, text, object)
		}
	}
}

func TestExplain_Policies(t *testing.T) {
	code, out, _ := explain(t, curl529)
	for _, want := range []string{
		"HTTP 529: Overloaded", "overloaded (server overloaded)", "req_7",
		"patient      retry in 7s, as requested by the provider", "simple       retry in 7s", "council      retry in 7s",
	} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("code %d, no %q in\n%s", code, want, out)
		}
	}
	_, out, _ = explain(t, "invalid x-api-key", "--status", "401")
	if strings.Count(out, "stop: final") != len(policy.Presets()) {
		t.Errorf("a bad key:\n%s", out)
	}
	_, out, _ = explain(t, "HTTP/1.1 429\nretry-after: 18000\n\n{}")
	if !strings.Contains(out, "5h0m0s, until 2026-11-03T02:00:00Z") || !strings.Contains(out, "patient      retry in 5h0m0s") || !strings.Contains(out, "interactive  stop: final") {
		t.Errorf("a spent window:\n%s", out)
	}
}

func TestExplain_JSONLines(t *testing.T) {
	input := `{"id":"a-1","provider":"p","dialect":"openai-chat","where":"http","status":429,"headers":{"retry-after":"2.5"},"body":"{}"}` + "\n\n" +
		`{"id":"a-2","where":"network","status":null,"headers":{},"body":"socket hang up"}` + "\n" +
		`{"id":"a-3","where":"stream","status":200,"headers":{},"body":"data: {\"error\":{\"code\":\"context_length_exceeded\"}}"}` + "\n" +
		`{"id":"a-4","where":"http","status":402,"headers":{},"body":"Insufficient balance"}` + "\n"
	code, out, errs := explain(t, input, "--jsonl")
	want := []struct {
		id, class string
		retry     bool
		wait      string
	}{
		{"a-1", "transient", true, "2500"},
		{"a-2", "transient", true, "null"},
		{"a-3", "context_overflow", false, "null"},
		{"a-4", "quota_exhausted", false, "null"},
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != 0 || len(lines) != len(want) {
		t.Fatalf("code %d, %q %q", code, out, errs)
	}
	for i, w := range want {
		var got struct {
			ID, Kind, Class, Rule string
			Retry                 bool
			WaitMs                json.RawMessage `json:"wait_ms"`
		}
		if err := json.Unmarshal([]byte(lines[i]), &got); err != nil {
			t.Fatalf("unmarshal: %v", err)
		}
		if got.ID != w.id || got.Class != w.class || got.Retry != w.retry || string(got.WaitMs) != w.wait || got.Kind == "" || got.Rule == "" {
			t.Errorf("%s, want %+v", lines[i], w)
		}
	}
}

func TestExplain_BadInput(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "nothing.json")
	tests := []struct {
		input string
		args  []string
		code  int
		says  string
	}{
		{"", nil, 1, "no input"},
		{"", []string{missing}, 1, missing},
		{"{", []string{"--jsonl"}, 1, "line 1: want a JSON object"},
		{"x", []string{"--status", "42"}, 2, "want an HTTP status"},
		{"x", []string{"--now", "today"}, 2, "want a time"},
		{"x", []string{"--json", "--jsonl"}, 2, "json jsonl"},
		{"x", []string{"a", "b"}, 2, "want `ridethrough explain [FILE|TEXT]`"},
	}
	for _, tt := range tests {
		code, out, errs := explain(t, tt.input, tt.args...)
		if code != tt.code || !strings.Contains(errs, tt.says) || strings.Count(errs, "\n") != 1 || out != "" {
			t.Errorf("%q: code %d, %q %q; want %d, %q", tt.args, code, out, errs, tt.code, tt.says)
		}
	}
}

func TestExplain_File(t *testing.T) {
	name := filepath.Join(t.TempDir(), "error.txt")
	if err := os.WriteFile(name, []byte(curl529), 0o600); err != nil {
		t.Fatalf("write file: %v", err)
	}
	if code, out, errs := explain(t, "not this", name); code != 0 || !strings.Contains(out, "529") {
		t.Errorf("code %d, %q %q", code, out, errs)
	}
}

// FuzzExplain looks for input that no reader of errors can stand.
func FuzzExplain(f *testing.F) {
	f.Add(curl529, false)
	f.Add("HTTP/1.1 x\n\n", false)
	f.Add(`{"id":"a","where":"http","status":429,"headers":{"":"\n"},"body":"{}"}`, true)
	f.Fuzz(func(t *testing.T, input string, lines bool) {
		args := []string{"explain", "--json"}
		if lines {
			args = []string{"explain", "--jsonl"}
		}
		var out, errs bytes.Buffer
		code := cli.Run(t.Context(), args, command.Streams{In: strings.NewReader(input), Out: &out, Err: &errs, Env: lookup(nil)})
		if code != 0 && strings.Count(errs.String(), "\n") != 1 {
			t.Errorf("%q: code %d, %q", input, code, errs.String())
		}
		for line := range strings.Lines(out.String()) {
			if !json.Valid([]byte(line)) {
				t.Errorf("%q: no JSON: %q", input, line)
			}
		}
	})
}

func TestExplain_WhyPrintsTheEvidence(t *testing.T) {
	const body = `{"error":{"type":"insufficient_quota","message":"The credit balance of this organization, workspace and project is insufficient for the request."}}`
	code, out, errs := explain(t, body, "--status", "429", "--why")
	_, evidence, found := strings.Cut(out, "\nevidence")
	if code != 0 || !found || !strings.Contains(evidence, "> type insufficient_quota says quota, 100 % sure") || !strings.Contains(evidence, "status 429 says rate-limited") {
		t.Errorf("code %d, %s%s, want the evidence", code, out, errs)
	}
	for line := range strings.Lines(evidence) {
		if len([]rune(line)) > 81 { // with its newline
			t.Errorf("%q is wider than 80 columns", line)
		}
	}
	_, out, _ = explain(t, body, "--status", "429", "--why", "--json")
	var got struct {
		Evidence []struct {
			From, Found, Kind, Rule, Because string
			Sure                             int
			Decides                          bool
		}
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || len(got.Evidence) < 3 || !got.Evidence[0].Decides || got.Evidence[0].Sure != 100 {
		t.Errorf("%s: %v, want the evidence in JSON", out, err)
	}
}
