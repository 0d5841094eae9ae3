package server_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/council"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/internal/operation/access"
	"github.com/ridethrough/ridethrough/internal/operation/metrics"
	"github.com/ridethrough/ridethrough/internal/operation/tenant"
	"github.com/ridethrough/ridethrough/internal/server"
	"github.com/ridethrough/ridethrough/internal/server/conversations"
	"github.com/ridethrough/ridethrough/store"
)

// team returns tokens named and scoped like these, whose secrets are their names and "-secret".
func team(scopes ...string) func() []access.Token {
	var all []access.Token
	for _, names := range scopes {
		scope, err := access.ParseScope(names)
		if err != nil {
			panic(err)
		}
		all = append(all, access.Token{Name: names, Scope: scope, Hash: access.Hash(names + "-secret")})
	}
	return func() []access.Token { return all }
}

func TestServer_ScopesPermitTheirRoutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newConversationServerOn(t, server.Config{
			Token: "the-single-token", Tokens: team("use", "see", "act", "see,act", "admin"),
			Extensions: []server.Extension{&conversations.Councils{New: func([]string, string) (council.Council, error) { return council.Council{}, errors.New("no models") }}},
		}, store.Memory())
		for _, row := range []struct {
			method, path, body string
			permits            string // the tokens that may; others get 403
		}{
			{"POST", "/v1/messages", `{"model":"m"}`, "use admin token"},
			{"GET", "/v1/models", "", "use admin token"},
			{"GET", "/-/waits", "", "see see,act admin token"},
			{"GET", "/-/events.schema.json", "", "see see,act admin token"},
			{"GET", "/-/conversations", "", "see see,act admin token"},
			{"POST", "/-/waits/1", `{"do":"now"}`, "act see,act admin token"},
			{"POST", "/-/conversations", `{"model":"acme/large"}`, "act see,act admin token"},
			{"PATCH", "/-/conversations/c1", `{}`, "act see,act admin token"},
			{"POST", "/-/conversations/c1/stop", "", "act see,act admin token"},
			{"GET", "/-/conversations/c1/socket", "", "see,act admin token"},
			{"DELETE", "/-/conversations/none", "", "admin token"},
			{"GET", "/-/conversations/c1/records", "", "see see,act admin token"},
			{"POST", "/-/conversations/c1/records", "", "admin token"},
			{"POST", "/-/councils", `{}`, "use admin token"},
		} {
			_, _ = p.host.Create(t.Context(), "c1", conversation.Settings{Model: "acme/large"})
			for name, secret := range map[string]string{
				"use": "use-secret", "see": "see-secret", "act": "act-secret", "see,act": "see,act-secret", "admin": "admin-secret", "token": "the-single-token",
			} {
				req, _ := http.NewRequestWithContext(t.Context(), row.method, "http://localhost"+row.path, strings.NewReader(row.body))
				req.Header.Set("Content-Type", "application/json")
				req.Header.Set("Authorization", "Bearer "+secret)
				resp, err := p.client.Do(req)
				if err != nil {
					t.Fatalf("%s %s: %v", row.method, row.path, err)
				}
				resp.Body.Close()
				permitted := strings.Contains(" "+row.permits+" ", " "+name+" ")
				if got := resp.StatusCode != 403 && resp.StatusCode != 401; got != permitted {
					t.Errorf("%s %s with the scope %s: %d, permitted %t", row.method, row.path, name, resp.StatusCode, permitted)
				}
				if challenge := resp.Header.Get("WWW-Authenticate"); resp.StatusCode == 403 && !strings.Contains(challenge, `error="insufficient_scope"`) {
					t.Errorf("%s %s with the scope %s: challenge %q", row.method, row.path, name, challenge)
				}
			}
		}
	})
}

func TestLive_SaysWhetherTokenActs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := run(t, server.Config{Gateway: &fake{}, Tokens: team("see", "see,act", "admin")})
		for token, want := range map[string]string{"see": `"acts":false`, "see,act": `"acts":true`, "admin": `"acts":true`} {
			r := p.read("/-/live", "X-Ridethrough-Token", token+"-secret")
			if e := r.next(); e.name != "hello" || !strings.Contains(e.data, want) {
				t.Errorf("hello for %s: %s %s, want %s", token, e.name, e.data, want)
			}
			r.close()
		}
	})
}

