package responses_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/ridethrough/ridethrough/internal/responses"
)

// server answers WebSockets with a scripted handler of POSTs.
type server struct {
	t       *testing.T
	url     string
	drain   context.CancelFunc
	mu      sync.Mutex
	bodies  []string
	headers []http.Header
	budget  budget
	served  sync.WaitGroup // the sockets
}

// budget is a budget of the bytes that are left. It keeps keepRoom of them for what arrives.
type budget struct{ left atomic.Int64 }

const keepRoom = 300 << 10

func (b *budget) Reserve(n int64, waits bool) bool {
	least := int64(0)
	if waits {
		least = keepRoom
	}
	if b.left.Add(-n) < least {
		b.left.Add(n)
		return false
	}
	return true
}

func (b *budget) Return(n int64) { b.left.Add(n) }

// newServer starts a server whose n-th POST is answered by the n-th handler, and further ones by the last.
func newServer(t *testing.T, handlers ...http.HandlerFunc) *server {
	draining, drain := context.WithCancel(t.Context())
	s := &server{t: t, drain: drain}
	s.budget.left.Store(1 << 30)
	posts := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.bodies, s.headers = append(s.bodies, string(body)), append(s.headers, r.Header)
		h := handlers[min(len(s.bodies), len(handlers))-1]
		s.mu.Unlock()
		h(w, r)
	})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !responses.IsHandshake(r) {
			t.Errorf("%s %s with header %v: not a handshake", r.Method, r.URL, r.Header)
		}
		s.served.Add(1)
		defer s.served.Done()
		responses.Serve(w, r, posts, draining, &s.budget)
	}))
	t.Cleanup(web.Close)
	s.url = "ws" + strings.TrimPrefix(web.URL, "http") + "/v1/responses"
	return s
}

// body returns the n-th POST's body, from 0, and how many there were.
func (s *server) body(n int) (string, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n >= len(s.bodies) {
		return "", len(s.bodies)
	}
	return s.bodies[n], len(s.bodies)
}

// dial opens a WebSocket like Codex.
func (s *server) dial() *websocket.Conn {
	s.t.Helper()
	conn, _, err := websocket.Dial(s.t.Context(), s.url, &websocket.DialOptions{HTTPHeader: http.Header{
		"Authorization": {"Bearer sk-test"}, "Openai-Beta": {"responses_websockets=2026-02-06"}, "Session-Id": {"s1"},
	}})
	if err != nil {
		s.t.Fatalf("dial: %v", err)
	}
	s.t.Cleanup(func() { conn.CloseNow() })
	return conn
}

// say sends a frame.
func say(t *testing.T, conn *websocket.Conn, frame string) {
	t.Helper()
	if err := conn.Write(t.Context(), websocket.MessageText, []byte(frame)); err != nil {
		t.Fatalf("write %s: %v", frame, err)
	}
}

// event is a frame from the server.
type event struct {
	Type     string
	Status   int
	Delta    string
	Error    struct{ Type, Code, Message string }
	Headers  map[string]string
	Response struct {
		ID, Status string
	}
}

// hear returns the next frame.
func hear(t *testing.T, conn *websocket.Conn) event {
	t.Helper()
	_, frame, err := conn.Read(t.Context())
	if err != nil {
		t.Fatalf("read: %v, want a frame", err)
	}
	var e event
	if err := json.Unmarshal(frame, &e); err != nil {
		t.Fatalf("frame %s: %v", frame, err)
	}
	return e
}

// hearAll returns the types of the frames up to the last of a response.
func hearAll(t *testing.T, conn *websocket.Conn) (types []string, last event) {
	t.Helper()
	for {
		last = hear(t, conn)
		types = append(types, last.Type)
		switch last.Type {
		case "response.completed", "response.failed", "response.incomplete", "error":
			return types, last
		}
	}
}

// answers returns a handler that answers with a text.
func answers(id, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, data := range []string{
			`{"type":"response.created","response":{"id":"` + id + `"}}`,
			`{"type":"response.output_text.delta","delta":"` + text + `"}`,
			`{"type":"response.output_item.done","item":{"type":"message","role":"assistant","content":"` + text + `"}}`,
			`{"type":"response.completed","response":{"id":"` + id + `"}}`,
		} {
			name, _, _ := strings.Cut(strings.TrimPrefix(data, `{"type":"`), `"`)
			fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, data)
		}
	}
}

