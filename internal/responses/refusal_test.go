package responses_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

// midway is a handler that begins an answer, and ends it once release is closed.
func midway(begun chan<- struct{}, release <-chan struct{}) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: {\"type\":\"response.created\",\"response\":{\"id\":\"r1\"}}\n\n")
		begun <- struct{}{}
		<-release
		io.WriteString(w, "data: {\"type\":\"response.completed\",\"response\":{\"id\":\"r1\"}}\n\n")
	}
}

// hearRaw returns the next frame as it came.
func hearRaw(t *testing.T, conn *websocket.Conn) string {
	t.Helper()
	_, frame, err := conn.Read(t.Context())
	if err != nil {
		t.Fatalf("read: %v, want a frame", err)
	}
	return string(frame)
}

// OpenAI's clients take an error without a lane for the end of the answer in progress. The forms are those of the types in
// openai 7.59.0.
func TestServe_RefusedFramesEndNoAnswer(t *testing.T) {
	const unsupported = `is not supported here"`
	for _, tt := range []struct{ frame, want string }{
		{
			`{"type":"response.steer","previous_response_id":"r1","input":[{"role":"user","content":"stop"}]}`,
			`{"error":{"code":"steering_not_supported","message":"ridethrough: the event \"response.steer\" ` + unsupported +
				`,"type":"invalid_request_error"},"sequence_number":0,"steer":{"input":[{"role":"user","content":"stop"}],"previous_response_id":"r1"},"type":"response.steer.failed"}`,
		},
		{
			`{"type":"response.steer","previous_response_id":"r9","input":"stop","stream_id":"a"}`,
			`{"error":{"code":"steering_not_supported","message":"ridethrough: the event \"response.steer\" ` + unsupported +
				`,"type":"invalid_request_error"},"sequence_number":0,"steer":{"input":"stop","previous_response_id":"r9"},"stream_id":"a","type":"response.steer.failed"}`,
		},
		{
			`{"type":"response.inject","response_id":"r1","input":[]}`,
			`{"error":{"code":"response_not_found","message":"ridethrough: the event \"response.inject\" ` + unsupported +
				`},"input":[],"response_id":"r1","sequence_number":0,"type":"response.inject.failed"}`,
		},
		{
			`{"type":"response.create","input":"Hi","stream_id":"a"}`,
			`{"type":"error","status":400,"error":{"code":"unsupported_parameter","message":"ridethrough: one response at a time runs on this socket, ` +
				`without a stream_id","param":null,"type":"invalid_request_error"},"headers":{},"stream_id":"a"}`,
		},
	} {
		begun, release := make(chan struct{}), make(chan struct{})
		s := newServer(t, midway(begun, release))
		conn := s.dial()
		say(t, conn, create)
		<-begun
		hear(t, conn)
		say(t, conn, tt.frame)
		if got := hearRaw(t, conn); got != tt.want {
			t.Errorf("%s during an answer: frame\n%s, want\n%s", tt.frame, got, tt.want)
		}
		close(release)
		if e := hear(t, conn); e.Type != "response.completed" || e.Response.ID != "r1" {
			t.Errorf("%s: then %+v, want the end of the answer", tt.frame, e)
		}
	}
}

// What has no other form than an error without a lane waits for the end of the answer, as the request would.
func TestServe_ErrorsWaitForTheAnswerInProgress(t *testing.T) {
	begun, release := make(chan struct{}), make(chan struct{})
	s := newServer(t, midway(begun, release), answers("r2", "Hello"))
	conn := s.dial()
	say(t, conn, create)
	<-begun
	say(t, conn, `no JSON`)
	say(t, conn, `{"type":"response.jump"}`)
	say(t, conn, create)
	say(t, conn, `{"type":"response.steer"}`) // answered at once, and so the others were read
	var heard []string
	for range 2 {
		heard = append(heard, hear(t, conn).Type)
	}
	close(release)
	for len(heard) < 5 || heard[len(heard)-1] != "response.completed" {
		heard = append(heard, hear(t, conn).Type)
	}
	want := "response.created response.steer.failed response.completed error error response.created"
	if got := strings.Join(heard, " "); !strings.HasPrefix(got, want) {
		t.Errorf("frames %s, want %s … response.completed", got, want)
	}
}

// Beyond the queue requests are refused, behind those in it; beyond that the socket is closed.
func TestServe_RequestsBeyondTheQueueAreRefusedInTheirTurn(t *testing.T) {
	begun, release := make(chan struct{}), make(chan struct{})
	s := newServer(t, midway(begun, release), answers("r2", "Hello"))
	conn := s.dial()
	say(t, conn, create)
	<-begun
	for range 18 {
		say(t, conn, create)
	}
	say(t, conn, `{"type":"response.steer"}`)
	for hear(t, conn).Type != "response.steer.failed" {
	}
	close(release)
	completed, refused := 0, 0
	for completed+refused < 19 {
		_, last := hearAll(t, conn)
		switch {
		case last.Type == "response.completed" && refused == 0:
			completed++
		case last.Type == "error" && last.Status == 429 && completed == 17:
			refused++
		default:
			t.Fatalf("after %d answers and %d refusals: %+v; want 17 answers, then two refusals with 429", completed, refused, last)
		}
	}

	begun, release = make(chan struct{}), make(chan struct{})
	defer close(release)
	flooded := newServer(t, midway(begun, release)).dial()
	say(t, flooded, create)
	<-begun
	for range 40 {
		_ = flooded.Write(t.Context(), websocket.MessageText, []byte(create)) // may fail once it is closed
	}
	var err error
	for err == nil {
		_, _, err = flooded.Read(t.Context())
	}
	if websocket.CloseStatus(err) != websocket.StatusPolicyViolation {
		t.Errorf("40 requests during an answer: %v, want the close code 1008", err)
	}
}

// A lane of null counts as no lane.
func TestServe_LaneOfNullIsNone(t *testing.T) {
	s := newServer(t, answers("r1", "Hello"))
	conn := s.dial()
	say(t, conn, strings.Replace(create, "{", `{"stream_id":null,`, 1))
	if _, last := hearAll(t, conn); last.Type != "response.completed" {
		t.Errorf("frame %+v, want an answer", last)
	}
	body, _ := s.body(0)
	var sent map[string]any
	if err := json.Unmarshal([]byte(body), &sent); err != nil || sent["stream_id"] != nil || strings.Contains(body, "stream_id") {
		t.Errorf("the POST is %s, %v; want it without stream_id", body, err)
	}
}
