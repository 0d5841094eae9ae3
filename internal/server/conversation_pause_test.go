package server_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/llm/llmtest"
)

func TestPause_InTheAPI(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newConversationServer(t, llmtest.Fails(busy), llmtest.Says("hello you"), llmtest.Says("bye"))
		c := p.create("")
		p.say(c, "hello")
		time.Sleep(time.Second)
		for range 2 { // the second changes nothing
			if status, a := p.ask("POST", "/"+c+"/pause", ""); status != 202 || a["did"] != "pause" {
				t.Errorf("pause: got %d, %v, want 202", status, a)
			}
		}
		time.Sleep(time.Hour)
		p.refused(409, "paused", "POST", "/"+c+"/now", "")
		if status, a := p.ask("POST", "/"+c+"/turns", `{"text":"and?","id":"t2"}`); status != 202 || a["paused"] != true {
			t.Errorf("say in a pause: got %d, %v, want 202 and paused", status, a)
		}
		_, one := p.ask("GET", "/"+c, "")
		_, all := p.ask("GET", "", "")
		listed := all["conversations"].([]any)[0].(map[string]any)
		if one["pausedSince"] == nil || one["pausedSince"] != listed["pausedSince"] {
			t.Errorf("paused since: got %v, and %v in the list, want a time", one["pausedSince"], listed["pausedSince"])
		}
		if turns, n := p.host.Waits(9); n != 1 || !turns[0].Paused {
			t.Errorf("waits: got %+v, want the paused one", turns)
		}
		for range 2 {
			if status, a := p.ask("POST", "/"+c+"/resume", ""); status != 202 || a["did"] != "resume" {
				t.Errorf("resume: got %d, %v, want 202", status, a)
			}
		}
		time.Sleep(time.Minute)
		if _, one := p.ask("GET", "/"+c, ""); one["pausedSince"] != nil || one["turnId"] != nil || len(one["queue"].([]any)) != 0 {
			t.Errorf("resumed: got %v, want both turns sealed", one)
		}
		p.refused(404, "not-found", "POST", "/none/pause", "")
		p.refused(404, "not-found", "POST", "/none/resume", "")
	})
}

// A client that posts during a pause and follows the turn first gets the pause.
func TestPause_IsInTheStreamOfATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newConversationServer(t, llmtest.Says("one"), llmtest.Says("two"))
		c := p.create("")
		k := p.mustDial("/" + c + "/socket")
		for _, do := range []string{"pause", "resume", "pause"} {
			k.send(`{"do":"` + do + `"}`)
			k.read("did " + do)
		}
		done := make(chan []string, 1)
		go func() {
			done <- p.ndjson("POST", "/"+c+"/turns", `{"text":"hello","id":"t1"}`)
		}()
		time.Sleep(20 * time.Second)
		k.send(`{"do":"resume"}`)
		got := <-done
		want := []string{"conversation-paused", "queued: hello", "conversation-resumed", "turn-start"}
		if len(got) < 4 || !slices.EqualFunc(got[:4], want, strings.HasPrefix) {
			t.Errorf("events of the turn: got %q, want first %q", got, want)
		}
	})
}
