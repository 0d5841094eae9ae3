package dialect_test

import (
	"fmt"
	"net/url"

	"github.com/ridethrough/ridethrough/dialect"
)

// A stream is cut into frames, and each frame read for what it means: the
// first content is where trying again ends.
func ExampleDialect_Sign() {
	stream := []byte("event: message_start\ndata: {\"type\":\"message_start\"}\n\n" +
		"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"Hi\"}}\n\n" +
		"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")
	d := dialect.Of("POST", "/v1/messages")
	for n := dialect.Events.Cut(stream, 0); n > 0; n = dialect.Events.Cut(stream, 0) {
		switch d.Sign(dialect.Events, stream[:n]) {
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
