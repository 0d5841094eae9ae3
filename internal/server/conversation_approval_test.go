package server_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/tool"
)

// withWriter is a server whose model calls a tool that writes twice.
func withWriter(t *testing.T, ran *atomic.Int32) *conversationServer {
	call := func(id string) llmtest.Answer { return llmtest.Calls(llmtest.Call(id, "write", `{"to":"disk"}`)) }
	p := newConversationServer(t, call("1"), call("2"), llmtest.Says("done"))
	p.tools = []tool.Tool{{Tool: llm.Tool{Name: "write"}, Writes: true, Func: func(context.Context, json.RawMessage) (string, error) {
		ran.Add(1)
		return "written", nil
	}}}
	return p
}

// approvals returns a list of calls that wait for approval.
func (p *conversationServer) approvals(path string) (calls []map[string]any) {
	p.Helper()
	_, answer := p.ask("GET", path, "")
	for _, a := range answer["approvals"].([]any) {
		calls = append(calls, a.(map[string]any))
	}
	return calls
}

func TestApproval_ListAndAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran atomic.Int32
		p := withWriter(t, &ran)
		c, quiet := p.create("c1"), p.create("c2")
		turnID := p.say(c, "write")
		synctest.Wait()
		for _, path := range []string{"/" + c + "/approvals", "/../approvals"} {
			calls := p.approvals(path)
			if len(calls) != 1 || calls[0]["conversationId"] != c || calls[0]["turnId"] != turnID || calls[0]["id"] != "1" || calls[0]["name"] != "write" || calls[0]["until"] == nil {
				t.Errorf("GET %s: got %v, want the call", path, calls)
			}
		}
		if calls := p.approvals("/" + quiet + "/approvals"); len(calls) != 0 {
			t.Errorf("approvals of another conversation: got %v, want none", calls)
		}
		if _, v := p.ask("GET", "/"+c, ""); v["approval"].(map[string]any)["id"] != "1" || v["turnId"] != turnID {
			t.Errorf("conversation: got %v, want the approval in it", v)
		}
		p.refused(400, "invalid-input", "POST", "/"+c+"/approvals/1", `{"decision":"perhaps"}`)
		p.refused(409, "not-asked", "POST", "/"+c+"/approvals/2", `{"decision":"deny"}`)
		p.refused(404, "not-found", "GET", "/none/approvals", "")
		if status, d := p.ask("POST", "/"+c+"/approvals/1", `{"decision":"allow-always"}`); status != 202 || d["did"] != "answer" || d["id"] != "1" {
			t.Errorf("answer: got %d %v, want 202", status, d)
		}
		events := slices.DeleteFunc(p.ndjson("GET", "/"+c+"/events?until=sealed", "")[3:], func(line string) bool { return strings.HasPrefix(line, "…") })
		expect(t, events, `
			model:
			usage
			approval-requested
			approval-answered
			tool-call
			tool-result
			model:
			usage
			tool-call
			tool-result
			model: done
			usage
			sealed done, 0 retries`)
		if ran.Load() != 2 || len(p.approvals("/../approvals")) != 0 {
			t.Errorf("runs, approvals that are open: got %d, %v, want 2 and none", ran.Load(), p.approvals("/../approvals"))
		}
	})
}

func TestApproval_OverASocket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran atomic.Int32
		p := withWriter(t, &ran)
		c := p.create("")
		k := p.mustDial("/" + c + "/socket")
		k.send(`{"do":"say","text":"write","id":"t1"}`)
		k.read("approval-requested")
		time.Sleep(10 * time.Second)
		k.send(`{"do":"answer","id":"1","decision":"deny"}`)
		k.read("approval-requested") // of the second call
		if ran.Load() != 0 {
			t.Error("a denied call has run")
		}
		k.send(`{"do":"answer","id":"2","decision":"allow-once"}`)
		k.read("sealed")
		if ran.Load() != 1 {
			t.Errorf("runs: got %d, want 1", ran.Load())
		}
	})
}
