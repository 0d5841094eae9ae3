package server_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/retry"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/fleet"
	"github.com/ridethrough/ridethrough/internal/operation/history"
	"github.com/ridethrough/ridethrough/internal/operation/notify"
	"github.com/ridethrough/ridethrough/internal/server"
	"github.com/ridethrough/ridethrough/ratelimit"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/transport"
	"github.com/ridethrough/ridethrough/turn"
)

// measured is a server whose history knows of some failures of the upstream
// "work", one in a second, and of answers that follow.
func measured(g *fake, failed, answered int) (*server.Server, *history.History) {
	h := history.Open("", slog.New(slog.DiscardHandler))
	tried := func(took time.Duration, e gateway.Event) {
		time.Sleep(time.Second)
		e.At, e.Call, e.Try.N = time.Now(), caller(1), 1
		e.Call.Stream, e.Call.Client = true, "claude-cli/2.1.329"
		e.Try.Start, e.Try.Took = e.At.Add(-took), took
		h.Watch(&e)
	}
	for range failed {
		tried(0, gateway.Event{Try: retry.Try{Fault: busy}})
		h.Watch(new(retrying(1, 1, time.Minute)))
	}
	for range answered {
		tried(500*time.Millisecond, gateway.Event{})
	}
	if answered > 0 {
		h.Watch(new(happens(1, turn.Recovered{Waited: time.Minute})))
	}
	return server.New(server.Config{Log: slog.New(slog.DiscardHandler), Gateway: g, History: h}), h
}

func TestUpstream_StatesReason(t *testing.T) {
	at := time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)
	open := []breaker.Outage{{Level: "model", Fault: busy, Next: at.Add(time.Hour)}}
	for _, c := range []struct {
		name             string
		gate             breaker.State
		failed, answered int
		waits            []gateway.Wait
		state, reason    string
		next             bool
	}{
		{name: "fresh", state: "no-data", reason: "No request yet."},
		{name: "well", answered: 2, state: "operational", reason: "It answers: 2 answers in the last hour."},
		{name: "long ago", gate: breaker.State{LastSuccess: at}, state: "operational", reason: "The last request succeeded."},
		{name: "one fails", waits: []gateway.Wait{waiting(1, time.Minute)}, failed: 1, state: "waiting", reason: "Server overloaded: 1 request waiting.", next: true},
		{name: "an outage", gate: breaker.State{Outages: open, Waiting: 3}, state: "waiting", reason: "Server overloaded: 3 requests waiting.", next: true},
		{name: "an outage without waits", gate: breaker.State{Outages: open}, state: "down", reason: "Server overloaded at the last request; nothing waits for it.", next: true},
		{name: "an incident without waits", failed: 3, state: "down", reason: "Server overloaded at the last request; nothing waits for it."},
		{name: "less than an incident", failed: 2, state: "down", reason: "Server overloaded at the last request; nothing waits for it."},
		{name: "all that is known", failed: 1, state: "down", reason: "Server overloaded at the last request; nothing waits for it."},
		{name: "an incident that is over", failed: 3, answered: 1, state: "operational", reason: "It answers: 1 answer in the last hour."},
		{name: "on its way", gate: breaker.State{Outages: []breaker.Outage{{Recovering: true}}, Waiting: 1}, state: "recovering", reason: "It answers again. The waiting calls are sent one after the other: 1 request left."},
		{name: "held", gate: breaker.State{Paused: at, Outages: open}, state: "paused", reason: "Paused: no request is sent until it is resumed."},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, _ := measured(&fake{waits: c.waits, upstreams: []gateway.Health{{Name: "work", Breaker: c.gate}}}, c.failed, c.answered)
			got := decoded(t, ask(s, request("GET", "/-/upstreams/work", "")).Body.String())
			if got["state"] != c.state || got["reason"] != c.reason || (got["untilMs"] != nil) != c.next {
				t.Errorf("%s: %v, %v, %v", c.name, got["state"], got["reason"], got["untilMs"])
			}
		})
	}
}

