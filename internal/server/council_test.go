package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/council"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/server"
	"github.com/ridethrough/ridethrough/internal/server/conversations"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// councilServer is a server with councils, for a bubble.
type councilServer struct {
	*testServer
	log    *bytes.Buffer
	models map[string]*llmtest.Model
}

// watchCouncil is the Watch of a [conversations.Councils].
type watchCouncil = func(id, parent string) (report func(member int, r agent.Report), end func(turn.Status))

// newCouncilServer starts a server whose models give these answers.
func newCouncilServer(t *testing.T, watch watchCouncil, answers map[string][]llmtest.Answer) *councilServer {
	var c server.Config
	h := &councilServer{models: map[string]*llmtest.Model{}, log: &bytes.Buffer{}}
	for name, list := range answers {
		h.models[name] = llmtest.New(llm.Name{Provider: name, Model: "large"}, list...)
	}
	c.Gateway, c.Log = &fake{}, slog.New(slog.NewTextHandler(h.log, nil))
	served := &conversations.Councils{Watch: watch, New: func(models []string, judge string) (s council.Council, err error) {
		for _, name := range models {
			if h.models[name] == nil {
				return s, errors.New("no provider has the model " + name)
			}
			s.Members = append(s.Members, agent.Agent{Model: h.models[name]})
		}
		if judge != "" {
			s.Aggregator.Model = h.models[judge]
		}
		return s, nil
	}}
	c.Extensions = append(c.Extensions, served)
	h.testServer = run(t, c)
	return h
}

// convene asks a council.
func (h *councilServer) convene(ctx context.Context, body string, headers ...string) *http.Response {
	h.Helper()
	req, err := http.NewRequestWithContext(ctx, "POST", "http://localhost/-/councils", strings.NewReader(body))
	if err != nil {
		h.Fatalf("new request with context: %v", err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := h.client.Do(req)
	if err != nil {
		h.Fatalf("POST /-/councils: %v", err)
	}
	return resp
}

// some returns the answers of different models.
func some() map[string][]llmtest.Answer {
	busy := &fault.Error{Kind: fault.Overloaded, Status: 529, Message: "busy"}
	denied := &fault.Error{Kind: fault.Auth, Status: 401, Message: "who are you?"}
	return map[string][]llmtest.Answer{
		"recovers": {llmtest.Late(time.Second, llmtest.Fails(busy)), llmtest.Late(time.Second, llmtest.Says("yes"))},
		"answers":  {llmtest.Late(2*time.Second, llmtest.Says("no")), llmtest.Says("no again")},
		"denies":   {llmtest.Fails(denied), llmtest.Fails(denied)},
		"hangs":    {llmtest.Hangs(), llmtest.Hangs(), llmtest.Hangs(), llmtest.Hangs(), llmtest.Hangs(), llmtest.Hangs(), llmtest.Hangs(), llmtest.Hangs(), llmtest.Hangs()},
		"judge":    {llmtest.Late(time.Second, llmtest.Says("it depends"))},
	}
}

const threeMembers = `{"question":"Is it so?","models":["recovers","answers","denies"],"judge":"judge"}`

// describeCouncilEvent describes an event of a council.
func describeCouncilEvent(t *testing.T, text string) string {
	t.Helper()
	var members map[string]any
	var e wire.Event
	if err := errors.Join(json.Unmarshal([]byte(text), &members), json.Unmarshal([]byte(text), &e)); err != nil {
		t.Errorf("%v: %q", err, text)
	}
	if err := eventSchema().Validate(members); err != nil || wire.TurnOf(e.Body) == "" {
		t.Errorf("%s: %v", text, err)
	}
	switch b := e.Body.(type) {
	case wire.CouncilMember:
		return fmt.Sprintf("%s %s %d %s", b.Provider, b.State, b.Tries, b.Answer)
	case wire.CouncilEnd:
		return fmt.Sprintf("end %s: %d, %d, %d", b.Status, b.Answered, b.Failed, b.CutOff)
	}
	return wire.Type(e.Body)
}

// course is what happens after the first moment, in which members begin in any order.
const course = `recovers waiting 1 
answers answered 1 no
recovers asking 2 
recovers answered 2 yes
turn-start
text-delta
text-delta
assistant-message
usage
turn-sealed
end done: 2, 1, 0`

func TestCouncil_StreamsEvents(t *testing.T) {
	for accept, data := range map[string]string{"*/*": "", "application/x-ndjson": "", "text/event-stream": "data: "} {
		synctest.Test(t, func(t *testing.T) {
			h := newCouncilServer(t, nil, some())
			resp := h.convene(t.Context(), threeMembers, "Accept", accept)
			defer resp.Body.Close()
			if kind := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || data == "" && kind != "application/x-ndjson" || data != "" && kind != accept {
				t.Fatalf("status %s, type %s", resp.Status, kind)
			}
			var lines []string
			for s := bufio.NewScanner(resp.Body); s.Scan(); {
				if text, ok := strings.CutPrefix(s.Text(), data); ok && text != "" {
					lines = append(lines, describeCouncilEvent(t, text))
				}
			}
			if len(lines) != 16 || lines[0] != "council-start" {
				t.Fatalf("%q", lines)
			}
			if diff := cmp.Diff(strings.Split(course, "\n"), lines[5:]); diff != "" {
				t.Errorf("differs (-want +got):\n%s", diff)
			}
		})
	}
}

// minutes asks for a council in one piece.
func (h *councilServer) minutes(status int, body string) map[string]any {
	h.Helper()
	resp := h.convene(h.Context(), body, "Accept", "application/json")
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	members := map[string]any{}
	if err == nil {
		err = json.Unmarshal(text, &members)
	}
	if err != nil || resp.StatusCode != status {
		h.Fatalf("%s, %v: %s", resp.Status, err, text)
	}
	if err := answers()[fmt.Sprint("POST /-/councils ", status)].Validate(members); err != nil {
		h.Errorf("%s: %v", text, err)
	}
	return members
}

func TestCouncil_WholeAnswerAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newCouncilServer(t, nil, some())
		m := h.minutes(200, threeMembers)
		delete(m, "id")
		const want = `{"status":"done","answer":"it depends","tookMs":4500,"members":[
			{"model":"recovers/large","state":"answered","tries":2,"tookMs":3500,"answer":"yes","kind":"overloaded","code":"529","message":"HTTP 529: busy"},
			{"model":"answers/large","state":"answered","tries":1,"tookMs":2000,"answer":"no"},
			{"model":"denies/large","state":"failed","tries":1,"tookMs":0,"kind":"auth","code":"401","message":"HTTP 401: who are you?"}],
			"judge":{"model":"judge/large","state":"answered","tries":1,"tookMs":1000,"answer":"it depends"}}`
		var wanted map[string]any
		if err := json.Unmarshal([]byte(want), &wanted); err != nil {
			t.Fatalf("unmarshal: %v", err)
		}
		if diff := cmp.Diff(wanted, m); diff != "" {
			t.Errorf("differs (-want +got):\n%s", diff)
		}
		if q := h.models["judge"].Requests()[0]; !strings.Contains(q.Messages[0].Text(), "Is it so?") {
			t.Errorf("%+v", q)
		}
		if log := h.log.String(); !strings.Contains(log, `msg="council ended"`) || !strings.Contains(log, "status=done members=3 answered=2 took=4.5s") || strings.Contains(log, "so?") {
			t.Errorf("log: %s", log)
		}
	})
}