func TestServer_ExpiredTokenSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := team("admin")()
		all[0].Expires = time.Now().Add(time.Hour)
		reached := 0
		s := server.New(server.Config{
			Log: slog.New(slog.DiscardHandler), Tokens: func() []access.Token { return all },
			Gateway: &fake{serve: func(_ http.ResponseWriter, r *http.Request) {
				if reached++; r.Header["X-Api-Key"] != nil {
					t.Errorf("the token reaches the gateway: %v", r.Header)
				}
			}},
		})
		for _, want := range []int{200, 401} {
			w := ask(s, request("POST", messages, "{}", "X-Api-Key", "admin-secret"))
			if w.Code != want || want == 401 && !strings.Contains(w.Body.String(), "the token admin has expired on 2000-01-01T01:00:00Z") {
				t.Errorf("after %v: %d %s, want %d", time.Now(), w.Code, w.Body, want)
			}
			time.Sleep(time.Hour)
		}
		if reached != 1 {
			t.Errorf("%d requests reach the gateway, want 1", reached)
		}
	})
}

func TestServer_GuessesAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := server.New(server.Config{Log: slog.New(slog.NewTextHandler(&log, nil)), Gateway: &fake{}, Tokens: team("use", "admin")})
		from := func(addr, secret string) int {
			r := request("POST", messages, "{}", "X-Api-Key", secret)
			r.RemoteAddr = addr + ":4711"
			w := ask(s, r)
			if w.Code == 429 && (w.Header().Get("Retry-After") != "6" || w.Header().Get("X-Should-Retry") != "false") {
				t.Errorf("429 with %v", w.Header())
			}
			return w.Code
		}
		if got := from("10.0.0.1", "use-secret"); got != 200 {
			t.Fatalf("a valid token: %d", got)
		}
		for i := range 10 {
			if got := from("10.0.0.1", fmt.Sprint("guess", i)); got != 401 {
				t.Fatalf("guess %d: %d, want 401", i+1, got)
			}
		}
		for what, row := range map[string]struct {
			addr, secret string
			want         int
		}{
			"an eleventh guess":                     {"10.0.0.1", "guess", 429},
			"another valid token":                   {"10.0.0.1", "admin-secret", 200},
			"the token that has passed from there":  {"10.0.0.1", "use-secret", 200},
			"no token":                              {"10.0.0.1", "", 401},
			"another address":                       {"10.0.0.2", "admin-secret", 200},
			"another address with that first token": {"10.0.0.2", "use-secret", 200},
		} {
			if got := from(row.addr, row.secret); got != row.want {
				t.Errorf("%s: %d, want %d", what, got, row.want)
			}
		}
		time.Sleep(6 * time.Second)
		if got := from("10.0.0.1", "guess"); got != 401 {
			t.Errorf("after 6 s: %d, want 401", got)
		}
		if text := log.String(); !strings.Contains(text, "too many wrong tokens from an address") && !strings.Contains(text, "unlogged=") || strings.Contains(text, "guess1") {
			t.Errorf("logged %s", text)
		}
	})
}

func TestServer_OneRequestIsNoListOfGuesses(t *testing.T) {
	s := server.New(server.Config{Log: slog.New(slog.DiscardHandler), Gateway: &fake{}, Tokens: team("use")})
	for guesses, want := range map[int]int{7: 200, 8: 401, 1000: 401} {
		r := request("POST", messages, "{}")
		for i := range guesses {
			r.Header.Add("X-Ridethrough-Token", fmt.Sprint("guess", i))
		}
		r.Header.Add("X-Ridethrough-Token", "use-secret")
		if w := ask(s, r); w.Code != want {
			t.Errorf("the token after %d others: %d, want %d", guesses, w.Code, want)
		}
	}
}

