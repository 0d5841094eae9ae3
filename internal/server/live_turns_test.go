package server_test

import (
	"encoding/json"
	"fmt"
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
	"github.com/ridethrough/ridethrough/internal/server/conversations"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/store"
)

// down returns n failures and then other answers.
func down(n int, then ...llmtest.Answer) []llmtest.Answer {
	var all []llmtest.Answer
	for range n {
		all = append(all, llmtest.Fails(&fault.Error{Kind: fault.Overloaded, Status: 529, Message: "busy"}))
	}
	return append(all, then...)
}

// of returns the data of the events with a name.
func of(all []event, name string) (data []string) {
	for _, e := range all {
		if e.name == name {
			data = append(data, e.data)
		}
	}
	return data
}

// decoded returns the members of an event.
func decoded(t *testing.T, data string) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(data), &v); err != nil {
		t.Fatalf("%q: %v", data, err)
	}
	return v
}

func TestLive_ShowsWaitingTurnAndItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newConversationServer(t, down(2, llmtest.Late(10*time.Second, llmtest.Says("hi")))...)
		r := p.read("/-/live")
		defer r.close()
		if got := r.seen(); names(got) != "hello waits turns counts upstreams incidents conversations warnings " || of(got, "turns")[0] != `{"turns":[]}` || of(got, "counts")[0] != `{"counts":[{"of":"turns","all":0}]}` {
			t.Fatalf("%+v", got)
		}
		p.create("c1")
		turn := p.say("c1", "hello")
		time.Sleep(300 * time.Millisecond)
		all := r.seen()
		shown := decoded(t, of(all, "turn")[0])
		for name, want := range map[string]any{
			"conversation": "c1", "turn": turn, "state": "waiting", "provider": "acme", "model": "large", "upstream": "conversations:acme",
			"kind": "overloaded", "cause": "server overloaded", "message": "HTTP 529: busy", "code": "529", "retries": 0.0,
		} {
			if shown[name] != want {
				t.Errorf("%s: %v, want %v", name, shown[name], want)
			}
		}
		if left := shown["remainingMs"].(float64); left > 5000 || left < 4700 || shown["due"] == nil || shown["maxRetries"] != nil {
			t.Errorf("%v", shown)
		}
		if got := of(all, "count"); len(got) != 1 || got[0] != `{"of":"turns","all":1}` {
			t.Errorf("%q", got)
		}
		up := decoded(t, of(all, "upstream")[0])
		if up["name"] != "conversations:acme" || up["source"] != "conversations" || up["provider"] != "acme" || up["state"] != "waiting" || up["waiting"] != 1.0 {
			t.Errorf("%v", up)
		}
		time.Sleep(15 * time.Second)
		all = r.seen()
		trying := decoded(t, of(all, "turn")[len(of(all, "turn"))-1])
		if trying["state"] != "trying" || trying["due"] != nil || trying["retries"] != 1.0 || trying["waitedMs"] != 15000.0 {
			t.Errorf("%v", trying)
		}
		time.Sleep(15 * time.Second)
		if all := r.seen(); len(of(all, "gone")) != 1 || of(all, "gone")[0] != `{"how":"recovered","retries":2,"turn":"c1","waitedMs":15000}` {
			t.Errorf("%+v", all)
		}
	})
}

func TestLive_RemovedTurnHasEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newConversationServer(t, down(60)...)
		r := p.read("/-/live")
		defer r.close()
		ended := func(what string) string {
			t.Helper()
			r.seen()
			p.say("c1", what)
			time.Sleep(time.Second)
			if what == "stop" {
				if err := p.host.Stop(t.Context(), "c1", ""); err != nil {
					t.Fatalf("stop: %v", err)
				}
			}
			time.Sleep(10 * time.Hour)
			gone := of(r.seen(), "gone")
			if len(gone) != 1 {
				t.Fatalf("%s: %q", what, gone)
			}
			return gone[0]
		}
		p.create("c1")
		if got, want := ended("stop"), `{"how":"left","retries":0,"turn":"c1","waitedMs":1000}`; got != want {
			t.Errorf("stopped: %s, want %s", got, want)
		}
		if got, want := ended("give up"), `{"how":"failed","retries":21,"turn":"c1","waitedMs":271`; !strings.HasPrefix(got, want) {
			t.Errorf("given up: %s, want %s… (the spread of long waits is at random)", got, want)
		}
	})
}

func TestLive_TurnHasTheCauseOfCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newConversationServer(t, llmtest.Fails(&fault.Error{Kind: fault.Unavailable, Code: "ECONNREFUSED", Message: "refused"}))
		r := p.read("/-/live")
		defer r.close()
		p.create("c1")
		p.say("c1", "hello")
		time.Sleep(time.Second)
		if shown := decoded(t, of(r.seen(), "turn")[0]); shown["cause"] != "network" {
			t.Errorf("%v", shown)
		}
	})
}

func TestLive_ShowsWaitingTurnsAfterRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := store.Memory()
		p := newConversationServerOn(t, server.Config{}, store, down(9)...)
		p.create("c1")
		p.say("c1", "hello")
		time.Sleep(time.Hour)
		p.end()
		p = newConversationServerOn(t, server.Config{}, store)
		synctest.Wait()
		r := p.read("/-/live")
		defer r.close()
		if got := of(r.seen(), "turns")[0]; !strings.Contains(got, `"conversation":"c1"`) || !strings.Contains(got, `"retries":7`) {
			t.Errorf("turns %s", got)
		}
	})
}

func TestActions_RetryNowForAllTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newConversationServer(t, down(2, llmtest.Says("hi"), llmtest.Says("hi"))...)
		for _, c := range []string{"c1", "c2"} {
			p.create(c)
			p.say(c, "hello")
		}
		synctest.Wait()
		act := func(name, do string) int {
			resp, err := p.client.Post("http://localhost/-/upstreams/"+name, "application/json", strings.NewReader(`{"do":"`+do+`"}`))
			if err != nil {
				t.Fatalf("post: %v", err)
			}
			_ = resp.Body.Close()
			return resp.StatusCode
		}
		for name, want := range map[string]int{"conversations:else": http.StatusNotFound, "acme": http.StatusNotFound} {
			if got := act(name, "now"); got != want {
				t.Errorf("%s: %d", name, got)
			}
		}
		for _, do := range []string{"pause", "resume"} {
			if got := act("conversations:acme", do); got != http.StatusBadRequest {
				t.Errorf("%s: %d", do, got)
			}
		}
		if got := act("conversations:acme", "now"); got != http.StatusOK {
			t.Fatalf("status %d", got)
		}
		time.Sleep(4 * time.Second) // less than the first wait
		if all, n := p.host.Waits(10); n > 0 {
			t.Errorf("%+v", all)
		}
	})
}

// Turns that ask an upstream of the gateway are shown and commanded with its calls.
func TestLive_TurnsAtAnUpstreamOfTheGatewayAreListedWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		served := &conversations.API{Name: func(provider string) string { return provider }}
		g := &fake{
			upstreams: []gateway.Health{{Name: "acme", API: "anthropic", Breaker: breaker.State{Name: "acme"}}},
			waits:     []gateway.Wait{{Call: gateway.Call{ID: 1, Upstream: "acme"}, State: "waiting"}},
		}
		p := newConversationServerWith(t, served, server.Config{Gateway: g}, store.Memory(), down(9)...)
		for _, c := range []string{"c1", "c2"} {
			p.create(c)
			p.say(c, "hello")
		}
		time.Sleep(time.Second)
		var list struct {
			Upstreams []struct {
				Name, Source, Provider, Reason string
				Waiting, Turns                 int
			}
		}
		resp, err := p.client.Get("http://localhost/-/upstreams")
		if err == nil {
			err = json.NewDecoder(resp.Body).Decode(&list)
		}
		if err != nil {
			t.Fatalf("get upstreams: %v", err)
		}
		_ = resp.Body.Close()
		if len(list.Upstreams) != 1 {
			t.Fatalf("upstreams: got %+v, want one", list.Upstreams)
		}
		if u := list.Upstreams[0]; u.Name != "acme" || u.Source != "gateway" || u.Provider != "acme" || u.Waiting != 3 || u.Turns != 2 || !strings.Contains(u.Reason, "3 calls waiting") {
			t.Errorf("upstream: got %+v, want acme of the gateway with three that wait, two of them turns", u)
		}
		resp, err = p.client.Post("http://localhost/-/upstreams/acme", "application/json", strings.NewReader(`{"do":"give-up"}`))
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("give up: got %v and error %v, want 200", resp, err)
		}
		_ = resp.Body.Close()
		time.Sleep(time.Second)
		if _, n := p.host.Waits(10); n > 0 || !slices.Contains(g.acts, "acme give-up") {
			t.Errorf("after give-up: %d turns wait and the gateway was told %q, want no turn and acme give-up", n, g.acts)
		}
	})
}