func TestCouncil_WithoutAnswerHasMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newCouncilServer(t, nil, some())
		m := h.minutes(200, `{"question":"?","models":["answers","denies"]}`)
		if m["status"] != "failed" || m["answer"] != nil || m["judge"] != nil || m["members"].([]any)[0].(map[string]any)["answer"] != "no" {
			t.Errorf("%v", m)
		}
		if want := "1 of 2 members answered, and 2 are needed: denies/large failed in 1 try: HTTP 401: who are you?"; m["message"] != want {
			t.Error(m["message"])
		}
	})
}

func TestCouncil_UsesTheClientsTerms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newCouncilServer(t, nil, some())
		m := h.minutes(200, `{"question":"?","models":["recovers","answers","hangs"],"judge":"judge","system":"Be brief.","graceMs":2000,"quorum":2,
			"budgetMs":50000,"reserveMs":1000,"judgeBudgetMs":20000,"capMs":80000,"attemptsInPrompt":true}`)
		late := m["members"].([]any)[2].(map[string]any)
		if m["status"] != "done" || late["state"] != "cut-off" || late["reason"] != "grace" || late["tookMs"] != 5500.0 {
			t.Errorf("%v", m)
		}
		if q := h.models["answers"].Requests()[0]; q.System != "Be brief." {
			t.Errorf("%+v", q)
		}
		if q := h.models["judge"].Requests()[0]; !strings.Contains(q.Messages[0].Text(), "answered (in 2 tries)") || !strings.HasSuffix(q.System, "\n\nBe brief.") {
			t.Errorf("%+v", q)
		}
	})
}

func TestCouncil_WholeAnswerIsKeptAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newCouncilServer(t, nil, some())
		resp := h.convene(t.Context(), `{"question":"?","models":["answers","hangs"],"budgetMs":40000}`, "Accept", "application/json")
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil || !bytes.HasPrefix(text, []byte("\n\n{")) || !json.Valid(text) {
			t.Errorf("%q, %v", text, err)
		}
	})
}

func TestCouncil_StopsWhenClientLeaves(t *testing.T) {
	for _, accept := range []string{"application/json", "text/event-stream"} {
		synctest.Test(t, func(t *testing.T) {
			h := newCouncilServer(t, nil, some())
			ctx, leave := context.WithCancel(t.Context())
			resp := h.convene(ctx, `{"question":"?","models":["answers","hangs"]}`, "Accept", accept)
			time.Sleep(5 * time.Second)
			leave()
			_ = resp.Body.Close()
			time.Sleep(time.Millisecond)
			synctest.Wait()
			if log := h.log.String(); !strings.Contains(log, "status=aborted members=2 answered=1 took=5") {
				t.Errorf("%s: %s", accept, log)
			}
		})
	}
}

