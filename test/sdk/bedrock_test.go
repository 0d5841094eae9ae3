package sdk_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/bedrock"
	claude "github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/auth/bearer"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/transport"
)

const (
	bedrockModel = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
	bedrockBody  = `{"anthropic_version":"bedrock-2023-05-31","max_tokens":64,"messages":[{"role":"user","content":"Hi"}]}`
	bedrockSaid  = "The provider is well again, and this is all that it has to say."
)

// bedrockCall is a call of the AWS SDK, or of Anthropic's for Bedrock. It returns the text and the end of an answer
// as far as they have come.
type bedrockCall struct {
	name    string
	streams bool
	ask     func(context.Context, endpoint) (text, stop string, err error)
}

// passes reports whether the SDK's requests can be sent again on a way. Those of the AWS SDK have no GetBody, and
// package transport sends them once.
func (c bedrockCall) passes(way string) bool {
	return way == "gateway" || strings.HasPrefix(c.name, "anthropic ")
}

var bedrockCalls = []bedrockCall{
	{"Converse", false, converse},
	{"ConverseStream", true, converseStream},
	{"InvokeModel", false, invokeModel},
	{"InvokeModelWithResponseStream", true, invokeModelStream},
	{"anthropic Messages.New", false, bedrockMessage},
	{"anthropic Messages.NewStreaming", true, bedrockMessageStream},
}

// bedrock returns a client with an API key, which the SDK sends over https only.
func (s endpoint) bedrock() *bedrockruntime.Client {
	return bedrockruntime.New(bedrockruntime.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(strings.Replace(s.url, "http:", "https:", 1)),
		HTTPClient: s.client, AuthSchemePreference: []string{"httpBearerAuth"},
		BearerAuthTokenProvider: bearer.StaticTokenProvider{Token: bearer.Token{Value: "key"}},
	})
}

func bedrockMessages() []types.Message {
	return []types.Message{{Role: types.ConversationRoleUser, Content: []types.ContentBlock{&types.ContentBlockMemberText{Value: "Hi"}}}}
}

func converse(ctx context.Context, s endpoint) (text, stop string, err error) {
	out, err := s.bedrock().Converse(ctx, &bedrockruntime.ConverseInput{ModelId: aws.String(bedrockModel), Messages: bedrockMessages()})
	if err != nil {
		return "", "", err
	}
	m, ok := out.Output.(*types.ConverseOutputMemberMessage)
	if !ok {
		return "", "", fmt.Errorf("an answer with the output %v", out.Output)
	}
	for _, b := range m.Value.Content {
		if t, ok := b.(*types.ContentBlockMemberText); ok {
			text += t.Value
		}
	}
	return text, string(out.StopReason), nil
}

func converseStream(ctx context.Context, s endpoint) (text, stop string, err error) {
	out, err := s.bedrock().ConverseStream(ctx, &bedrockruntime.ConverseStreamInput{ModelId: aws.String(bedrockModel), Messages: bedrockMessages()})
	if err != nil {
		return "", "", err
	}
	stream := out.GetStream()
	defer stream.Close()
	for event := range stream.Events() {
		switch e := event.(type) {
		case *types.ConverseStreamOutputMemberContentBlockDelta:
			if t, ok := e.Value.Delta.(*types.ContentBlockDeltaMemberText); ok {
				text += t.Value
			}
		case *types.ConverseStreamOutputMemberMessageStop:
			stop = string(e.Value.StopReason)
		}
	}
	return text, stop, stream.Err()
}

func invokeModel(ctx context.Context, s endpoint) (text, stop string, err error) {
	out, err := s.bedrock().InvokeModel(ctx, &bedrockruntime.InvokeModelInput{ModelId: aws.String(bedrockModel), Body: []byte(bedrockBody)})
	if err != nil {
		return "", "", err
	}
	var m struct {
		Content []struct{ Text string }
		Stop    string `json:"stop_reason"`
	}
	if err := json.Unmarshal(out.Body, &m); err != nil {
		return "", "", err
	}
	return m.Content[0].Text, m.Stop, nil
}

func invokeModelStream(ctx context.Context, s endpoint) (text, stop string, err error) {
	out, err := s.bedrock().InvokeModelWithResponseStream(ctx, &bedrockruntime.InvokeModelWithResponseStreamInput{ModelId: aws.String(bedrockModel), Body: []byte(bedrockBody)})
	if err != nil {
		return "", "", err
	}
	stream := out.GetStream()
	defer stream.Close()
	for event := range stream.Events() {
		chunk, ok := event.(*types.ResponseStreamMemberChunk)
		if !ok {
			continue
		}
		var m struct {
			Delta struct {
				Text string
				Stop string `json:"stop_reason"`
			}
		}
		if err := json.Unmarshal(chunk.Value.Bytes, &m); err != nil {
			return text, stop, fmt.Errorf("chunk %q: %w", chunk.Value.Bytes, err)
		}
		text, stop = text+m.Delta.Text, stop+m.Delta.Stop
	}
	return text, stop, stream.Err()
}

func (s endpoint) anthropicBedrock() anthropic.Client {
	config := aws.Config{Region: "us-east-1", BearerAuthTokenProvider: bearer.StaticTokenProvider{Token: bearer.Token{Value: "key"}}}
	return anthropic.NewClient(bedrock.WithConfig(config), claude.WithBaseURL(s.url), claude.WithHTTPClient(s.client))
}

