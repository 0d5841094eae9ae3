package server_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/server"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/turn"
)

// waiting is a request that waits until due from now.
func waiting(id int64, due time.Duration) gateway.Wait {
	return gateway.Wait{
		Call:  gateway.Call{ID: id, Session: "s-1", Client: "claude-cli/2.1.329", API: "anthropic", Upstream: "work", Model: "claude", Stream: true, Began: time.Now().Add(-time.Minute)},
		State: "waiting", Held: true,
		Wait: policy.Wait{
			Run: policy.Run{Tries: 3}, Fault: &fault.Error{Kind: fault.Overloaded, Status: 529, Message: "Overloaded"},
			Limit: policy.Unlimited, Due: time.Now().Add(due), Deadline: time.Now().Add(8 * time.Hour), Waited: 55 * time.Second,
		},
	}
}

func TestWaits_ListRemainingTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // virtual time begins at midnight UTC 2000-01-01
		g := &fake{waits: []gateway.Wait{waiting(17, 30*time.Second)}}
		s := server.New(server.Config{Log: slog.New(slog.DiscardHandler), Gateway: g})
		time.Sleep(10 * time.Second)
		const one = `{"face":"gateway","id":17,"state":"waiting","session":"s-1","client":"claude-cli/2.1.329","api":"anthropic","upstream":"work","model":"claude","stream":true,"held":true,` +
			`"kind":"overloaded","cause":"server overloaded","message":"HTTP 529: Overloaded","retries":2,"began":"1999-12-31T23:59:00Z","due":"2000-01-01T00:00:30Z",` +
			`"deadline":"2000-01-01T08:00:00Z","remainingMs":20000,"waitedMs":55000}`
		for path, want := range map[string]string{"/-/waits": `{"waits":[` + one + "]}\n", "/-/waits/17": one + "\n"} {
			w := ask(s, request("GET", path, ""))
			if w.Code != 200 || w.Body.String() != want {
				t.Errorf("%s: %d\n got %s\nwant %s", path, w.Code, w.Body, want)
			}
			if h := w.Header(); h.Get("Cache-Control") != "no-store" || h.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s: %v", path, h)
			}
		}
	})
	if w := ask(server.New(server.Config{Log: slog.New(slog.DiscardHandler), Gateway: &fake{}}), request("GET", "/-/waits", "")); w.Body.String() != "{\"waits\":[]}\n" {
		t.Errorf("none: %s", w.Body)
	}
}

// A wait for the rest of an answer says so.
func TestWaits_ListAfterContent(t *testing.T) {
	w := waiting(17, 30*time.Second)
	for _, w.AfterContent = range []bool{true, false} {
		s := server.New(server.Config{Log: slog.New(slog.DiscardHandler), Gateway: &fake{waits: []gateway.Wait{w}}})
		if got := ask(s, request("GET", "/-/waits", "")).Body.String(); strings.Contains(got, `"afterContent":true`) != w.AfterContent {
			t.Errorf("after content %v: the list is %s", w.AfterContent, got)
		}
	}
}

func TestWaits_ListPromptCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := waiting(17, 30*time.Second)
		w.Cache = turn.PromptCache{Until: time.Now().Add(3 * time.Minute), Tokens: 48000}
		s := server.New(server.Config{Log: slog.New(slog.DiscardHandler), Gateway: &fake{waits: []gateway.Wait{w}}})
		const want = `"cachedUntil":"2000-01-01T00:03:00Z","cacheTokens":48000,`
		if got := ask(s, request("GET", "/-/waits/17", "")).Body.String(); !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