// TestUpstream_IsDegradedByAModel is about calls to one model that failed while others passed.
func TestUpstream_IsDegradedByAModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := []breaker.Outage{{Level: "model", Scope: breaker.Scope{Model: "claude"}, Fault: busy, Latest: time.Now()}}
		g := &fake{upstreams: []gateway.Health{{Name: "work", Breaker: breaker.State{Outages: open}}}}
		s, h := measured(g, 3, 0)
		passes := func(model string) {
			c := caller(2)
			c.Model = model
			h.Watch(&gateway.Event{At: time.Now(), Call: c, Try: retry.Try{N: 1, Start: time.Now()}})
		}
		check := func(state, reason, failing string, outages int) {
			t.Helper()
			var got struct {
				State, Reason string
				Failing       []string
				Outages       []any
			}
			if err := json.Unmarshal(ask(s, request("GET", "/-/upstreams/work", "")).Body.Bytes(), &got); err != nil {
				t.Fatalf("unmarshal: %v", err)
			}
			if got.State != state || got.Reason != reason || strings.Join(got.Failing, " ") != failing || len(got.Outages) != outages {
				t.Errorf("got %+v, want %s, %q, failing %q, %d outages", got, state, reason, failing, outages)
			}
		}
		for range 6 {
			passes("haiku")
		}
		check("degraded", "Server overloaded for claude; others are answered.", "claude", 1)
		g.waits = []gateway.Wait{waiting(1, time.Minute)}
		time.Sleep(time.Minute)
		check("degraded", "Server overloaded for claude; others are answered. 1 request waiting.", "claude", 1)
		page := ask(s, request("GET", "/-/incidents", "")).Body.String()
		if !strings.Contains(page, `"models":["claude"],"partial":true,"open":true`) {
			t.Errorf("incidents %s, want one of claude, beside which others were answered", page)
		}
		g.waits, g.upstreams[0].Breaker.Outages = nil, nil
		time.Sleep(time.Minute)
		passes("claude")
		check("operational", "It answers: 7 answers in the last hour.", "", 0)
	})
}

func TestUpstream_ShowsTheVendorsStatusOfAnIncident(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			name             string
			failed, answered int
			says, want       string
		}{
			{"an incident", 3, 0, "All Systems Operational", `"vendor":{"says":"All Systems Operational","fine":true,"readAt":"2000-01-01T00:00:00Z","tries":3,"failures":3}`},
			{"one that is over", 3, 1, "All Systems Operational", ""},
			{"one whose page says nothing", 3, 0, "", ""},
		} {
			at := time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)
			_, h := measured(&fake{}, c.failed, c.answered)
			s := server.New(server.Config{
				Log: slog.New(slog.DiscardHandler), Gateway: &fake{upstreams: []gateway.Health{{Name: "work"}}}, History: h,
				Vendor: func(string) notify.Status { return notify.Status{Says: c.says, Fine: true, At: at} },
			})
			got := ask(s, request("GET", "/-/upstreams/work", "")).Body.String()
			if c.want == "" && strings.Contains(got, "vendor") || !strings.Contains(got, c.want) {
				t.Errorf("%s: got %s, want in it %q", c.name, got, c.want)
			}
		}
	})
}

func TestUpstream_ShowsTheLimitsOfWhichMostIsUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var limits []ratelimit.Limit
		for i := range 20 {
			limits = append(limits, ratelimit.Limit{Name: fmt.Sprintf("l%02d", i), Unit: ratelimit.Requests, Limit: 100, Remaining: 100 - float64(i), Used: float64(i) / 100})
		}
		week := ratelimit.Limit{Name: "7d", Unit: ratelimit.Usage, Used: 0.999, Reset: time.Now().Add(time.Hour)}
		s := server.New(server.Config{Log: slog.New(slog.DiscardHandler), Gateway: &fake{upstreams: []gateway.Health{{Name: "work", Limits: []ratelimit.Headroom{
			{Key: ratelimit.Key{Credential: "3w5e11264sgsf", Model: "claude"}, Limits: limits}, {Key: ratelimit.Key{Credential: "own"}, Limits: []ratelimit.Limit{week}},
		}}}}})
		got := ask(s, request("GET", "/-/upstreams/work", "")).Body.String()
		for _, want := range []string{
			`"limits":[{"credential":"own","name":"7d","unit":"usage","remaining":0,"usedPercent":99,"resetAt":"2000-01-01T01:00:00Z","resetMs":3600000},`,
			`{"credential":"3w5e1…","model":"claude","name":"l19","unit":"requests","limit":100,"remaining":81,"usedPercent":19}`,
		} {
			if !strings.Contains(got, want) {
				t.Errorf("upstream: got %s, want in it %s", got, want)
			}
		}
		if n := strings.Count(got, `"unit"`); n != 12 {
			t.Errorf("limits: got %d, want the 12 of which most is used", n)
		}
	})
}

