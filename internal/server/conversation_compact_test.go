package server_test

import (
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
