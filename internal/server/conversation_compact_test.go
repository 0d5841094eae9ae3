package server_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ridethrough/ridethrough/llm/llmtest"
)

func TestCompact_SumsUpTheOldestMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newConversationServer(t, llmtest.Says("hello you"), llmtest.Says("They talked."))
		c := p.create("")
		p.say(c, "hello")
		synctest.Wait()
		p.refused(400, "invalid-input", "POST", "/"+c+"/compact", `{"text":"x"}`)
		for range 2 { // the second changes nothing
			status, a := p.ask("POST", "/"+c+"/compact", `{"id":"s1","instruction":"Keep names."}`)
			if status != 202 || a["did"] != "compact" || a["turnId"] != "s1" {
				t.Errorf("compact: got %d, %v, want 202 and the turn", status, a)
			}
		}
		synctest.Wait()
		_, all := p.ask("GET", "?limit=5", "")
		listed := all["conversations"].([]any)[0].(map[string]any)
		if listed["title"] != "hello" || listed["turns"] != 2.0 {
			t.Errorf("list: got %v, want the first words as the title, and 2 turns", listed)
		}
		_, one := p.ask("GET", "/"+c, "")
		if one["title"] != "hello" {
			t.Errorf("title: got %v, want hello", one["title"])
		}
		p.ask("PATCH", "/"+c, `{"title":"Greeting"}`)
		if _, one := p.ask("GET", "/"+c, ""); one["title"] != "Greeting" {
			t.Errorf("title after the change: got %v, want Greeting", one["title"])
		}
	})
}

// The command over a WebSocket, and what its event says of why.
func TestCompact_OverAWebSocket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newConversationServer(t, llmtest.Says("hello you"), llmtest.Fails(busy), llmtest.Says("They talked."))
		c := p.create("")
		k := p.mustDial("/" + c + "/socket")
		k.send(`{"do":"say","id":"t1","text":"hello"}`)
		k.readAnswered("sealed", "did say t1")
		k.send(`{"do":"compact","id":"s1","text":"Keep names."}`)
		expect(t, k.readAnswered("sealed", "did compact s1"), `
			queued: Keep names.
			turn-start
			retry 0: HTTP 529: Overloaded
			provider-recovered
			usage
			compacted
			sealed done, 1 retries`)
		text := p.text(200, "GET", "/"+c+"/events?until=sealed", "")
		for _, want := range []string{`"type":"turn-start","conversationId":"` + c + `","turnId":"s1","id":"s1","compact":true,"instruction":"Keep names."`, `"turnId":"s1","asked":true,"messages":1,"summary":"They talked."`} {
			if !strings.Contains(text, want) {
				t.Errorf("events: got\n%s\nwant %s among them", text, want)
			}
		}
		asked := p.model.Requests()
		if system := asked[len(asked)-1].System; !strings.HasSuffix(system, "Keep names.") {
			t.Errorf("system prompt of the summary: got %q, want it to end with what was asked", system)
		}
	})
}
