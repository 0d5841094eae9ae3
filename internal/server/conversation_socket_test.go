package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/server"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/store"
)

// socket is a client at a WebSocket.
type socket struct {
	*websocket.Conn
	t *testing.T
}

// dial opens a WebSocket on a conversation.
func (p *conversationServer) dial(path string, headers ...string) (*socket, *http.Response, error) {
	h := http.Header{}
	for i := 0; i+1 < len(headers); i += 2 {
		h.Set(headers[i], headers[i+1])
	}
	conn, resp, err := websocket.Dial(p.Context(), "ws://localhost/-/conversations"+path, &websocket.DialOptions{HTTPClient: p.client, HTTPHeader: h})
	if err == nil {
		p.Cleanup(func() { _ = conn.CloseNow() })
	}
	return &socket{conn, p.T}, resp, err
}

func (k *socket) send(text string) {
	k.t.Helper()
	if err := k.Write(k.t.Context(), websocket.MessageText, []byte(text)); err != nil {
		k.t.Fatalf("write: %v", err)
	}
}

// next describes the next message.
func (k *socket) next() string {
	k.t.Helper()
	_, text, err := k.Read(k.t.Context())
	if closed, ok := errors.AsType[websocket.CloseError](err); ok {
		return "closed: " + closed.Reason
	}
	if err != nil {
		k.t.Fatalf("read message: %v", err)
	}
	var answer struct{ Did, Do, TurnID, Code string }
	if err := json.Unmarshal(text, &answer); err != nil {
		k.t.Fatalf("unmarshal: %v", err)
	}
	switch {
	case answer.Did != "":
		return strings.TrimSpace("did " + answer.Did + " " + answer.TurnID)
	case strings.Contains(string(text), `"status":4`):
		return strings.TrimSpace("problem " + answer.Code + " " + answer.Do)
	}
	return describeEvent(k.t, string(text))
}

// read describes messages up to one with a prefix.
func (k *socket) read(end string) (all []string) {
	k.t.Helper()
	for {
		next := k.next()
		all = append(all, next)
		if strings.HasPrefix(next, end) {
			return all
		}
	}
}

// readAnswered describes messages up to one with a prefix, without the answer to a command, which may come after
// it.
func (k *socket) readAnswered(end, did string) []string {
	k.t.Helper()
	all := k.read(end)
	if !slices.Contains(all, did) {
		all = append(all, k.next())
	}
	return without(k.t, all, did)
}

// mustDial opens a WebSocket.
func (p *conversationServer) mustDial(path string) *socket {
	p.Helper()
	k, _, err := p.dial(path)
	if err != nil {
		p.Fatalf("dial: %v", err)
	}
	return k
}

func TestSocket_StreamsEventsAndTakesCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newConversationServer(t, llmtest.Fails(busy), llmtest.Says("hello you"))
		c := p.create("")
		k := p.mustDial("/" + c + "/socket")
		k.send(`{"do":"say","text":"hello","id":"t1"}`)
		expect(t, k.readAnswered("retry", "did say t1"), `
			queued: hello
			turn-start
			user: hello
			retry 0: HTTP 529: Overloaded`)
		began := time.Now()
		k.send(`{"do":"now"}`)
		expect(t, k.readAnswered("sealed", "did now"), `
			provider-recovered
			… hello
			… you
			model: hello you
			usage
			sealed done, 1 retries`)
		if time.Since(began) > time.Second {
			t.Error("it has waited")
		}
		_, v := p.ask("GET", "/"+c, "")
		again := p.mustDial(fmt.Sprintf("/%s/socket?after=%v", c, v["seq"].(float64)-1))
		expect(t, again.read("sealed"), "sealed done, 1 retries")
	})
}

// without takes the answer to a command out of what was read. Events do not wait for answers, so it may stand anywhere.
func without(t *testing.T, said []string, answer string) []string {
	t.Helper()
	rest := slices.DeleteFunc(slices.Clone(said), func(line string) bool { return line == answer })
	if n := len(said) - len(rest); n != 1 {
		t.Errorf("%q came %d times among %q, want once", answer, n, said)
	}
	return rest
}

func TestSocket_MessageHasTheTraceparentOfItsClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newConversationServer(t, llmtest.Fails(busy), llmtest.Says("one"))
		c := p.create("")
		const opening, own = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "00-4bf92f3577b34da6a3ce929d0e0e4736-aaaaaaaaaaaaaaaa-01"
		k, _, err := p.dial("/"+c+"/socket", "Traceparent", opening)
		if err != nil {
			t.Fatalf("dial: %v", err)
		}
		k.send(`{"do":"say","text":"first","id":"t0"}`)
		k.send(`{"do":"say","text":"hello","id":"t1"}`)
		k.send(`{"do":"say","text":"and?","id":"t2","traceparent":"` + own + `"}`)
		synctest.Wait()
		got := p.text(200, "GET", "/"+c+"/queue", "")
		if strings.Count(got, opening) != 1 || strings.Count(got, own) != 1 {
			t.Errorf("queue %s, want the traceparents %s of the handshake and %s of the message", got, opening, own)
		}
	})
}

func TestSocket_RejectedCommandLeavesItOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newConversationServer(t)
		c := p.create("")
		k := p.mustDial("/" + c + "/socket")
		for text, want := range map[string]string{
			`{"do":"stop"}`:                              "problem not-running stop",
			`{"do":"now"}`:                               "problem not-running now",
			`{"do":"steer","id":"none"}`:                 "problem not-queued steer",
			`{"do":"edit","id":"x","text":"hi"}`:         "problem not-queued edit",
			`{"do":"remove","id":"x"}`:                   "problem not-queued remove",
			`{"do":"say","text":" "}`:                    "problem invalid-input say",
			`{"do":"answer","id":"x","decision":"deny"}`: "problem not-asked answer",
			`{"do":"answer","id":"x","decision":"yes"}`:  "problem invalid-input answer",
			`{"do":"dance"}`:                             "problem invalid-input dance",
			`{"do":"now","when":"later"}`:                "problem invalid-input now",
			`now`:                                        "problem invalid-input",
			"\xff":                                       "problem invalid-input",
		} {
			k.send(text)
			if got := k.next(); got != want {
				t.Errorf("%s: %s", text, got)
			}
		}
		if err := k.Write(t.Context(), websocket.MessageBinary, []byte(`{"do":"now"}`)); err != nil {
			t.Errorf("write: %v", err)
		}
		if got, want := k.next(), "problem invalid-input"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

func TestSocket_RefusesOtherOrigins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newConversationServerOn(t, server.Config{Token: "let me in"}, store.Memory())
		if _, err := p.host.Create(t.Context(), "c1", conversation.Settings{Model: "acme/large"}); err != nil {
			t.Fatalf("create: %v", err)
		}
		for _, c := range []struct {
			path    string
			status  int
			headers []string
		}{
			{"/c1/socket", 401, nil},
			{"/c1/socket", 101, []string{"Authorization", "Bearer let me in"}},
			{"/c1/socket?key=let+me+in", 101, nil},
			{"/c1/socket?key=let+me+in", 101, []string{"Origin", "http://localhost"}},
			{"/c1/socket?key=let+me+in", 403, []string{"Origin", "http://localhost:3000"}},
			{"/c1/socket?key=let+me+in", 403, []string{"Origin", "https://evil.example"}},
			{"/c1/socket?key=let+me+in", 403, []string{"Sec-Fetch-Site", "cross-site"}},
			{"/none/socket?key=let+me+in", 404, nil},
			{"/c1/socket?key=let+me+in&after=2", 409, nil},
			{"/c1/socket?key=let+me+in&after=x", 400, nil},
		} {
			if _, resp, _ := p.dial(c.path, c.headers...); resp == nil || resp.StatusCode != c.status {
				t.Errorf("%v: %v", c, resp)
			}
		}
		p.refused(426, "upgrade-required", "GET", "/c1/socket", "", "Authorization", "Bearer let me in")
	})
}

func TestSocket_ClosesWithReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newConversationServer(t)
		c := p.create("")
		k, large := p.mustDial("/"+c+"/socket"), p.mustDial("/"+c+"/socket")
		if err := large.Write(t.Context(), websocket.MessageText, make([]byte, 20<<20)); err == nil {
			t.Error("too much was taken")
		}
		p.ask("DELETE", "/"+c, "")
		expect(t, k.read("closed"), "problem gone\nclosed: gone")
		other := p.mustDial("/" + p.create("") + "/socket")
		read := make(chan []string, 1)
		go func() { read <- other.read("closed") }()
		time.Sleep(time.Minute) // a client that reads answers pings
		p.stop()
		expect(t, <-read, "closed: the server is shutting down")
	})
}

func TestSocket_ClosesClientThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newConversationServer(t, llmtest.Says("hello you"))
		c := p.create("")
		k := p.mustDial("/" + c + "/socket") // without a reader
		p.say(c, "hello")
		time.Sleep(2 * time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for {
			if _, _, err := k.Read(ctx); err != nil {
				if errors.Is(err, context.DeadlineExceeded) {
					t.Error("it is open")
				}
				return
			}
		}
	})
}