func TestCouncil_EndsAtShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newCouncilServer(t, nil, some())
		resp := h.convene(t.Context(), `{"question":"?","models":["answers","hangs"]}`)
		defer resp.Body.Close()
		time.AfterFunc(5*time.Second, h.stop)
		text, err := io.ReadAll(resp.Body)
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		if end := describeCouncilEvent(t, lines[len(lines)-1]); err != nil || end != "end aborted: 1, 0, 1" {
			t.Errorf("%s, %v", end, err)
		}
	})
}

func TestCouncils_AreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newCouncilServer(t, nil, some())
		ctx, leave := context.WithCancel(t.Context())
		for range 8 {
			resp := h.convene(ctx, `{"question":"?","models":["hangs","hangs"]}`)
			defer resp.Body.Close()
		}
		resp := h.convene(t.Context(), threeMembers)
		text, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" || !strings.Contains(string(text), `"code":"busy"`) {
			t.Errorf("%s %s", resp.Status, text)
		}
		leave()
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if m := h.minutes(200, threeMembers); m["status"] != "done" {
			t.Errorf("council %v", m)
		}
	})
}

func TestCouncils_RefuseInvalidRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newCouncilServer(t, nil, some())
		many := `"answers"` + strings.Repeat(`,"answers"`, 16)
		for body, want := range map[string]string{
			`{"question":" ","models":["answers","denies"]}`:                                               "400 there is no question",
			`{"question":"?","models":["answers"]}`:                                                        "400 models: want 2 to 16, got 1",
			`{"question":"?","models":[` + many + `]}`:                                                     "400 models: want 2 to 16, got 17",
			`{"question":"?","models":["answers","nothing"]}`:                                              "400 no provider has the model nothing",
			`{"question":"?","models":["answers","denies"],"quorum":3}`:                                    "400 a quorum of 3; want from 2 to 2, the number of members",
			`{"question":"?","models":["answers","denies"],"graceMs":-1}`:                                  "400 want each duration from 0 to 86400000 ms",
			`{"question":"?","models":["answers","denies"],"capMs":90000000}`:                              "400 want each duration from 0 to 86400000 ms",
			`{"question":"?","models":["answers","denies"],"capMs":1000}`:                                  "400 the cap of 1s leaves the members nothing beside the aggregator's 2m0s",
			`{"question":"?","modles":["answers","denies"]}`:                                               `400 invalid body: unknown field "modles"`,
			`{"question":"` + strings.Repeat("x", 384<<10+1) + `","models":["answers","denies"]}`:          "413 the question and the system prompt may have 384 KiB each",
			`{"question":"?","models":["answers","denies"],"system":"` + strings.Repeat("x", 6<<20) + `"}`: "413 the body is larger than",
		} {
			resp := h.convene(t.Context(), body)
			var p struct{ Detail string }
			err := json.NewDecoder(resp.Body).Decode(&p)
			if got := fmt.Sprint(resp.StatusCode, " ", p.Detail); err != nil || !strings.HasPrefix(got, want) {
				t.Errorf("%.80s: %s, want %s", body, got, want)
			}
			_ = resp.Body.Close()
		}
		if resp := h.convene(t.Context(), threeMembers, "Content-Type", "text/plain"); resp.StatusCode != 415 {
			t.Errorf("status %s", resp.Status)
		}
		for name, m := range h.models {
			if len(m.Requests()) > 0 {
				t.Errorf("%s was asked", name)
			}
		}
	})
}

func TestCouncils_NeedTokenAndOrigin(t *testing.T) {
	c := server.Config{Gateway: &fake{}, Log: slog.New(slog.DiscardHandler), Token: "secret-secret-secret", Extensions: []server.Extension{
		&conversations.Councils{New: func([]string, string) (council.Council, error) {
			t.Error("it is convened")
			return council.Council{}, errors.New("no")
		}},
	}}
	s := server.New(c)
	json := []string{"Content-Type", "application/json"}
	for want, r := range map[int]*http.Request{
		401: request("POST", "/-/councils", threeMembers, json...),
		405: request("GET", "/-/councils", "", "X-Ridethrough-Token", c.Token),
		403: request("POST", "/-/councils", threeMembers, append(json, "X-Ridethrough-Token", c.Token, "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site")...),
	} {
		if w := ask(s, r); w.Code != want {
			t.Errorf("%d, want %d: %s", w.Code, want, w.Body)
		}
	}
	without := server.New(server.Config{Gateway: &fake{}, Log: c.Log})
	if w := ask(without, request("POST", "/-/councils", threeMembers, json...)); w.Code != 404 {
		t.Errorf("without councils: %d", w.Code)
	}
}