func TestUpstream_ShowsTheLongestLearnedLimitOfEachModel(t *testing.T) {
	kind := func(model string) transport.LearnedKind { return transport.LearnedKind{Host: "h", Model: model} }
	s := server.New(server.Config{Log: slog.New(slog.DiscardHandler), Gateway: &fake{upstreams: []gateway.Health{{Name: "work", Learned: []transport.FirstByte{
		{LearnedKind: kind("haiku"), Size: "small", Limit: 20 * time.Second},
		{LearnedKind: kind("opus"), Size: "small", Limit: 40 * time.Second},
		{LearnedKind: kind("opus"), Size: "large", Limit: 90 * time.Second},
		{LearnedKind: kind("new"), Size: "small"},
	}}}}})
	want := `"firstByte":[{"model":"opus","limitMs":90000},{"model":"haiku","limitMs":20000}]`
	if got := ask(s, request("GET", "/-/upstreams/work", "")).Body.String(); !strings.Contains(got, want) {
		t.Errorf("upstream: got %s, want in it %s", got, want)
	}
}

func TestUpstream_ShowsMeasurements(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := measured(&fake{upstreams: []gateway.Health{{Name: "work"}}}, 3, 2)
		var got struct {
			Source             string
			Samples            int
			FirstTokenMs       float64
			FirstTokenBeforeMs *float64
			LastSuccess        time.Time
			Saved              map[string]int64
		}
		if err := json.Unmarshal(ask(s, request("GET", "/-/upstreams/work", "")).Body.Bytes(), &got); err != nil {
			t.Fatalf("unmarshal: %v", err)
		}
		if got.Source != "gateway" || got.Samples != 2 || got.FirstTokenMs < 480 || got.FirstTokenMs > 520 || got.FirstTokenBeforeMs != nil || !got.LastSuccess.Equal(time.Now()) {
			t.Errorf("%+v", got)
		}
		if got.Saved["calls"] != 1 || got.Saved["outages"] != 1 || got.Saved["waitedMs"] != 60_000 || got.Saved["sinceMs"] != 5000 {
			t.Errorf("%+v", got.Saved)
		}
	})
}

func TestIncidents_ListAndReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := measured(&fake{}, 3, 1)
		list := ask(s, request("GET", "/-/incidents", ""))
		const want = `{"incidents":[{"id":"20000101-000001-work","upstream":"work","models":["claude"],"open":false,"began":"2000-01-01T00:00:01Z","ended":"2000-01-01T00:00:04Z",` +
			`"recoveredMs":3000,"tries":4,"failures":3,"calls":1,"held":1,"lost":0,"callers":1,"clients":[{"calls":1}],"kinds":[{"kind":"overloaded","cause":"server overloaded","count":3}],` +
			`"message":"HTTP 529: Overloaded"}]}` + "\n"
		if list.Body.String() != want {
			t.Errorf("\n got %s\nwant %s", list.Body, want)
		}
		one := ask(s, request("GET", "/-/incidents/20000101-000001-work", ""))
		if !strings.Contains(want, strings.TrimSpace(one.Body.String())) || one.Code != 200 {
			t.Errorf("%s", one.Body)
		}
		page := ask(s, request("GET", "/-/incidents/20000101-000001-work", "", "Accept", "text/plain"))
		if page.Header().Get("Content-Type") != "text/plain; charset=utf-8" || !strings.HasPrefix(page.Body.String(), "# Incident at work\n") {
			t.Errorf("%s", page.Body)
		}
		if w := ask(s, request("GET", "/-/incidents/20000101-000001-work", "", "Accept", "text/markdown")); w.Header().Get("Content-Type") != "text/markdown; charset=utf-8" ||
			!strings.HasPrefix(w.Body.String(), "# Incident at work\n") || !strings.Contains(w.Body.String(), "| server overloaded | overloaded | 3 | 100 % |") {
			t.Errorf("as Markdown: %v %s", w.Header(), w.Body)
		}
		if w := ask(s, request("GET", "/-/incidents/none", "")); w.Code != 404 || !strings.Contains(message(t, w), `"none"`) {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
	none := server.New(server.Config{Gateway: &fake{}})
	if w := ask(none, request("GET", "/-/incidents", "")); w.Body.String() != "{\"incidents\":[]}\n" {
		t.Errorf("nothing is measured: %s", w.Body)
	}
	if w := ask(none, request("GET", "/-/incidents/x", "")); w.Code != 404 {
		t.Errorf("nothing is measured: %d", w.Code)
	}
}

