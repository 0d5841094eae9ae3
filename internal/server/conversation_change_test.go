package server_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/server"
	"github.com/ridethrough/ridethrough/internal/server/conversations"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/store"
)

func TestChangeConversation_ChangesNamedSettings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newConversationServerWith(t, &conversations.API{Settle: func(s conversation.Settings) (conversation.Settings, error) {
			if s.Model == "unheard-of" {
				return s, errors.New("no such model")
			}
			return s, nil
		}}, server.Config{}, store.Memory())
		c := p.create("")
		for i, body := range []string{
			`{"title":"Files","system":"Be kind.","fallback":["acme/small"],"patienceMs":1500,"policy":"simple","effort":"low"}`,
			`{"system":"Be brief."}`, `{}`, "",
		} {
			status, got := p.ask("PATCH", "/"+c, body)
			system := "Be kind."
			if i > 0 {
				system = "Be brief."
			}
			if status != 200 || got["system"] != system || got["title"] != "Files" || got["model"] != "acme/large" || got["patienceMs"] != 1500.0 ||
				got["policy"] != "simple" || got["effort"] != "low" || len(got["fallback"].([]any)) != 1 {
				t.Errorf("%s: %d %v", body, status, got)
			}
		}
		expect(t, p.ndjson("GET", "/"+c+"/events?until=sealed", ""), "conversation-changed\nconversation-changed")
		p.refused(400, "invalid-input", "PATCH", "/"+c, `{"patienceMs":-1}`)
		p.refused(400, "invalid-input", "PATCH", "/"+c, `{"model":"unheard-of"}`)
		p.refused(400, "invalid-input", "PATCH", "/"+c, `{"modle":"x"}`)
		p.refused(404, "not-found", "PATCH", "/none", `{"title":"x"}`)
	})
}

// A turn that waits moves to another model; one that does not, and an unknown model, are refused.
func TestMove_TurnThatWaitsAsksAnotherModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		known := &conversations.API{Settle: func(s conversation.Settings) (conversation.Settings, error) {
			if s.Model == "unheard-of" {
				return s, errors.New("no such model")
			}
			return s, nil
		}}
		p := newConversationServerWith(t, known, server.Config{}, store.Memory(), llmtest.Fails(&fault.Error{Kind: fault.Overloaded, Status: 529, Message: "busy"}), llmtest.Says("hello you"))
		c := p.create("")
		p.refused(409, "not-running", "POST", "/"+c+"/move", `{"model":"acme/small"}`)
		p.say(c, "hello")
		synctest.Wait()
		p.refused(400, "invalid-input", "POST", "/"+c+"/move", `{"model":"unheard-of"}`)
		p.refused(400, "invalid-input", "POST", "/"+c+"/move", `{}`)
		if status, a := p.ask("POST", "/"+c+"/move", `{"model":"acme/small"}`); status != 202 || a["did"] != "move" {
			t.Errorf("status %d: %v, want 202 and move", status, a)
		}
		synctest.Wait()
		got := strings.Join(p.ndjson("GET", "/"+c+"/events?until=sealed", ""), "\n")
		if !strings.Contains(got, "switched") || !strings.Contains(got, "model: hello you") {
			t.Errorf("events: got\n%s\nwant a switch and the answer, without waiting", got)
		}
	})
}

func TestAskAgain_RepeatsFailedTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newConversationServer(t, llmtest.Fails(&fault.Error{Kind: fault.Invalid, Status: 400, Message: "no"}), llmtest.Says("hello you"))
		c := p.create("")
		p.refused(409, "answered", "POST", "/"+c+"/again", "")
		p.say(c, "hello")
		synctest.Wait()
		if status, a := p.ask("POST", "/"+c+"/again", `{"id":"a1"}`); status != 202 || a["did"] != "again" || a["turnId"] != "a1" || a["id"] != nil {
			t.Errorf("status %d: %v", status, a)
		}
		synctest.Wait()
		got := p.ndjson("GET", "/"+c+"/events?until=sealed&after=8", "")
		expect(t, got, `
			turn-start
			model: hello you
			usage
			sealed done, 0 retries`)
		p.refused(409, "answered", "POST", "/"+c+"/again", "")
	})
}
