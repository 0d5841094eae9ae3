package api_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/api/anthropic"
	"github.com/ridethrough/ridethrough/internal/api/bedrock"
	"github.com/ridethrough/ridethrough/internal/api/registry"
)

func TestBedrock_Request(t *testing.T) {
	const arn = "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-4-5-20250929-v1:0"
	tests := []struct {
		url   string
		want  *api.API
		model string
		form  api.Form
	}{
		{"/model/anthropic.claude-3-haiku-20240307-v1%3A0/invoke", bedrock.Invoke(), "anthropic.claude-3-haiku-20240307-v1:0", api.JSON},
		{"/model/us.amazon.nova-pro-v1:0/invoke-with-response-stream", bedrock.Invoke(), "us.amazon.nova-pro-v1:0", api.AWSEvents},
		{"/model/" + url.PathEscape(arn) + "/converse", bedrock.Converse(), arn, api.JSON},
		{"/second/model/" + arn + "/converse-stream", bedrock.Converse(), arn, api.AWSEvents},
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
		d := registry.Of(http.MethodPost, u.Path)
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

func TestBedrock_AnswerForm(t *testing.T) {
	u := &url.URL{Path: "/model/m/converse-stream"}
	tests := []struct {
		contentType, begin string
		want               api.Form
	}{
		{"application/vnd.amazon.eventstream", "", api.AWSEvents},
		{"", string(AWSEvent("messageStart", `{}`)), api.AWSEvents},
		{"application/json", `{"message":"no"}`, api.JSON},
		{"text/html", `<html>`, api.JSON},
	}
	for _, tt := range tests {
		if got := bedrock.Converse().AnswerForm(u, tt.contentType, []byte(tt.begin)); got != tt.want {
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
		{AWSMessage("", ":error-code", "ThrottlingException", ":error-message", "Rate exceeded", ":message-type", "error"), fault.RateLimited, "Rate exceeded"},
	}
	for _, tt := range tests {
		if kind := bedrock.Invoke().FrameKind(api.AWSEvents, tt.frame); kind != api.Failure {
			t.Errorf("%q has the kind %d, want a failure", tt.frame, kind)
		}
		text := bedrock.Invoke().ErrorText(api.AWSEvents, tt.frame)
		if f := (classify.Classifier{}).FromEvent(text, time.Now()); f.Kind != tt.want || f.Message != tt.text {
			t.Errorf("%s is %v with %q, want %v with %q", text, f.Kind, f.Message, tt.want, tt.text)
		}
	}
}

func TestBedrock_ErrorHeader(t *testing.T) {
	h := http.Header{}
	d := bedrock.Converse()
	d.SetErrorHeader(h, d.ErrorBody(&fault.Error{Kind: fault.RateLimited}, "no"))
	if got := h.Get("x-amzn-errortype"); got != "ThrottlingException" {
		t.Errorf("the header of a limit is %q, want ThrottlingException", got)
	}
	anthropic.Messages().SetErrorHeader(h, []byte(`{"__type":"other"}`))
	if h.Get("x-amzn-errortype") != "ThrottlingException" || len(h) != 1 {
		t.Errorf("an error of Anthropic's sets headers: %v", h)
	}
}
