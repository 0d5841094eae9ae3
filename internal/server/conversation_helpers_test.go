package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/cli/agentcmd"
	"github.com/ridethrough/ridethrough/internal/server"
	"github.com/ridethrough/ridethrough/internal/server/conversations"
	"github.com/ridethrough/ridethrough/internal/server/live"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/tool"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// conversationServer is a server with conversations, for a bubble.
type conversationServer struct {
	*testServer
	store store.Store
	host  *conversation.Runner
	model *llmtest.Model
	tools []tool.Tool
	end   func() // stops the runner, which hands back its turns
}

// newConversationServer starts a server whose model gives these answers.
func newConversationServer(t *testing.T, answers ...llmtest.Answer) *conversationServer {
	return newConversationServerOn(t, server.Config{}, store.Memory(), answers...)
}

// newConversationServerOn starts a server on a store.
func newConversationServerOn(t *testing.T, c server.Config, e store.Store, answers ...llmtest.Answer) *conversationServer {
	return newConversationServerWith(t, &conversations.API{}, c, e, answers...)
}

// newConversationServerWith starts a server with an API that has no runner yet.
func newConversationServerWith(t *testing.T, served *conversations.API, c server.Config, e store.Store, answers ...llmtest.Answer) *conversationServer {
	if c.Feed == nil {
		c.Feed = live.NewFeed()
	}
	p := &conversationServer{store: e, model: llmtest.New(llm.Name{Provider: "acme", Model: "large"}, answers...)}
	p.host = conversation.New(conversation.Config{Store: e, Agent: func(context.Context, conversation.Settings) (agent.Agent, error) {
		w := agent.Agent{Model: p.model, Tools: p.tools, ApprovalTime: time.Hour}
		w.Retry.Policy = policy.Patient()
		return w, nil
	}, OnEvent: func(e conversation.Event) { c.Feed.WatchTurn(agentcmd.EventOf(e), e.Waited) }})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = p.host.Run(ctx)
	}()
	p.end = func() { cancel(); <-done }
	t.Cleanup(func() { p.end(); _ = e.Close(context.Background()) })
	if served.Runner = p.host; c.Gateway == nil {
		c.Gateway = &fake{}
	}
	c = withConversations(c, served)
	p.testServer = run(t, c)
	return p
}

// withConversations returns a configuration with conversations, which come before its other extensions.
func withConversations(c server.Config, served *conversations.API) server.Config {
	c.Conversations, c.Extensions = served, append([]server.Extension{served}, c.Extensions...)
	return c
}

// send sends a request below /-/conversations. A body is JSON unless a header says otherwise.
func (p *conversationServer) send(method, path, body string, headers ...string) *http.Response {
	p.Helper()
	req, err := http.NewRequestWithContext(p.Context(), method, "http://localhost/-/conversations"+path, strings.NewReader(body))
	if err != nil {
		p.Fatalf("new request with context: %v", err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := p.client.Do(req)
	if err != nil {
		p.Fatalf("%s %s: %v", method, path, err)
	}
	return resp
}

// ask returns the status of an answer and its members.
func (p *conversationServer) ask(method, path, body string, headers ...string) (int, map[string]any) {
	p.Helper()
	resp := p.send(method, path, body, headers...)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	members := map[string]any{}
	if err == nil && len(text) > 0 {
		err = json.Unmarshal(text, &members)
	}
	if err != nil {
		p.Errorf("%s %s: %v: %q", method, path, err, text)
	}
	conforms(p.T, method, path, resp.StatusCode, members)
	want := "application/json"
	if resp.StatusCode >= 400 {
		want = "application/problem+json"
	}
	if kind := resp.Header.Get("Content-Type"); kind != want && resp.StatusCode != 204 {
		p.Errorf("%s %s: %s", method, path, kind)
	}
	return resp.StatusCode, members
}

// refused checks that a request is answered with a problem.
func (p *conversationServer) refused(status int, code, method, path, body string, headers ...string) {
	p.Helper()
	got, problem := p.ask(method, path, body, headers...)
	if got != status || problem["code"] != code || problem["status"] != float64(status) || problem["detail"] == "" {
		p.Errorf("%s %s: %d %v, want %d %s", method, path, got, problem, status, code)
	}
}

// create creates a conversation.
func (p *conversationServer) create(id string) string {
	p.Helper()
	status, c := p.ask("POST", "", `{"id":"`+id+`","model":"acme/large"}`)
	if status != 201 {
		p.Fatalf("status %d: %v", status, c)
	}
	return c["id"].(string)
}

// say adds a user message and does not wait for the answer.
func (p *conversationServer) say(conversation, text string) (turnID string) {
	p.Helper()
	status, answer := p.ask("POST", "/"+conversation+"/turns", `{"text":"`+text+`"}`)
	if status != 202 {
		p.Fatalf("status %d: %v", status, answer)
	}
	return answer["turnId"].(string)
}

// ndjson returns the events of a stream until it ends.
func (p *conversationServer) ndjson(method, path, body string) (lines []string) {
	p.Helper()
	resp := p.send(method, path, body, "Accept", "application/x-ndjson")
	defer resp.Body.Close()
	if kind := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || kind != "application/x-ndjson" {
		p.Fatalf("%s %s: %s, %s", method, path, resp.Status, kind)
	}
	for s := bufio.NewScanner(resp.Body); s.Scan(); {
		if s.Text() != "" {
			lines = append(lines, describeEvent(p.T, s.Text()))
		}
	}
	return lines
}

// describeEvent describes an event.
func describeEvent(t *testing.T, text string) string {
	t.Helper()
	var e wire.Event
	if err := json.Unmarshal([]byte(text), &e); err != nil || e.Seq == 0 {
		t.Errorf("no event: %q, %v", text, err)
		return text
	}
	var members map[string]any
	if err := json.Unmarshal([]byte(text), &members); err != nil {
		t.Errorf("unmarshal: %v", err)
	}
	if err := eventSchema().Validate(members); err != nil {
		t.Errorf("%s: %v", text, err)
	}
	switch b := e.Body.(type) {
	case wire.Turn:
		switch e := b.Event.(type) {
		case turn.UserMessage:
			return "user: " + e.Text
		case turn.TextDelta:
			return "… " + strings.TrimSpace(e.Text)
		case turn.AssistantMessage:
			return strings.TrimSpace("model: " + e.Content.Text())
		case turn.Sealed:
			return fmt.Sprintf("sealed %s, %d retries", e.Status, e.RetryCount)
		case turn.Retry:
			return fmt.Sprintf("retry %d: %s", e.Retry()-1, e.Fault.Redacted())
		}
	case wire.InputQueued:
		return "queued: " + b.Text
	}
	return wire.Type(e.Body)
}

// expect compares lines with the lines of a text.
func expect(t *testing.T, got []string, want string) {
	t.Helper()
	var all []string
	for line := range strings.Lines(want) {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	if g, w := strings.Join(got, "\n"), strings.Join(all, "\n"); g != w {
		t.Errorf("got\n%s\nwant\n%s", g, w)
	}
}