const create = `{"type":"response.create","model":"gpt-5","store":false,"input":[{"role":"user","content":"Hi"}]}`

// wantTypes checks the types of the frames of an answer.
func wantTypes(t *testing.T, got []string, want ...string) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("frames %v, want %v", got, want)
	}
}

func TestServe_RequestBecomesPOST(t *testing.T) {
	s := newServer(t, answers("r1", "Hello"))
	conn := s.dial()
	say(t, conn, create)
	types, _ := hearAll(t, conn)
	wantTypes(t, types, "response.created", "response.output_text.delta", "response.output_item.done", "response.completed")
	body, _ := s.body(0)
	if want := `{"input":[{"role":"user","content":"Hi"}],"model":"gpt-5","store":false,"stream":true}`; body != want {
		t.Errorf("body %s, want %s", body, want)
	}
	h := s.headers[0]
	if h.Get("Authorization") != "Bearer sk-test" || h.Get("Session-Id") != "s1" || h.Get("Upgrade") != "" || h.Get("Openai-Beta") != "" || h.Get("Accept") != "text/event-stream" {
		t.Errorf("header %v, want the handshake's without what makes it a handshake", h)
	}
}

// Codex has them in each frame, and the handshake's are those of the whole session.
func TestServe_TraceOfARequestIsInItsHeader(t *testing.T) {
	s := newServer(t, answers("r1", "Hello"))
	conn, _, err := websocket.Dial(t.Context(), s.url, &websocket.DialOptions{HTTPHeader: http.Header{"Traceparent": {"00-opening"}, "Tracestate": {"a=opening"}}})
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	defer conn.CloseNow()
	for i, tt := range []struct{ metadata, parent, state string }{
		{`{"ws_request_header_traceparent":"00-frame","ws_request_header_tracestate":"a=frame"}`, "00-frame", "a=frame"},
		{`{"ws_request_header_traceparent":"00-frame"}`, "00-frame", ""},
		{`{"x-codex-turn-metadata":"{}"}`, "00-opening", "a=opening"},
		{`"none"`, "00-opening", "a=opening"},
		{`{"ws_request_header_traceparent":"00-a\r\nHost: b"}`, "", ""},
	} {
		say(t, conn, strings.Replace(create, "{", `{"client_metadata":`+tt.metadata+`,`, 1))
		hearAll(t, conn)
		if h := s.headers[i]; h.Get("Traceparent") != tt.parent || h.Get("Tracestate") != tt.state {
			t.Errorf("metadata %s: got header %v, want %q and %q", tt.metadata, h, tt.parent, tt.state)
		}
	}
}

func TestServe_PreviousResponseOnSocketIsExpanded(t *testing.T) {
	s := newServer(t, answers("r1", "Hello"), answers("r2", "Fine"))
	conn := s.dial()
	say(t, conn, create)
	hearAll(t, conn)
	for _, previous := range []string{"r1", "r2"} {
		say(t, conn, `{"type":"response.create","store":false,"previous_response_id":"`+previous+`","input":[{"role":"user","content":"after `+previous+`"}]}`)
		hearAll(t, conn)
	}
	body, _ := s.body(2)
	want := `{"input":[{"role":"user","content":"Hi"},{"type":"message","role":"assistant","content":"Hello"},{"role":"user","content":"after r1"},` +
		`{"type":"message","role":"assistant","content":"Fine"},{"role":"user","content":"after r2"}],"store":false,"stream":true}`
	if body != want {
		t.Errorf("body %s, want %s", body, want)
	}
	say(t, conn, `{"type":"response.create","store":false,"previous_response_id":"r1","input":"a fork"}`)
	hearAll(t, conn)
	body, _ = s.body(3)
	want = `{"input":[{"role":"user","content":"Hi"},{"type":"message","role":"assistant","content":"Hello"},{"content":"a fork","role":"user"}],"store":false,"stream":true}`
	if body != want {
		t.Errorf("body of a fork %s, want %s", body, want)
	}
}

