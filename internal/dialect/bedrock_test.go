package dialect_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/internal/dialect"
)

func TestBedrock_Request(t *testing.T) {
	const arn = "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-4-5-20250929-v1:0"
	tests := []struct {
		url   string
		want  *dialect.Dialect
		model string
		form  dialect.Form
	}{
		{"/model/anthropic.claude-3-haiku-20240307-v1%3A0/invoke", dialect.BedrockInvoke(), "anthropic.claude-3-haiku-20240307-v1:0", dialect.JSON},
		{"/model/us.amazon.nova-pro-v1:0/invoke-with-response-stream", dialect.BedrockInvoke(), "us.amazon.nova-pro-v1:0", dialect.AWSEvents},
		{"/model/" + url.PathEscape(arn) + "/converse", dialect.BedrockConverse(), arn, dialect.JSON},
		{"/second/model/" + arn + "/converse-stream", dialect.BedrockConverse(), arn, dialect.AWSEvents},
		{"/model/m/count-tokens", nil, "", 0},
		{"/model/m/invoke-with-bidirectional-stream", nil, "", 0},
		{"/model//invoke", nil, "", 0},
		{"/models/m/invoke", nil, "", 0},
		{"/model/invoke", nil, "", 0},
	}
	for _, tt := range tests {
		u, err := url.Parse("http://gateway" + tt.url)
		if err != nil {
			t.Fatalf("parse the path: %v", err)
		}
		d := dialect.Of(http.MethodPost, u.Path)
		if d != tt.want {
			t.Errorf("Of(%s) = %v, want %v", tt.url, d, tt.want)
		}
		if d == nil || tt.want == nil {
			continue
		}
		if got := d.Read(u, []byte(`{"stream":true,"model":"other"}`)); got.Model != tt.model || got.Form != tt.form {
			t.Errorf("Read(%s) = %+v, want the model %q and the form %d", tt.url, got, tt.model, tt.form)
		}
	}
}

// A message that AWS documents, of each kind.
func TestBedrockInvoke_FrameKind(t *testing.T) {
	check(t, dialect.BedrockInvoke(), dialect.AWSEvents, []frameRow{
		{string(awsChunk(`{"type":"message_start","message":{"usage":{"input_tokens":25}}}`)), "opening"},
		{string(awsChunk(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)), "opening"},
		{string(awsChunk(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}`)), "content"},
		{string(awsChunk(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}`)), "content"},
		{string(awsChunk(`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}`)), "content"},
		{string(awsChunk(`{"type":"message_stop","amazon-bedrock-invocationMetrics":{"outputTokenCount":1}}`)), "end"},
		{string(awsChunk(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)), "failure"},
		{string(awsChunk(`{"messageStart":{"role":"assistant"}}`)), "opening"},
		{string(awsChunk(`{"contentBlockDelta":{"delta":{"text":"Hi"},"contentBlockIndex":0}}`)), "content"},
		{string(awsChunk(`{"messageStop":{"stopReason":"end_turn"}}`)), "finish"},
		{string(awsChunk(`{"metadata":{"usage":{"outputTokens":2}}}`)), "last"},
		{string(awsChunk(`{"choices":[{"index":0,"delta":{"role":"assistant"},"finish_reason":null}]}`)), "opening"},
		{string(awsChunk(`{"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}`)), "content"},
		{string(awsChunk(`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`)), "finish"},
		{string(awsChunk(`{"generation":"Hi","prompt_token_count":null,"stop_reason":null}`)), "finish"},
		{string(awsEvent("chunk", `{"bytes":"?"}`)), "finish"},
		{string(awsEvent("keepalive", `{}`)), "opening"},
		{string(awsEvent("initial-response", ``)), "opening"},
		{string(awsException("throttlingException", `{"message":"Too many requests"}`)), "failure"},
		{string(awsMessage("", ":error-code", "InternalError", ":error-message", "no", ":message-type", "error")), "failure"},
	})
}