func bedrockParams() anthropic.MessageNewParams {
	p := message()
	p.Model = bedrockModel
	return p
}

func bedrockMessage(ctx context.Context, s endpoint) (text, stop string, err error) {
	client := s.anthropicBedrock()
	m, err := client.Messages.New(ctx, bedrockParams())
	if err != nil {
		return "", "", err
	}
	return m.Content[0].Text, string(m.StopReason), nil
}

func bedrockMessageStream(ctx context.Context, s endpoint) (text, stop string, err error) {
	client := s.anthropicBedrock()
	stream := client.Messages.NewStreaming(ctx, bedrockParams())
	defer stream.Close()
	for stream.Next() {
		event := stream.Current()
		text, stop = text+event.Delta.Text, stop+string(event.Delta.StopReason)
	}
	return text, stop, stream.Err()
}

func TestBedrock_FaultBeforeContentIsHidden(t *testing.T) {
	for _, way := range ways {
		for _, c := range bedrockCalls {
			for _, tt := range faults {
				if !c.passes(way.name) {
					continue
				}
				t.Run(way.name+"/"+c.name+"/"+tt.replies, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						w := newFixture(t, script(t, tt.replies))
						text, stop, err := c.ask(t.Context(), way.to(w, policy.Patient()))
						if err != nil || text != bedrockSaid || stop != "end_turn" {
							t.Errorf("text %q, end %q, error %v", text, stop, err)
						}
						w.check(tt.tries, tt.took)
					})
				})
			}
		}
	}
}

// The keepalives of a quarter of an hour are events that these SDKs skip or that a program does not know.
func TestBedrock_HeldThroughAnOutage(t *testing.T) {
	for _, c := range bedrockCalls {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newFixture(t, outage(15*time.Minute))
				text, stop, err := c.ask(t.Context(), w.gateway(policy.Patient()))
				if err != nil || text != bedrockSaid || stop != "end_turn" || w.asked.Load() > 2 {
					t.Errorf("%d requests: text %q, end %q, error %v", w.asked.Load(), text, stop, err)
				}
				if n := strings.Count(w.raw.String(), "keepalive"); c.streams && n < 90 {
					t.Errorf("%d keepalives in %v", n, w.took())
				}
			})
		})
	}
}

// What breaks off behind content is an error in every SDK, and the exception that it is named by AWS.
func TestBedrock_StreamBrokenAfterContentIsAnError(t *testing.T) {
	for _, way := range ways {
		for _, c := range bedrockCalls {
			for _, cut := range []string{"cut:3", "cut:3:clean"} {
				if !c.streams || !c.passes(way.name) {
					continue
				}
				t.Run(way.name+"/"+c.name+"/"+cut, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						w := newFixture(t, script(t, cut))
						text, stop, err := c.ask(t.Context(), way.to(w, policy.Patient()))
						if err == nil || text != "The provider is " || stop != "" {
							t.Errorf("text %q, end %q, error %v; want three words and an error", text, stop, err)
						}
						if way.name == "gateway" && !strings.Contains(strings.ToLower(fmt.Sprint(err)), "modelstreamerrorexception") {
							t.Errorf("error %v, want modelStreamErrorException", err)
						}
						w.check(1, 0)
					})
				})
			}
		}
	}
}

// The AWS SDK takes the end of a body between two messages for that of the answer. Its requests have no GetBody, and
// package transport, which sends them once, says that they broke off.
func TestBedrock_TransportNamesABreak(t *testing.T) {
	for _, c := range bedrockCalls {
		for _, reply := range []string{"cut:3", "cut:3:clean", "ok"} {
			if !c.streams || c.passes("transport") {
				continue
			}
			provider := simulator.New(script(t, reply))
			defer provider.Close()
			server := httptest.NewTLSServer(provider)
			defer server.Close()
			client := server.Client()
			client.Transport = &transport.Transport{Base: client.Transport, Retry: retry.Retrier{Policy: policy.Patient()}}
			text, stop, err := c.ask(t.Context(), endpoint{url: server.URL, client: client})
			wants, broke := "The provider is ", reply != "ok"
			if !broke {
				wants = bedrockSaid
			}
			if text != wants || (stop == "") != broke || strings.Contains(fmt.Sprint(err), "the answer broke off") != broke {
				t.Errorf("%s, %s: got %q, end %q, error %v; want %q, broken off: %v", c.name, reply, text, stop, err, wants, broke)
			}
		}
	}
}

// A final error has the type by which the AWS SDK knows it.
func TestBedrock_ErrorsAreTyped(t *testing.T) {
	for _, tt := range []struct{ replies, code string }{
		{"503*9", "ServiceUnavailableException"},
		{"429*9", "ThrottlingException"},
		{"too-long*9", "ValidationException"},
		{"reset*9", "ServiceUnavailableException"},
	} {
		t.Run(tt.replies, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newFixture(t, script(t, tt.replies))
				_, _, err := converse(t.Context(), w.gateway(policy.Policy{Retries: 1}))
				api, ok := errors.AsType[smithy.APIError](err)
				if !ok || api.ErrorCode() != tt.code {
					t.Errorf("error %v, want the code %s", err, tt.code)
				}
			})
		})
	}
}
