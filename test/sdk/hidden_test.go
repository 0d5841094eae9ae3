package sdk_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/policy"
)

// hiddenErrors are errors that servers write into a stream of status 200 in forms that the SDKs do not read as such.
var hiddenErrors = []struct{ name, frame string }{
	{"vLLM's object", "data: {\"object\":\"error\",\"message\":\"EngineCore encountered an issue\",\"type\":\"InternalServerError\",\"param\":null,\"code\":500}\n\n"},
	{"a detail", "data: {\"detail\":\"Internal Server Error\"}\n\n"},
	{"JSON without a field", "{\"error\":{\"message\":\"The engine is overloaded\",\"type\":\"server_error\",\"code\":503}}\n\n"},
	{"llama.cpp's field", "error: {\"code\":500,\"message\":\"Compute error.\",\"type\":\"server_error\"}\n\n"},
	{"a text", "data: error: the queue is full\n\n"},
	{"a page", "data: <html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>\n\n"},
}

// hiddenWholes are the same in place of an answer that is not streamed.
var hiddenWholes = []string{
	`{"object":"error","message":"EngineCore encountered an issue","type":"InternalServerError","param":null,"code":500}`,
	`{"detail":"Internal Server Error"}`,
	`error: the queue is full`,
}

// answers returns a fixture whose provider answers everything with these bytes.
func answers(t *testing.T, kind, body string) *fixture {
	w := newFixture(t, simulator.Script{})
	w.base = roundTripper(func(req *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(strings.NewReader(body)), Request: req}, nil
	})
	return w
}

func TestGateway_HiddenErrorIsOneToTheSDK(t *testing.T) {
	for _, tt := range []struct {
		call
		begin string // of its stream, up to some text
	}{
		{chatNewStreaming, "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1790000000,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Hi\"},\"finish_reason\":null}]}\n\n"},
		{responsesNewStreaming, "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"sequence_number\":1,\"item_id\":\"i\",\"output_index\":0,\"content_index\":0,\"delta\":\"Hi\"}\n\n"},
		{messagesNewStreaming, "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[],\"model\":\"m\",\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n" +
			"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n" +
			"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hi\"}}\n\n"},
		{generateContentStream, "data: {\"candidates\": [{\"content\": {\"role\": \"model\",\"parts\": [{\"text\": \"Hi\"}]}}]}\r\n\r\n"},
	} {
		for _, e := range hiddenErrors {
			for at, begin := range map[string]string{"first": "", "after a text": tt.begin} {
				for end, last := range map[string]string{"": "", ", and a terminator": "data: [DONE]\n\n"} {
					t.Run(tt.name+"/"+e.name+"/"+at+end, func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) {
							w := answers(t, "text/event-stream", begin+e.frame+last)
							got, err := tt.ask(t.Context(), w.gateway(policy.Simple()))
							if err == nil || got.Stop != "" || begin == "" && got.Text != "" {
								t.Errorf("answer %+v, error %v; the SDK was sent %q, want an error", got, err, w.raw.String())
							}
						})
					})
				}
			}
		}
	}
}

func TestGateway_HiddenErrorOfAWholeAnswerIsOneToTheSDK(t *testing.T) {
	for _, c := range []call{chatNew, responsesNew, messagesNew, generateContent} {
		for _, body := range hiddenWholes {
			t.Run(c.name+"/"+body[:9], func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := answers(t, "application/json", body)
					if got, err := c.ask(t.Context(), w.gateway(policy.Simple())); err == nil || got != (answer{}) {
						t.Errorf("answer %+v, error %v; the SDK was sent %q, want an error", got, err, w.raw.String())
					}
				})
			})
		}
	}
}