func TestBedrockConverse_FrameKind(t *testing.T) {
	check(t, dialect.BedrockConverse(), dialect.AWSEvents, []frameRow{
		{string(awsEvent("messageStart", `{"p":"abc","role":"assistant"}`)), "opening"},
		{string(awsEvent("contentBlockStart", `{"contentBlockIndex":0,"start":{"toolUse":{"name":"f","toolUseId":"t"}}}`)), "content"},
		{string(awsEvent("contentBlockStart", `{"contentBlockIndex":0,"start":{}}`)), "opening"},
		{string(awsEvent("contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":"Hi"},"p":"abc"}`)), "content"},
		{string(awsEvent("contentBlockStop", `{"contentBlockIndex":0}`)), "opening"},
		{string(awsEvent("messageStop", `{"stopReason":"end_turn"}`)), "finish"},
		{string(awsEvent("metadata", `{"usage":{"inputTokens":1,"outputTokens":2}}`)), "last"},
		{string(awsEvent("keepalive", `{"p":"ridethrough waits"}`)), "opening"},
		{string(awsEvent("initial-response", ``)), "opening"},
		{string(awsEvent("newKindOfEvent", `{}`)), "content"},
		{string(awsException("modelStreamErrorException", `{"message":"An error occurred"}`)), "failure"},
	})
}

func TestBedrock_BodyKind(t *testing.T) {
	tests := []struct {
		d    *dialect.Dialect
		body string
		want dialect.FrameKind
	}{
		{dialect.BedrockInvoke(), `{"id":"m","type":"message","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn"}`, dialect.Content},
		{dialect.BedrockInvoke(), `{"generation":"Hi"}`, dialect.Content},
		{dialect.BedrockInvoke(), `{"choices":[{"message":{"content":"Hi"}}]}`, dialect.Content},
		{dialect.BedrockConverse(), `{"output":{"message":{"role":"assistant","content":[{"text":"Hi"}]}},"stopReason":"end_turn"}`, dialect.Content},
		{dialect.BedrockConverse(), `{"output":{"message":{`, dialect.Opening},
		{dialect.BedrockConverse(), `{"message":"Too many requests"}`, dialect.Failure},
		{dialect.BedrockInvoke(), `{"Message":"User is not authorized"}`, dialect.Failure},
		{dialect.BedrockInvoke(), `{"__type":"com.amazon.coral.service#UnknownOperationException"}`, dialect.Failure},
		{dialect.BedrockConverse(), `<html></html>`, dialect.Failure},
	}
	for _, tt := range tests {
		if got := tt.d.BodyKind([]byte(tt.body)); got != tt.want {
			t.Errorf("%s: BodyKind(%s) = %s, want %s", tt.d.Name(), tt.body, kindNames[got], kindNames[tt.want])
		}
	}
}

func TestBedrock_Output(t *testing.T) {
	tests := []struct {
		d     *dialect.Dialect
		form  dialect.Form
		frame string
		want  dialect.Output
	}{
		{dialect.BedrockInvoke(), dialect.AWSEvents, string(awsChunk(`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":0}}`)), dialect.NoOutput},
		{dialect.BedrockInvoke(), dialect.AWSEvents, string(awsChunk(`{"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"output_tokens":0}}`)), dialect.SomeOutput},
		{dialect.BedrockConverse(), dialect.AWSEvents, string(awsEvent("messageStop", `{"stopReason":"end_turn"}`)), dialect.NoContent},
		{dialect.BedrockConverse(), dialect.AWSEvents, string(awsEvent("messageStop", `{"stopReason":"guardrail_intervened"}`)), dialect.SomeOutput},
		{dialect.BedrockConverse(), dialect.AWSEvents, string(awsEvent("metadata", `{"usage":{"outputTokens":0}}`)), dialect.NoOutput},
		{dialect.BedrockConverse(), dialect.AWSEvents, string(awsEvent("metadata", `{"usage":{"outputTokens":3}}`)), dialect.SomeOutput},
		{dialect.BedrockConverse(), dialect.JSON, `{"output":{"message":{"content":[]}},"stopReason":"end_turn","usage":{"outputTokens":0}}`, dialect.NoOutput},
		{dialect.BedrockConverse(), dialect.JSON, `{"output":{"message":{"content":[{"text":"Hi"}]}},"stopReason":"end_turn","usage":{"outputTokens":0}}`, dialect.SomeOutput},
	}
	for _, tt := range tests {
		if got := tt.d.Output(tt.form, []byte(tt.frame)); got != tt.want {
			t.Errorf("%s: Output(%q) = %d, want %d", tt.d.Name(), tt.frame, got, tt.want)
		}
	}
}

func TestBedrock_AnswerForm(t *testing.T) {
	u := &url.URL{Path: "/model/m/converse-stream"}
	tests := []struct {
		contentType, begin string
		want               dialect.Form
	}{
		{"application/vnd.amazon.eventstream", "", dialect.AWSEvents},
		{"", string(awsEvent("messageStart", `{}`)), dialect.AWSEvents},
		{"application/json", `{"message":"no"}`, dialect.JSON},
		{"text/html", `<html>`, dialect.JSON},
	}
	for _, tt := range tests {
		if got := dialect.BedrockConverse().AnswerForm(u, tt.contentType, []byte(tt.begin)); got != tt.want {
			t.Errorf("AnswerForm(%q, %q) = %d, want %d", tt.contentType, tt.begin, got, tt.want)
		}
	}
}

// What a message of a stream says is named by the classifier as the same error with a status would be.
func TestBedrock_ErrorText(t *testing.T) {
	tests := []struct {
		frame []byte
		want  fault.Kind
		text  string
	}{
		{awsException("throttlingException", `{"message":"Too many tokens, please wait before trying again."}`), fault.RateLimited, "Too many tokens, please wait before trying again."},
		{awsException("modelStreamErrorException", `{"message":"An error occurred","originalStatusCode":500}`), fault.Unavailable, "An error occurred"},
		{awsException("internalServerException", `no JSON`), fault.Unavailable, "no JSON"},
		{awsException("serviceUnavailableException", `{"message":"busy"}`), fault.Overloaded, "busy"},
		{awsException("modelTimeoutException", `{"message":"late"}`), fault.UpstreamTimeout, "late"},
		{awsException("validationException", `{"message":"Input is too long for requested model."}`), fault.TooLong, "Input is too long for requested model."},
		{awsChunk(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), fault.Overloaded, "Overloaded"},
		{awsMessage("", ":error-code", "ThrottlingException", ":error-message", "Rate exceeded", ":message-type", "error"), fault.RateLimited, "Rate exceeded"},
	}
	for _, tt := range tests {
		text := dialect.BedrockInvoke().ErrorText(dialect.AWSEvents, tt.frame)
		if f := (classify.Classifier{}).FromEvent(text, time.Now()); f.Kind != tt.want || f.Message != tt.text {
			t.Errorf("%s is %v with %q, want %v with %q", text, f.Kind, f.Message, tt.want, tt.text)
		}
	}
}

func TestBedrock_ErrorHeader(t *testing.T) {
	h := http.Header{}
	d := dialect.BedrockConverse()
	d.SetErrorHeader(h, d.ErrorBody(&fault.Error{Kind: fault.RateLimited}, "no"))
	if got := h.Get("x-amzn-errortype"); got != "ThrottlingException" {
		t.Errorf("the header of a limit is %q, want ThrottlingException", got)
	}
	dialect.Anthropic().SetErrorHeader(h, []byte(`{"__type":"other"}`))
	if h.Get("x-amzn-errortype") != "ThrottlingException" || len(h) != 1 {
		t.Errorf("an error of Anthropic's sets headers: %v", h)
	}
}