func TestServe_UnknownPreviousResponse(t *testing.T) {
	s := newServer(t, answers("r1", "Hello"))
	conn := s.dial()
	say(t, conn, `{"type":"response.create","store":false,"previous_response_id":"gone","input":[]}`)
	if _, e := hearAll(t, conn); e.Status != 400 || e.Error.Code != "previous_response_not_found" {
		t.Errorf("frame %+v, want 400 previous_response_not_found, on which Codex sends everything", e)
	}
	say(t, conn, `{"type":"response.create","previous_response_id":"stored","input":[]}`) // store is on by default: the provider has it
	hearAll(t, conn)
	if body, n := s.body(0); n != 1 || !strings.Contains(body, `"previous_response_id":"stored"`) {
		t.Errorf("%d requests, the first %s; want one with the id", n, body)
	}
}

func TestServe_WarmUpSendsNothing(t *testing.T) {
	s := newServer(t, answers("r1", "Hello"))
	conn := s.dial()
	say(t, conn, `{"type":"response.create","store":false,"generate":false,"input":[{"role":"system","content":"Be brief"}]}`)
	types, e := hearAll(t, conn)
	wantTypes(t, types, "response.created", "response.completed")
	say(t, conn, `{"type":"response.create","store":false,"previous_response_id":"`+e.Response.ID+`","input":[{"role":"user","content":"Hi"}]}`)
	hearAll(t, conn)
	body, n := s.body(0)
	if want := `{"input":[{"role":"system","content":"Be brief"},{"role":"user","content":"Hi"}],"store":false,"stream":true}`; n != 1 || body != want {
		t.Errorf("%d requests, the first %s; want one, %s", n, body, want)
	}
}

func TestServe_ErrorsHaveStatus(t *testing.T) {
	limited := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.Header().Set("X-Codex-Primary-Used-Percent", "100")
		w.WriteHeader(429)
		io.WriteString(w, `{"error":{"type":"usage_limit_reached","code":"usage_limit_reached","message":"spent"}}`)
	}
	within := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"server_error\",\"code\":\"server_is_overloaded\",\"message\":\"full\"}}\n\n"+
			"event: response.failed\ndata: {\"type\":\"response.failed\",\"response\":{\"id\":\"\"}}\n\n")
		panic(http.ErrAbortHandler)
	}
	final := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "event: error\ndata: {\"type\":\"error\",\"error\":{\"code\":\"invalid_prompt\",\"message\":\"gave up\"}}\n\n")
	}
	page := func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") }
	s := newServer(t, limited, within, final, page, answers("r1", "Hello"))
	conn := s.dial()
	for _, want := range []struct {
		status int
		code   string
	}{{429, "usage_limit_reached"}, {503, "server_is_overloaded"}, {400, "invalid_prompt"}, {502, ""}} {
		say(t, conn, create)
		_, e := hearAll(t, conn)
		if e.Type != "error" || e.Status != want.status || e.Error.Code != want.code {
			t.Errorf("frame %+v, want an error with status %d, code %q", e, want.status, want.code)
		}
		if want.status == 429 && (e.Headers["retry-after"] != "7" || e.Headers["x-codex-primary-used-percent"] != "100") {
			t.Errorf("headers %v, want those about the limit", e.Headers)
		}
	}
	say(t, conn, create) // the socket goes on
	if _, e := hearAll(t, conn); e.Type != "response.completed" {
		t.Errorf("after the errors %+v, want an answer", e)
	}
}

func TestServe_BadFramesAreAnswered(t *testing.T) {
	s := newServer(t, answers("r1", "Hello"))
	conn := s.dial()
	for _, frame := range []string{`no JSON`, `[]`, `{}`, `{"type":"response.jump"}`, `{"type":"response.create","stream_id":"a"}`} {
		say(t, conn, frame)
		if e := hear(t, conn); e.Type != "error" || e.Status != 400 || !strings.HasPrefix(e.Error.Message, "ridethrough: ") {
			t.Errorf("%s: frame %+v, want an error with 400", frame, e)
		}
	}
	if err := conn.Write(t.Context(), websocket.MessageBinary, []byte{1}); err != nil {
		t.Fatalf("write: %v", err)
	}
	if e := hear(t, conn); e.Status != 400 {
		t.Errorf("a binary frame: %+v, want an error with 400", e)
	}
	if _, n := s.body(0); n != 0 {
		t.Errorf("%d requests, want none", n)
	}
}

