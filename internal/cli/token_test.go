package cli_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTokenNew_PrintsTokenAndLine(t *testing.T) {
	code, out, errs := run(t, nil, "token", "new", "alice", "--scope", "use,see", "--expires", "90d")
	token, line, ok := strings.Cut(out, "\nline for the file: alice use,see 20")
	if code != 0 || errs != "" || !ok || !strings.HasPrefix(token, "token: rt_") || !strings.Contains(line, "Z sha256:") || strings.Contains(line, token[7:]) {
		t.Errorf("token new: exit code %d, %q %q", code, out, errs)
	}
	if code, out, errs := run(t, nil, "token", "new", "ci", "--rpm", "60", "--tpm", "200000", "--holds", "20"); code != 0 || !strings.HasSuffix(out, " rpm=60 tpm=200000 holds=20\n") {
		t.Errorf("token new with limits: exit code %d, %q %q, want a line that ends with them", code, out, errs)
	}
	for args, want := range map[string]string{
		"token new a --rpm 0":           `invalid argument "0" for "--rpm" flag: want a number above 0`,
		"token new":                     "want `ridethrough token new NAME`",
		"token new a/b":                 `invalid name "a/b"`,
		"token new a --scope all":       `--scope: unknown scope "all"; want use, see, act or admin`,
		"token new a --expires tuesday": `--expires "tuesday": want a time above zero`,
	} {
		if code, _, errs := run(t, nil, strings.Fields(args)...); code != 2 || !strings.Contains(errs, want) {
			t.Errorf("%s: exit code %d, %q, want %q", args, code, errs, want)
		}
	}
}

func TestServe_FollowsTokensAndRecordsActions(t *testing.T) {
	dir := t.TempDir()
	file, data := filepath.Join(dir, "tokens"), filepath.Join(dir, "data")
	issue := func(name, scope string) string {
		code, out, errs := run(t, nil, "token", "new", name, "--scope", scope, "--append", file)
		if code != 0 {
			t.Fatalf("token new %s: exit code %d, %s", name, code, errs)
		}
		return strings.TrimSpace(out)
	}
	alice := issue("alice", "use")
	if code, _, errs := run(t, nil, "token", "new", "alice", "--append", file); code != 1 || !strings.Contains(errs, "line 2: a second token named alice") {
		t.Errorf("a second alice: exit code %d, %s", code, errs)
	}
	path := write(t, dir, "c.yaml", "listen: 127.0.0.1:0\ntokens: tokens\nupstreams: {openai: {url: "+answering(t, http.StatusForbidden)+"}}\n")
	gateway := start(t, "serve", "--config", path, "--data", data)
	base := gateway.waitForLog(t, "listening")["url"].(string)
	ask := func(method, path, token string) int {
		req, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(`{"model":"m"}`))
		if err != nil {
			t.Fatalf("create request: %v", err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatalf("send request: %v", err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	check := func(what string, got, want int) {
		t.Helper()
		if got != want {
			t.Errorf("%s: status %d, want %d", what, got, want)
		}
	}
	check("a request to a model, without a key for it", ask("POST", "/v1/chat/completions", alice), 403)
	check("a look at the waits", ask("GET", "/-/waits", alice), 403)
	check("another token", ask("GET", "/-/waits", "rt_another-token-of-anyone"), 401)
	bob := issue("bob", "admin") // while it runs
	check("a new token", ask("GET", "/-/waits", bob), 200)
	check("a deletion", ask("DELETE", "/-/conversations/none", bob), 404)
	if code := gateway.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	text, err := os.ReadFile(filepath.Join(data, "audit.jsonl"))
	if err != nil {
		t.Fatalf("read the audit file: %v", err)
	}
	for _, want := range []string{
		`"token":"alice","from":"127.0.0.1","action":"GET /-/waits","status":403`,
		`"token":"","from":"the file of tokens","action":"change tokens","tokens":["alice use","bob admin"]`,
		`"token":"bob","from":"127.0.0.1","action":"DELETE /-/conversations/none","status":404`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the audit file has no %s:\n%s", want, text)
		}
	}
}