func TestLive_SendsGrowingIncident(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := history.Open("", slog.New(slog.DiscardHandler))
		r := run(t, server.Config{Gateway: &fake{}, History: h}).read("/-/live")
		defer r.close()
		if got := of(r.seen(), "incidents"); len(got) != 1 || got[0] != `{"incidents":[]}` {
			t.Errorf("%q", got)
		}
		var told []string
		for range 4 {
			h.Watch(&gateway.Event{At: time.Now(), Call: caller(1), Try: retry.Try{N: 1, Fault: busy}})
			time.Sleep(300 * time.Millisecond)
			told = append(told, of(r.seen(), "incident")...)
		}
		h.Watch(&gateway.Event{At: time.Now(), Call: caller(1), Try: retry.Try{N: 1, Start: time.Now()}})
		time.Sleep(300 * time.Millisecond)
		told = append(told, of(r.seen(), "incident")...)
		if len(told) != 3 || !strings.Contains(told[0], `"open":true`) || !strings.Contains(told[1], `"failures":4`) || !strings.Contains(told[2], `"recoveredMs":1200`) {
			t.Errorf("%q", told)
		}
	})
}

func TestUpstreams_IncludeThoseOfTheHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := history.Open("", slog.New(slog.DiscardHandler))
		p := newConversationServerOn(t, server.Config{History: h}, store.Memory())
		h.Watch(&gateway.Event{At: time.Now(), Call: gateway.Call{Upstream: history.ConversationUpstream("acme")}, Try: retry.Try{N: 1, Start: time.Now()}})
		h.Watch(&gateway.Event{At: time.Now(), Call: gateway.Call{Upstream: "removed"}, Try: retry.Try{N: 1, Start: time.Now()}})
		r := p.read("/-/live")
		defer r.close()
		all := of(r.seen(), "upstreams")
		if len(all) != 1 || !strings.HasPrefix(all[0], `{"upstreams":[{"name":"conversations:acme","source":"conversations","provider":"acme","state":"operational"`) || strings.Contains(all[0], "removed") {
			t.Errorf("%.300q", all)
		}
	})
}

// In a fleet an incident says which other gateways have met it, and is found by each id under which one of them knows it.
func TestIncidents_NameTheOtherGatewaysOfTheFleet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := new(fleet.Network)
		join := func(id string) *fleet.Fleet {
			f := fleet.Join(fleet.Config{Name: "main", ID: id, Transport: network.Connect(id)})
			t.Cleanup(f.Close)
			return f
		}
		_, first := measured(&fake{}, 3, 1)
		first.Share(join("gw-0"))
		_, second := measured(&fake{}, 4, 1)
		other := second.Incidents(time.Now())[0].ID
		second.Share(join("gw-1"))
		s, third := measured(&fake{}, 5, 1)
		third.Share(join("gw-2"))
		time.Sleep(5 * time.Second)
		list := ask(s, request("GET", "/-/incidents", "")).Body.String()
		if n := strings.Count(list, `"kinds"`); n != 1 || !strings.Contains(list, `"failures":5,`) || !strings.Contains(list, `"elsewhere":[{"replica":"gw-0",`) || !strings.Contains(list, `{"replica":"gw-1","id":"`+other+`","upstream":"work",`) {
			t.Errorf("got %s, want one incident with 5 failures, also met by gw-0 and gw-1", list)
		}
		if text := ask(s, request("GET", "/-/incidents/"+other, "")).Body.String(); !strings.Contains(text, `"failures":5,`) {
			t.Errorf("by the id of another gateway: got %s, want the same incident", text)
		}
	})
}
