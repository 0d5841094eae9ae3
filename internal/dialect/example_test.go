package dialect_test

import (
	"fmt"
	"net/url"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/dialect"
)

// A stream is cut into frames, and each frame has a kind: the
// answer is committed from its first content on.
func ExampleDialect_FrameKind() {
	stream := []byte("event: message_start\ndata: {\"type\":\"message_start\"}\n\n" +
		"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"Hi\"}}\n\n" +
		"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")
	d := dialect.Of("POST", "/v1/messages")
	for n := dialect.Events.FrameLen(stream, 0); n > 0; n = dialect.Events.FrameLen(stream, 0) {
		switch d.FrameKind(dialect.Events, stream[:n]) {
		case dialect.Opening:
			fmt.Println("nothing yet")
		case dialect.Content, dialect.Finish:
			fmt.Println("content")
		case dialect.Failure:
			fmt.Println("an error")
		case dialect.End, dialect.Last:
			fmt.Println("the end")
		}
		stream = stream[n:]
	}
	// Output:
	// nothing yet
	// content
	// the end
}

// The prompt is skipped, not parsed.
func ExampleDialect_Read() {
	r := dialect.OpenAIChat().Read(&url.URL{}, []byte(`{"messages":[{"role":"user","content":"\"stream\": false"}],"model":"gpt-5","stream":true}`))
	fmt.Println(r.Model, r.Form == dialect.Events)
	// Output: gpt-5 true
}

// A request for an answer is recognized by its path, whatever prefix a relay adds.
func ExampleOf() {
	for _, path := range []string{"/v1/messages", "/relay/v1beta/models/gemini-2.5-pro:generateContent", "/api/chat", "/v1/files"} {
		if d := dialect.Of("POST", path); d != nil {
			fmt.Println(d.Name())
		} else {
			fmt.Println("asks for no answer")
		}
	}
	// Output:
	// anthropic
	// gemini
	// ollama
	// asks for no answer
}

func ExampleSafe() {
	fmt.Println(dialect.Safe("POST", "/v1/messages/count_tokens"), dialect.Safe("POST", "/v1/files"))
	// Output: true false
}

// An answer may come in another form than its content type says.
func ExampleDialect_AnswerForm() {
	u, _ := url.Parse("/v1/chat/completions")
	form := dialect.OpenAIChat().AnswerForm(u, "application/json", []byte("data: {"))
	fmt.Println(form.ContentType())
	// Output: text/event-stream; charset=utf-8
}

// Without alt=sse, Gemini streams the elements of one array.
func ExampleForm_FrameLen() {
	stream := []byte(`[{"candidates":[{"content":{"parts":[{"text":"Hi"}]}}]},{"candidates":[{"finishReason":"STOP"}]}]`)
	for n := dialect.Array.FrameLen(stream, 0); n > 0; n = dialect.Array.FrameLen(stream, 0) {
		fmt.Printf("%s\n", stream[:n])
		stream = stream[n:]
	}
	// Output:
	// [{"candidates":[{"content":{"parts":[{"text":"Hi"}]}}]}
	// ,{"candidates":[{"finishReason":"STOP"}]}
	// ]
}

// A line that breaks off may be half of a word.
func ExampleDialect_EndsAnswer() {
	fmt.Println(dialect.Ollama().EndsAnswer(dialect.Lines, []byte(`{"model":"m","done":true}`)))
	fmt.Println(dialect.Ollama().EndsAnswer(dialect.Lines, []byte(`{"model":"m","response":"forty-t`)))
	// Output:
	// true
	// false
}

// The same wait, in the words of three APIs.
func ExampleDialect_Ping() {
	const state = "ridethrough retry 3 in 52s overloaded"
	fmt.Printf("%q\n", dialect.Anthropic().Ping(dialect.Events, state))
	fmt.Printf("%q\n", dialect.OpenAIChat().Ping(dialect.Events, state))
	fmt.Printf("%q\n", dialect.Ollama().Ping(dialect.Lines, state))
	// Output:
	// "event: ping\ndata: {\"type\":\"ping\"}\n\n"
	// ": ridethrough retry 3 in 52s overloaded\n\n"
	// " "
}

func ExampleDialect_Heartbeat() {
	codex := dialect.Client{Originator: "codex_cli_rs"}
	fmt.Printf("%s", dialect.OpenAIResponses().Heartbeat(dialect.Events, codex))
	// Output:
	// event: keepalive
	// data: {"type":"keepalive","sequence_number":0}
}

func ExampleDialect_ErrorEvent() {
	f := &fault.Error{Kind: fault.Overloaded}
	fmt.Printf("%s", dialect.Anthropic().ErrorEvent(dialect.Events, f, "gave up after 8 h", false))
	fmt.Printf("%s", dialect.Gemini().ErrorEvent(dialect.Array, f, "gave up after 8 h", true))
	// Output:
	// event: error
	// data: {"type":"error","error":{"type":"overloaded_error","message":"gave up after 8 h"}}
	//
	// ,
	// {"error":{"code":503,"message":"gave up after 8 h","status":"UNAVAILABLE"}}]
}