func TestServer_RecordsActions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		c := server.Config{Tokens: team("see", "act", "admin"), Log: slog.New(slog.NewTextHandler(&log, nil))}
		p := newConversationServerOn(t, c, store.Memory())
		if _, err := p.host.Create(t.Context(), "c1", conversation.Settings{Model: "acme/large"}); err != nil {
			t.Fatalf("create: %v", err)
		}
		send := func(method, path, body, token string) {
			req, _ := http.NewRequestWithContext(t.Context(), method, "http://localhost/-"+path, strings.NewReader(body))
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("X-Ridethrough-Token", token+"-secret")
			resp, err := p.client.Do(req)
			if err != nil {
				t.Fatalf("%s %s: %v", method, path, err)
			}
			resp.Body.Close()
		}
		send("GET", "/conversations", "", "see")
		send("POST", "/waits/17", `{"do":"give-up"}`, "act")
		send("POST", "/conversations/c1/turns?key=act-secret", `{"text":"my private question"}`, "act")
		send("POST", "/waits/17", `{"do":"now"}`, "see")
		send("DELETE", "/conversations/c1", "", "admin")
		var got []string
		for line := range strings.Lines(log.String()) {
			if _, rest, ok := strings.Cut(line, "msg=audit "); ok {
				got = append(got, strings.TrimSpace(rest))
			}
		}
		want := []string{
			`token=act from=pipe action="POST /-/waits/17" do=give-up status=200`,
			`token=act from=pipe action="POST /-/conversations/c1/turns" status=202`,
			`token=see from=pipe action="POST /-/waits/17" status=403`,
			`token=admin from=pipe action="DELETE /-/conversations/c1" status=204`,
		}
		if text := strings.Join(got, "\n"); text != strings.Join(want, "\n") {
			t.Errorf("got\n%s\nwant\n%s", text, strings.Join(want, "\n"))
		}
		if strings.Contains(log.String(), "private") || strings.Contains(log.String(), "-secret") {
			t.Errorf("the log has content or a token:\n%s", &log)
		}
	})
}

func TestServer_RefusesBeyondTheLimitsOfAToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := team("use", "admin")()
		all[0].Limits = access.Limits{Requests: 2}
		r := newGatewayServer(t, simulator.Script{}, server.Config{Tokens: func() []access.Token { return all }, Tenants: tenant.New(new(metrics.Registry))})
		send := func(path, token string) (resp *http.Response, text string) {
			req, _ := http.NewRequestWithContext(t.Context(), "POST", "http://localhost"+path, strings.NewReader(`{"model":"m","stream":true}`))
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("X-Ridethrough-Token", token)
			req.Header.Set("X-Api-Key", "sk")
			resp, err := r.client.Do(req)
			if err != nil {
				t.Fatalf("POST %s: %v", path, err)
			}
			defer resp.Body.Close()
			body, _ := io.ReadAll(resp.Body)
			return resp, string(body)
		}
		for range 2 {
			if resp, text := send(messages, "use-secret"); resp.StatusCode != 200 {
				t.Errorf("within the limit: got %d %s, want 200", resp.StatusCode, text)
			}
		}
		for path, kind := range map[string]string{messages: "rate_limit_error", "/v1/chat/completions": "rate_limit", "/v1beta/models/g:streamGenerateContent": "RESOURCE_EXHAUSTED"} {
			resp, text := send(path, "use-secret")
			if resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "30" || resp.Header.Get("X-Should-Retry") != "" ||
				!strings.Contains(text, kind) || !strings.Contains(text, "the token use permits 2 requests a minute; try again in 30s") {
				t.Errorf("%s beyond it: got %d, %v, %s; want 429 with Retry-After: 30 and %s", path, resp.StatusCode, resp.Header, text, kind)
			}
		}
		if resp, text := send(messages, "admin-secret"); resp.StatusCode != 200 {
			t.Errorf("another token: got %d %s, want 200", resp.StatusCode, text)
		}
		time.Sleep(30 * time.Second)
		if resp, text := send(messages, "use-secret"); resp.StatusCode != 200 {
			t.Errorf("after the wait: got %d %s, want 200", resp.StatusCode, text)
		}
		if n := len(r.provider.Requests()); n != 4 {
			t.Errorf("%d requests reached the provider, want 4", n)
		}
	})
}
