package api_test

import (
	"fmt"
	"net/url"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/api/anthropic"
	"github.com/ridethrough/ridethrough/internal/api/gemini"
	"github.com/ridethrough/ridethrough/internal/api/ollama"
	"github.com/ridethrough/ridethrough/internal/api/openai"
	"github.com/ridethrough/ridethrough/internal/api/registry"
)

// A stream is cut into frames, and each frame has a kind: the
// answer is committed from its first content on.
func ExampleAPI_FrameKind() {
	stream := []byte("event: message_start\ndata: {\"type\":\"message_start\"}\n\n" +
		"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"Hi\"}}\n\n" +
		"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")
	d := registry.Of("POST", "/v1/messages")
	for n := api.Events.FrameLen(stream, 0); n > 0; n = api.Events.FrameLen(stream, 0) {
		switch d.FrameKind(api.Events, stream[:n]) {
		case api.Opening:
			fmt.Println("nothing yet")
		case api.Content, api.Finish:
			fmt.Println("content")
		case api.Failure:
			fmt.Println("an error")
		case api.End, api.Last:
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
func ExampleAPI_Read() {
	r := openai.Chat().Read(&url.URL{}, []byte(`{"messages":[{"role":"user","content":"\"stream\": false"}],"model":"gpt-5","stream":true}`))
	fmt.Println(r.Model, r.Form == api.Events)
	// Output: gpt-5 true
}

// A request for an answer is recognized by its path, whatever prefix a relay adds.
func ExampleOf() {
	for _, path := range []string{"/v1/messages", "/relay/v1beta/models/gemini-2.5-pro:generateContent", "/api/chat", "/v1/files"} {
		if d := registry.Of("POST", path); d != nil {
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
	fmt.Println(api.Safe("POST", "/v1/messages/count_tokens"), api.Safe("POST", "/v1/files"))
	// Output: true false
}

// An answer may come in another form than its content type says.
func ExampleAPI_AnswerForm() {
	u, _ := url.Parse("/v1/chat/completions")
	form := openai.Chat().AnswerForm(u, "application/json", []byte("data: {"))
	fmt.Println(form.ContentType())
	// Output: text/event-stream; charset=utf-8
}

// Without alt=sse, Gemini streams the elements of one array.
func ExampleForm_FrameLen() {
	stream := []byte(`[{"candidates":[{"content":{"parts":[{"text":"Hi"}]}}]},{"candidates":[{"finishReason":"STOP"}]}]`)
	for n := api.Array.FrameLen(stream, 0); n > 0; n = api.Array.FrameLen(stream, 0) {
		fmt.Printf("%s\n", stream[:n])
		stream = stream[n:]
	}
	// Output:
	// [{"candidates":[{"content":{"parts":[{"text":"Hi"}]}}]}
	// ,{"candidates":[{"finishReason":"STOP"}]}
	// ]
}

// A line that breaks off may be half of a word.
func ExampleAPI_EndsAnswer() {
	fmt.Println(ollama.API().EndsAnswer(api.Lines, []byte(`{"model":"m","done":true}`)))
	fmt.Println(ollama.API().EndsAnswer(api.Lines, []byte(`{"model":"m","response":"forty-t`)))
	// Output:
	// true
	// false
}

// The same wait, in the words of three APIs.
func ExampleAPI_Ping() {
	const state = "ridethrough retry 3 in 52s overloaded"
	fmt.Printf("%q\n", anthropic.Messages().Ping(api.Events, api.Client{}, state))
	fmt.Printf("%q\n", openai.Chat().Ping(api.Events, api.Client{}, state))
	fmt.Printf("%q\n", ollama.API().Ping(api.Lines, api.Client{}, state))
	// Output:
	// "event: ping\ndata: {\"type\":\"ping\"}\n\n"
	// ": ridethrough retry 3 in 52s overloaded\n\n"
	// " "
}

func ExampleAPI_Heartbeat() {
	codex := api.Client{Originator: "codex_cli_rs"}
	fmt.Printf("%s", openai.Responses().Heartbeat(api.Events, codex))
	// Output:
	// event: keepalive
	// data: {"type":"keepalive","sequence_number":0}
}

func ExampleAPI_ErrorEvent() {
	f := &fault.Error{Kind: fault.Overloaded}
	fmt.Printf("%s", anthropic.Messages().ErrorEvent(api.Events, f, "gave up after 8 h", false))
	fmt.Printf("%s", gemini.API().ErrorEvent(api.Array, f, "gave up after 8 h", true))
	// Output:
	// event: error
	// data: {"type":"error","error":{"type":"overloaded_error","message":"gave up after 8 h"}}
	//
	// ,
	// {"error":{"code":503,"message":"gave up after 8 h","status":"UNAVAILABLE"}}]
}

// A frame says one thing or several, whichever the API. The text is a view into it.
func ExampleAPI_Decode() {
	for _, row := range []struct{ path, frame string }{
		{"/v1/messages", `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}`},
		{"/v1/chat/completions", `data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}`},
	} {
		parts := registry.Of("POST", row.path).Decode(api.Events, []byte(row.frame))
		for i := range parts.Len() {
			switch part := parts.At(i); part.Kind {
			case api.TextPart:
				fmt.Println("text:", part)
			case api.StopPart:
				fmt.Println("stopped by its own judgement:", part.Why == api.PlainStop)
			}
		}
	}
	// Output:
	// text: Hi
	// text: Hi
	// stopped by its own judgement: true
}