// waits is a handler that sends a comment and waits for the client to leave.
func waits(begun, left chan<- struct{}) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, ": ridethrough retry 1 in 5s\n\n")
		begun <- struct{}{}
		<-r.Context().Done()
		left <- struct{}{}
		panic(http.ErrAbortHandler)
	}
}

func TestServe_CancelAndCloseEndTheRequest(t *testing.T) {
	begun, left := make(chan struct{}, 1), make(chan struct{}, 1)
	s := newServer(t, waits(begun, left))
	conn := s.dial()
	say(t, conn, create)
	<-begun
	say(t, conn, `{"type":"response.cancel"}`)
	<-left
	if _, e := hearAll(t, conn); e.Type != "response.incomplete" || e.Response.Status != "cancelled" {
		t.Errorf("frame %+v, want response.incomplete, cancelled", e)
	}
	say(t, conn, create)
	<-begun
	conn.CloseNow()
	<-left
}

func TestServe_DrainClosesAfterTheAnswer(t *testing.T) {
	begun, release := make(chan struct{}), make(chan struct{})
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		begun <- struct{}{}
		<-release
		answers("r1", "Hello")(w, r)
	})
	conn := s.dial()
	say(t, conn, create)
	<-begun
	s.drain()
	close(release)
	if _, e := hearAll(t, conn); e.Type != "response.completed" {
		t.Errorf("last frame %+v, want the whole answer", e)
	}
	_, _, err := conn.Read(t.Context())
	if websocket.CloseStatus(err) != websocket.StatusServiceRestart {
		t.Errorf("read: %v, want the close code 1012, on which clients connect again", err)
	}
}

func TestServe_AnswerThatBreaksOffClosesTheSocket(t *testing.T) {
	s := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: {\"type\":\"response.created\",\"response\":{\"id\":\"r\"}}\n\ndata: {\"type\":\"resp")
		panic(http.ErrAbortHandler)
	})
	conn := s.dial()
	say(t, conn, create)
	if e := hear(t, conn); e.Type != "response.created" {
		t.Errorf("frame %+v, want response.created", e)
	}
	_, _, err := conn.Read(t.Context())
	if websocket.CloseStatus(err) != websocket.StatusInternalError {
		t.Errorf("read: %v, want the close code 1011", err)
	}
}

func TestServe_CommentsArePings(t *testing.T) {
	pinged := make(chan struct{}, 8)
	begun, left := make(chan struct{}, 1), make(chan struct{}, 1)
	s := newServer(t, waits(begun, left))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, s.url, &websocket.DialOptions{OnPingReceived: func(context.Context, []byte) bool {
		pinged <- struct{}{}
		return true
	}})
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	defer conn.CloseNow()
	say(t, conn, create)
	go conn.Read(ctx) // answers the ping
	select {
	case <-pinged:
	case <-ctx.Done():
		t.Error("no ping came for the comment")
	}
}

func TestServe_RequestsAreWithinTheBudget(t *testing.T) {
	const room = keepRoom + 300<<10
	s := newServer(t, answers("r1", "Hello"))
	s.budget.left.Store(room)
	conn := s.dial()
	for range 3 { // what is refused is not kept
		say(t, conn, `{"type":"response.create","input":"`+strings.Repeat("x", 700<<10)+`"}`)
		if e := hear(t, conn); e.Type != "error" || e.Status != 503 || e.Error.Code != "server_is_overloaded" {
			t.Errorf("a frame beyond the budget: %+v, want an error with status 503", e)
		}
	}
	for i := range 10 { // nor is what is answered, but for the latest chains that fit
		say(t, conn, `{"type":"response.create","generate":false,"input":"`+strings.Repeat("x", 100<<10)+`"}`)
		if types, last := hearAll(t, conn); last.Type != "response.completed" {
			t.Fatalf("request %d within the budget: %v %+v", i, types, last)
		}
	}
	say(t, conn, `{"type":"response.created"}`)
	say(t, conn, `{"type":"response.cancel"}`)
	hear(t, conn)
	if left := s.budget.left.Load(); left > room-100<<10 {
		t.Errorf("%d of %d bytes are left with chains that are kept", left, room)
	}
	_ = conn.CloseNow()
	s.served.Wait()
	if left := s.budget.left.Load(); left != room {
		t.Errorf("%d of %d bytes are left after the end", left, room)
	}
}