func TestUpstreams_ListStates(t *testing.T) {
	at := time.Date(2026, time.November, 2, 12, 0, 0, 0, time.UTC)
	busy := &fault.Error{Kind: fault.Overloaded, Status: 529}
	open := []breaker.Outage{{Level: "model", Scope: breaker.Scope{Model: "claude", Credential: "c4e1"}, Since: at, Fault: busy, Probes: 2, Waiting: 3}}
	g := &fake{upstreams: []gateway.Health{
		{Name: "fresh", API: "openai", Base: "https://api.openai.com"},
		{Name: "well", API: "openai", Breaker: breaker.State{LastSuccess: at}},
		{Name: "ill", API: "anthropic", Breaker: breaker.State{Outages: open, Waiting: 3, LastSuccess: at}},
		{Name: "weak", Breaker: breaker.State{Waiting: 1}},
		{Name: "better", Breaker: breaker.State{Outages: []breaker.Outage{{Level: "host", Recovering: true}}}},
		{Name: "stopped", Breaker: breaker.State{Paused: at, Outages: open}},
	}}
	s := server.New(server.Config{Log: slog.New(slog.DiscardHandler), Gateway: g})
	var got struct {
		Upstreams []struct {
			Name, State string
			Outages     []map[string]any
		}
	}
	if err := json.Unmarshal(ask(s, request("GET", "/-/upstreams", "")).Body.Bytes(), &got); err != nil {
		t.Fatalf("unmarshal: %v", err)
	}
	for i, want := range []string{"no-data", "operational", "waiting", "waiting", "recovering", "paused"} {
		if u := got.Upstreams[i]; u.State != want || (len(u.Outages) > 0) != (i > 1 && i != 3) {
			t.Errorf("%+v, want %s", u, want)
		}
	}
	w := ask(s, request("GET", "/-/upstreams/ill", ""))
	for _, part := range []string{
		`"outages":[{"name":"model claude c4e1…","level":"model","model":"claude","since":"2026-11-02T12:00:00Z","kind":"overloaded","cause":"server overloaded","message":"HTTP 529: server overloaded","probes":2,"probing":false,"recovering":false,"waiting":3,"remainingMs":0}]`,
		`"waiting":3,"lastSuccess":"2026-11-02T12:00:00Z"`,
	} {
		if !strings.Contains(w.Body.String(), part) {
			t.Errorf("no %s in %s", part, w.Body)
		}
	}
}

func TestActions_AreValidatedAndForwarded(t *testing.T) {
	const js = "application/json"
	tests := []struct {
		target, kind, body string
		status             int
		says               string // in the error, or what the gateway was asked
	}{
		{"waits/17", js, `{"do":"now"}`, 200, "now"},
		{"waits/17", js + "; charset=utf-8", ` {"do":"pause"} `, 200, "pause"},
		{"waits/17", js, `{"do":"resume"}`, 200, "resume"},
		{"waits/17", js, `{"do":"give-up"}`, 200, "give-up"},
		{"waits/17", js, `{"do":"skip"}`, 200, "skip"},
		{"upstreams/work", js, `{"do":"skip"}`, 400, "does not take skip"},
		{"upstreams/work", js, `{"do":"now"}`, 200, "work now"},
		{"upstreams/work", js, `{"do":"give-up"}`, 200, "work give-up"},
		{"waits/18", js, `{"do":"now"}`, 404, "no request 18 waits"},
		{"waits/x", js, `{"do":"now"}`, 404, "no request x waits"},
		{"upstreams/none", js, `{"do":"now"}`, 404, `no upstream is named "none"`},
		{"waits/17", js, `{"do":"dance"}`, 400, `want {"do":"now"}`},
		{"waits/17", js, `{}`, 400, `want {"do":"now"}`},
		{"waits/17", js, ``, 400, `want {"do":"now"}`},
		{"waits/17", js, `{"do":"now","id":3}`, 400, `want {"do":"now"}`},
		{"waits/17", js, `{"do":"now"}{}`, 400, `want {"do":"now"}`},
		{"waits/17", js, `{"do":"` + strings.Repeat("x", 5000) + `"}`, 413, "larger than 4096 bytes"},
		{"waits/17", "text/plain", `{"do":"now"}`, 415, "want Content-Type: application/json"},
		{"waits/17", "", `{"do":"now"}`, 415, "want Content-Type: application/json"},
		{"waits", js, `{"do":"now"}`, 405, "takes GET, HEAD"},
		{"livez", js, ``, 405, "takes GET, HEAD"},
		{"nothing", js, ``, 404, "there is no /-/nothing"},
		{"waits/17/more", js, ``, 404, "there is no /-/waits/17/more"},
		{"metrics", js, ``, 404, "there is no /-/metrics"},
	}
	for _, tt := range tests {
		g := &fake{upstreams: []gateway.Health{{Name: "work"}}}
		w := ask(server.New(server.Config{Log: slog.New(slog.DiscardHandler), Gateway: g}), request("POST", "/-/"+tt.target, tt.body, "Content-Type", tt.kind))
		if w.Code != tt.status {
			t.Errorf("%s %s: %d %s", tt.target, tt.body, w.Code, w.Body)
			continue
		}
		if tt.status == 200 {
			if !slices.Equal(g.acts, []string{tt.says}) || !strings.HasPrefix(w.Body.String(), `{"do":"`) {
				t.Errorf("%s %s: asked %q, answered %s", tt.target, tt.body, g.acts, w.Body)
			}
			continue
		}
		if got := message(t, w); !strings.Contains(got, tt.says) {
			t.Errorf("%s %s: %q, want %q", tt.target, tt.body, got, tt.says)
		}
		if tt.status == 405 && w.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: Allow %q", tt.target, w.Header().Get("Allow"))
		}
	}
	w := ask(server.New(server.Config{Log: slog.New(slog.DiscardHandler), Gateway: &fake{}}), request("DELETE", "/-/waits/17", ""))
	if w.Code != 405 || w.Header().Get("Allow") != "GET, HEAD, POST" {
		t.Errorf("DELETE: %d, Allow %q", w.Code, w.Header().Get("Allow"))
	}
}

