package server_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm/llmtest"
)

func TestStopTurn_EndsWaitingTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newConversationServer(t, llmtest.Fails(busy), llmtest.Fails(busy), llmtest.Fails(busy))
		c := p.create("")
		seen := make(chan []string, 1)
		go func() { seen <- p.ndjson("POST", "/"+c+"/turns", `{"text":"hello","id":"t1"}`) }()
		time.Sleep(16 * time.Second)
		_, v := p.ask("GET", "/"+c, "")
		wait, _ := v["wait"].(map[string]any)
		if v["turnId"] != "t1" || wait["attempt"] != 2.0 || wait["remainingMs"] != 29000.0 || wait["kind"] != "overloaded" || wait["message"] != "HTTP 529: Overloaded" {
			t.Errorf("%v", v)
		}
		p.refused(409, "not-running", "POST", "/"+c+"/stop", `{"turnId":"t2"}`)
		if status, d := p.ask("POST", "/"+c+"/stop", `{"turnId":"t1"}`); status != 202 || d["did"] != "stop" || d["turnId"] != "t1" {
			t.Errorf("status %d: %v", status, d)
		}
		expect(t, <-seen, `
			queued: hello
			turn-start
			user: hello
			retry 0: HTTP 529: Overloaded
			retry 1: HTTP 529: Overloaded
			retry 2: HTTP 529: Overloaded
			sealed aborted, 2 retries`)
		p.refused(409, "not-running", "POST", "/"+c+"/stop", "")
		p.refused(409, "not-running", "POST", "/"+c+"/now", "")
	})
}

func TestStopTurn_SecondStopIsConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newConversationServer(t, llmtest.Says("never"))
		p.end() // without a worker, commands stay pending
		c := p.create("")
		p.say(c, "hello")
		p.refused(409, "not-running", "POST", "/"+c+"/stop", "")
	})
}

func TestTryNow_EndsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hour := &fault.Error{Kind: fault.RateLimited, Status: 429, Message: "slow down", Wait: time.Hour}
		p := newConversationServer(t, llmtest.Fails(hour), llmtest.Says("hello you"))
		c := p.create("")
		p.say(c, "hello")
		time.Sleep(time.Minute)
		if status, d := p.ask("POST", "/"+c+"/now", ""); status != 202 || d["did"] != "now" {
			t.Errorf("status %d: %v", status, d)
		}
		began := time.Now()
		p.ndjson("GET", "/"+c+"/events?until=sealed", "")
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

func TestQueue_ListEditRemoveSteer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newConversationServer(t, llmtest.Late(time.Minute, llmtest.Says("one")), llmtest.Says("two"), llmtest.Says("four"))
		c := p.create("")
		p.say(c, "1")
		synctest.Wait()
		second, third := p.say(c, "2"), p.say(c, "3")
		p.say(c, "4")
		if status, in := p.ask("PATCH", "/"+c+"/queue/"+second, `{"text":"two, please"}`); status != 200 || in["id"] != second || in["text"] != "two, please" {
			t.Errorf("status %d: %v", status, in)
		}
		if status, _ := p.ask("DELETE", "/"+c+"/queue/"+third, ""); status != 204 {
			t.Errorf("status %d", status)
		}
		if status, d := p.ask("POST", "/"+c+"/queue/"+second+"/steer", ""); status != 202 || d["id"] != second {
			t.Errorf("status %d: %v", status, d)
		}
		_, q := p.ask("GET", "/"+c+"/queue", "")
		var texts []string
		for _, in := range q["queue"].([]any) {
			texts = append(texts, in.(map[string]any)["text"].(string))
		}
		if !slices.Equal(texts, []string{"two, please", "4"}) {
			t.Errorf("queue %v", texts)
		}
		p.refused(409, "not-queued", "PATCH", "/"+c+"/queue/"+third, `{"text":"three"}`)
		p.refused(400, "invalid-input", "PATCH", "/"+c+"/queue/"+second, `{"text":""}`)
		p.refused(409, "not-queued", "DELETE", "/"+c+"/queue/none", "")
		p.refused(409, "not-queued", "POST", "/"+c+"/queue/none/steer", "")
		p.refused(404, "not-found", "GET", "/none/queue", "")
		_, v := p.ask("GET", "/"+c, "")
		expect(t, p.ndjson("GET", fmt.Sprintf("/%s/events?until=sealed&after=%v", c, v["seq"]), ""), `
			… one
			model: one
			usage
			sealed done, 0 retries
			turn-start
			user: two, please
			… two
			model: two
			usage
			sealed done, 0 retries
			turn-start
			user: 4
			… four
			model: four
			usage
			sealed done, 0 retries`)
	})
}

func TestSay_StreamFollowsInputIntoSteeredTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newConversationServer(t, llmtest.Late(time.Minute, llmtest.Calls(llmtest.Call("1", "look", "{}"))), llmtest.Says("two"))
		c := p.create("")
		p.say(c, "1")
		synctest.Wait()
		seen := make(chan []string, 1)
		go func() { seen <- p.ndjson("POST", "/"+c+"/turns", `{"text":"2","id":"t2"}`) }()
		synctest.Wait()
		p.ask("POST", "/"+c+"/queue/t2/steer", "")
		expect(t, <-seen, `
			queued: 2
			user: 2
			… two
			model: two
			usage
			sealed done, 0 retries`)
	})
}
