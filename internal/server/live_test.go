package server_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/fleet"
	"github.com/ridethrough/ridethrough/internal/server"
	"github.com/ridethrough/ridethrough/internal/server/live"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/turn"
)

// names returns the names of events, without beats.
func names(all []event) string {
	var b strings.Builder
	for _, e := range all {
		if e.comment == "" {
			b.WriteString(e.name + " ")
		}
	}
	return b.String()
}

func TestLive_StreamsAllLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &fake{waits: []gateway.Wait{waiting(17, time.Minute)}, upstreams: []gateway.Health{{Name: "work"}}}
		r := run(t, server.Config{Gateway: g, Version: "v1.2.3", Token: "t0ken", Choices: func() (string, []string) { return "a/b", []string{"coder"} }}).read("/-/live", "X-Ridethrough-Token", "t0ken")
		defer r.close()
		all := r.seen()
		if got, want := names(all), "hello waits turns counts upstreams incidents conversations warnings "; got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
		var hello struct {
			Version, Boot, Model string
			Agents               []string
			Token, Conversations bool
		}
		if err := json.Unmarshal([]byte(all[0].data), &hello); err != nil || hello.Version != "v1.2.3" || hello.Model != "a/b" || len(hello.Agents) != 1 || len(hello.Boot) != 8 || !hello.Token || hello.Conversations {
			t.Errorf("%+v, %v", hello, err)
		}
		if !strings.HasPrefix(all[1].data, `{"waits":[{"face":"gateway","id":17,"state":"waiting"`) || !strings.Contains(all[1].data, `"remainingMs":60000`) {
			t.Errorf("waits %s", all[1].data)
		}
		g.show(nil, []gateway.Health{{Name: "work", Breaker: breaker.State{Waiting: 1, Outages: []breaker.Outage{{Fault: &fault.Error{Kind: fault.Overloaded}}}}}})
		time.Sleep(500 * time.Millisecond) // the end of the wait is unknown, and might come late
		if all := r.seen(); names(all) != "upstream gone upstream " || all[1].data != `{"wait":17}` || !strings.Contains(all[0].data, `"state":"waiting"`) {
			t.Errorf("%+v", all)
		}
		time.Sleep(15 * time.Second)
		if all := r.seen(); len(all) != 1 || all[0].comment != "beat" {
			t.Errorf("beats: %+v", all)
		}
	})
}

func TestLive_ThreeReadersSeeTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &fake{}
		w := run(t, server.Config{Gateway: g})
		var readers []*reader
		for range 3 {
			r := w.read("/-/live")
			defer r.close()
			time.Sleep(100 * time.Millisecond) // each with a pulse of its own
			r.seen()
			readers = append(readers, r)
		}
		for i := range int64(20) {
			g.show([]gateway.Wait{waiting(i, time.Duration(i)*time.Second), waiting(1000+i, time.Hour)}, nil)
			time.Sleep(170 * time.Millisecond)
		}
		time.Sleep(time.Second)
		for n, r := range readers {
			last := shown(t, r.seen())
			if len(last) != 2 || last["19"] == 0 || last["1019"] == 0 {
				t.Errorf("reader %d is left with %v", n, last)
			}
		}
	})
}

// shown returns the waits that a reader has in the end, by id, and how often each was sent.
func shown(t *testing.T, all []event) map[string]int {
	t.Helper()
	left := map[string]int{}
	for _, e := range all {
		var v struct {
			ID    int64
			Wait  *int64
			Waits []struct{ ID int64 }
		}
		if e.comment == "" && e.data != "" {
			if err := json.Unmarshal([]byte(e.data), &v); err != nil {
				t.Fatalf("unmarshal: %v", err)
			}
		}
		switch {
		case e.name == "wait":
			left[fmt.Sprint(v.ID)]++
		case e.name == "gone" && v.Wait != nil:
			delete(left, fmt.Sprint(*v.Wait))
		case e.name == "waits":
			clear(left)
			for _, w := range v.Waits {
				left[fmt.Sprint(w.ID)]++
			}
		}
	}
	return left
}

func TestLive_SlowReaderGetsWholeList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &fake{}
		w := run(t, server.Config{Gateway: g})
		slow, quick := w.read("/-/live"), w.read("/-/live")
		defer slow.close()
		defer quick.close()
		slow.seen()
		for round := range int64(20) { // far more than the pipe and the reader hold
			crowd := make([]gateway.Wait, 1000)
			for i := range crowd {
				crowd[i] = waiting(round*1000+int64(i), time.Minute)
			}
			g.show(crowd, nil)
			time.Sleep(250 * time.Millisecond)
			if got := shown(t, quick.seen()); round > 0 && len(got) != 1000 {
				t.Errorf("round %d: %d", round, len(got))
			}
		}
		var all []event
		for range 4 {
			all = append(all, slow.seen()...)
			time.Sleep(time.Second)
		}
		lists := 0
		for _, e := range all {
			if e.name == "waits" {
				lists++
			}
		}
		if got := shown(t, all); len(got) != 1000 || got["19999"] == 0 || lists != 1 {
			t.Errorf("%d waits, %d more lists", len(got), lists)
		}
	})
}

func TestLive_UnknownConversationLeavesTheLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &fake{waits: []gateway.Wait{waiting(17, time.Minute)}}
		r := run(t, server.Config{Gateway: g}).read("/-/live?conversation=c1&after=3")
		defer r.close()
		all := r.seen()
		if names(all) != "hello waits turns counts upstreams incidents conversations warnings conversation-problem " || !strings.Contains(all[8].data, `"code":"not-found"`) {
			t.Errorf("%+v", all)
		}
		g.show(nil, nil)
		time.Sleep(500 * time.Millisecond)
		if all := r.seen(); names(all) != "gone " {
			t.Errorf("%+v", all)
		}
	})
}

func TestLive_RefusesInvalidAfter(t *testing.T) {
	if w := ask(server.New(server.Config{Gateway: &fake{}}), request("GET", "/-/live?after=x", "")); w.Code != 400 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestLive_StreamsConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newConversationServer(t, down(1, llmtest.Says("hello you"))...)
		p.create("c1")
		r := p.read("/-/live?conversation=c1")
		r.seen()
		turn := p.say("c1", "hello")
		time.Sleep(time.Second)
		all := r.seen()
		if got := names(all); !strings.HasPrefix(got, "input-queued turn-start user-message provider-retry ") {
			t.Errorf("events %s", got)
		}
		var last string
		for _, e := range all {
			if e.id != "" {
				last = e.id
			}
			if e.name == "conversation" {
				if got := decoded(t, e.data); got["id"] != "c1" || got["turnId"] != turn || got["waiting"] != true || got["model"] != "acme/large" {
					t.Errorf("%s", e.data)
				}
			}
		}
		r.close()
		time.Sleep(10 * time.Second)
		r = p.read("/-/live?conversation=c1&after=" + last) // as a page does that was loaded again
		defer r.close()
		got := names(r.seen())
		if !strings.HasPrefix(got, "hello waits turns counts upstreams incidents conversations warnings assistant-message usage turn-sealed ") {
			t.Errorf("events %s", got)
		}
	})
}

func TestLive_DeletedConversationEndsItsEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newConversationServer(t)
		p.create("c1")
		r := p.read("/-/live?conversation=c1")
		defer r.close()
		r.seen()
		if status, _ := p.ask("DELETE", "/c1", ""); status != 204 {
			t.Fatalf("status %d", status)
		}
		time.Sleep(time.Second)
		all := r.seen()
		if names(all) != "conversation-problem gone " || !strings.Contains(all[0].data, `"code":"gone"`) || all[1].data != `{"conversation":"c1"}` {
			t.Errorf("%+v", all)
		}
	})
}

func TestLive_RemovedWaitHasEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, f := &fake{}, live.NewFeed()
		var all []gateway.Wait
		for id := range int64(6) {
			f.Watch(new(retrying(id, 1, time.Minute)))
			all = append(all, waiting(id, time.Minute))
		}
		g.show(all, nil)
		r := run(t, server.Config{Gateway: g, Feed: f}).read("/-/live")
		defer r.close()
		r.seen()
		recovered := turn.Recovered{Retries: 3, Waited: 22 * time.Second}
		f.Watch(new(happens(0, recovered)))
		f.Watch(new(fails(0, busy, policy.Committed, 3))) // its answer, later: the wait had ended well
		f.Watch(new(fails(1, busy, policy.Exhausted, 3)))
		f.Watch(new(fails(2, left, "", 0)))
		f.Watch(new(happens(3, turn.Sealed{Status: turn.Failed})))
		g.show(nil, nil)
		time.Sleep(300 * time.Millisecond)
		f.Watch(new(happens(5, recovered))) // told of later than it was seen to be gone
		time.Sleep(250 * time.Millisecond)
		var got []string
		for _, e := range r.seen() {
			got = append(got, e.name+" "+e.data)
		}
		want := []string{
			`gone {"how":"recovered","retries":3,"wait":0,"waitedMs":22000}`,
			`gone {"how":"failed","retries":3,"wait":1,"waitedMs":22000}`,
			`gone {"how":"left","retries":0,"wait":2,"waitedMs":22000}`,
			`gone {"how":"failed","retries":0,"wait":3,"waitedMs":0}`,
			`gone {"wait":4}`,
			`gone {"how":"recovered","retries":3,"wait":5,"waitedMs":22000}`,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("differs (-want +got):\n%s", diff)
		}
	})
}

// A reader learns from the first event at which gateway of a fleet the calls wait that name none.
func TestLive_SaysWhichReplicaItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		elsewhere := waiting(18, time.Minute)
		elsewhere.Replica = "gw-1"
		g := &fake{waits: []gateway.Wait{waiting(17, time.Minute), elsewhere}}
		f := fleet.Join(fleet.Config{Name: "main", ID: "gw-0", Transport: (&fleet.Network{}).Connect("gw-0")})
		defer f.Close()
		r := run(t, server.Config{Gateway: g, Fleet: f}).read("/-/live")
		defer r.close()
		all := r.seen()
		if got, want := all[0].data, `"replica":"gw-0"`; !strings.Contains(got, want) {
			t.Errorf("hello: got %s, want %s in it", got, want)
		}
		if got, want := all[1].data, `"replica":"gw-1"`; strings.Count(got, `"replica"`) != 1 || !strings.Contains(got, want) {
			t.Errorf("waits: got %s, want %s in it once, of the other", got, want)
		}
	})
}