// The list of waits has the turns after the calls, and they take its actions.
func TestWaits_TurnsAreAmongThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &fake{waits: []gateway.Wait{waiting(17, time.Minute)}}
		p := newConversationServerWith(t, &conversations.API{}, server.Config{Gateway: g}, store.Memory(), down(9)...)
		p.create("c1")
		p.say("c1", "hello")
		time.Sleep(time.Second)
		list := func() (names string) {
			resp, err := p.client.Get("http://localhost/-/waits")
			if err != nil {
				t.Fatalf("get waits: %v", err)
			}
			defer resp.Body.Close()
			var all struct {
				Waits []struct {
					Face, Conversation, State string
					ID                        int
				}
			}
			if err := json.NewDecoder(resp.Body).Decode(&all); err != nil {
				t.Fatalf("decode waits: %v", err)
			}
			for _, w := range all.Waits {
				names += fmt.Sprintf("%s %d%s %s; ", w.Face, w.ID, w.Conversation, w.State)
			}
			return names
		}
		act := func(name, do string) int {
			resp, err := p.client.Post("http://localhost/-/waits/"+name, "application/json", strings.NewReader(`{"do":"`+do+`"}`))
			if err != nil {
				t.Fatalf("post: %v", err)
			}
			_ = resp.Body.Close()
			time.Sleep(100 * time.Millisecond) // all of them before the next try is due
			return resp.StatusCode
		}
		const call = "gateway 17 waiting; "
		if got := list(); got != call+"conversation 0c1 waiting; " {
			t.Errorf("waits: got %q, want the call and the turn", got)
		}
		for _, step := range []struct {
			name, do string
			status   int
			then     string
		}{
			{"c1", "skip", http.StatusBadRequest, call + "conversation 0c1 waiting; "},
			{"c1", "pause", http.StatusOK, call + "conversation 0c1 paused; "},
			{"c1", "now", http.StatusConflict, call + "conversation 0c1 paused; "},
			{"c1", "resume", http.StatusOK, call + "conversation 0c1 waiting; "},
			{"c1", "give-up", http.StatusOK, call},
			{"c1", "give-up", http.StatusNotFound, call},
			{"17", "give-up", http.StatusOK, call},
		} {
			if status := act(step.name, step.do); status != step.status || list() != step.then {
				t.Errorf("%s of %s: got %d and then %q, want %d and %q", step.do, step.name, status, list(), step.status, step.then)
			}
		}
	})
}

func TestActions_GiveUpAllTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newConversationServer(t, down(9)...)
		p.create("c1")
		p.say("c1", "hello")
		time.Sleep(time.Hour)
		resp, err := p.client.Post("http://localhost/-/upstreams/conversations:acme", "application/json", strings.NewReader(`{"do":"give-up"}`))
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("response %v, error %v", resp, err)
		}
		_ = resp.Body.Close()
		time.Sleep(time.Second)
		if v, err := p.host.Get(t.Context(), "c1"); err != nil || v.Turn != "" {
			t.Errorf("%+v, %v", v, err)
		}
	})
}