func TestIndex_ListsRoutes(t *testing.T) {
	numbers := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "numbers") })
	s := server.New(server.Config{Log: slog.New(slog.DiscardHandler), Gateway: &fake{}, Metrics: numbers, Version: "v1.2.3"})
	var got struct {
		Name, Version string
		Since         time.Time
		Routes        []struct {
			Path, What string
			Methods    []string
		}
	}
	if err := json.Unmarshal(ask(s, request("GET", "/-/", "")).Body.Bytes(), &got); err != nil || got.Version != "v1.2.3" || len(got.Routes) != 17 || got.Since.IsZero() {
		t.Errorf("%+v, %v", got, err)
	}
	if w := ask(s, request("GET", "/-/metrics", "")); w.Body.String() != "numbers" {
		t.Errorf("%s", w.Body)
	}
}

func TestWaits_StreamSendsEachChangeOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &fake{waits: []gateway.Wait{waiting(17, time.Minute)}}
		r := run(t, server.Config{Gateway: g}).read("/-/waits")
		defer r.close()
		if e := r.next(); e.name != "snapshot" || !strings.HasPrefix(e.data, `{"waits":[{"face":"gateway","id":17,`) {
			t.Fatalf("%+v", e)
		}
		time.Sleep(10 * time.Second)
		if all := r.seen(); len(all) != 0 {
			t.Errorf("nothing has changed: %+v", all)
		}
		second := waiting(18, time.Minute)
		g.show([]gateway.Wait{g.Waits()[0], second}, nil)
		time.Sleep(250 * time.Millisecond)
		if all := r.seen(); len(all) != 1 || all[0].name != "wait" || !strings.HasPrefix(all[0].data, `{"face":"gateway","id":18,`) {
			t.Errorf("a new one: %+v", all)
		}
		second.State = "trying"
		g.show([]gateway.Wait{second}, nil)
		time.Sleep(500 * time.Millisecond) // its end is unknown, and might come late
		all := r.seen()
		if len(all) != 2 || !strings.Contains(all[0].data, `"state":"trying"`) || all[1] != (event{name: "gone", data: `{"wait":17}`}) {
			t.Errorf("one changed, one gone: %+v", all)
		}
		time.Sleep(30 * time.Second)
		if all := r.seen(); len(all) != 2 || all[0].comment != "beat" {
			t.Errorf("beats: %+v", all)
		}
	})
}

func TestUpstreams_StreamSendsBeginOfOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &fake{upstreams: []gateway.Health{{Name: "work"}, {Name: "spare"}}}
		r := run(t, server.Config{Gateway: g}).read("/-/upstreams")
		defer r.close()
		r.next()
		g.show(nil, []gateway.Health{{Name: "work", Breaker: breaker.State{Waiting: 1, Outages: []breaker.Outage{{Fault: &fault.Error{Kind: fault.Overloaded}}}}}})
		time.Sleep(250 * time.Millisecond)
		all := r.seen()
		if len(all) != 2 || all[0].name != "upstream" || !strings.Contains(all[0].data, `"state":"waiting"`) || all[1].data != `{"upstream":"spare"}` {
			t.Errorf("%+v", all)
		}
	})
}
