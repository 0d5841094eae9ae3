package sdk_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"
	claude "github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/ollama/ollama/api"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/azure"
	gpt "github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"google.golang.org/genai"
)

// endpoint is a base URL and a client, as a program configures its SDK.
type endpoint struct {
	url    string       // without /v1
	client *http.Client // nil: the SDK's own
	agent  string       // the User-Agent; "": the SDK's own
	base   string       // of OpenAI's API below the url; "": /v1
	azure  bool         // the SDK is configured for Azure
}

// answer is the outcome of a call.
type answer struct {
	ID, Model, Text string
	Stop            string // why the answer ended; "": it does not report an end
	Created         int64
	In, Out         int64 // tokens
}

// call is one call of an SDK.
type call struct {
	name     string
	streams  bool
	ask      func(context.Context, endpoint) (answer, error)
	again    bool   // its SDK sends a request again by itself
	swallows bool   // its SDK takes a connection that breaks for the end of an answer
	busy     string // what its API calls a fault that passes; "": it has no names
}

var (
	messagesNew          = call{name: "Messages.New", ask: newMessage, again: true, busy: "overloaded_error"}
	messagesNewStreaming = call{name: "Messages.NewStreaming", streams: true, ask: streamMessage, again: true, busy: "overloaded_error"}
	chatNew              = call{name: "Chat.Completions.New", ask: newCompletion, again: true, busy: "server_error"}
	chatNewStreaming     = call{name: "Chat.Completions.NewStreaming", streams: true, ask: streamCompletion, again: true, busy: "server_error"}

	azureNew          = call{name: "Azure/Chat.Completions.New", ask: onAzure(newCompletion), again: true, busy: "server_error"}
	azureNewStreaming = call{name: "Azure/Chat.Completions.NewStreaming", streams: true, ask: onAzure(streamCompletion), again: true, busy: "server_error"}

	calls = []call{
		messagesNew, messagesNewStreaming, chatNew, chatNewStreaming, azureNew, azureNewStreaming, responsesNew, responsesNewStreaming,
		generateContent, generateContentStream, generateArray, studioChat, studioChatStreaming, studioOld, studioOldStreaming, ollamaChat, ollamaChatStreaming, ollamaGenerate, ollamaGenerateStreaming,
	}
	streams   = callsThat(func(c call) bool { return c.streams })
	wholes    = callsThat(func(c call) bool { return !c.streams })
	stainless = callsThat(func(c call) bool { return c.again })
)

func callsThat(are func(call) bool) (some []call) {
	for _, c := range calls {
		if are(c) {
			some = append(some, c)
		}
	}
	return some
}

func (s endpoint) anthropic() anthropic.Client {
	options := []claude.RequestOption{claude.WithBaseURL(s.url), claude.WithAPIKey("test")}
	if s.client != nil {
		options = append(options, claude.WithHTTPClient(s.client))
	}
	if s.agent != "" {
		options = append(options, claude.WithHeader("User-Agent", s.agent))
	}
	return anthropic.NewClient(options...)
}

func (s endpoint) openai() openai.Client {
	options := []gpt.RequestOption{gpt.WithBaseURL(s.url + cmp.Or(s.base, "/v1")), gpt.WithAPIKey("test")}
	if s.azure {
		// it refuses plain HTTP, except on sockets of this machine if a flag says so; in memory https is the same
		const version = "2024-10-21"
		options = []gpt.RequestOption{azure.WithEndpoint(strings.Replace(s.url, "http:", "https:", 1), version), azure.WithAPIKey("test")}
		if strings.Contains(s.url, "127.0.0.1") {
			options = []gpt.RequestOption{azure.WithEndpoint(s.url, version), azure.WithUnsafeAllowHTTP(), azure.WithAPIKey("test")}
		}
	}
	if s.client != nil {
		options = append(options, gpt.WithHTTPClient(s.client))
	}
	if s.agent != "" {
		options = append(options, gpt.WithHeader("User-Agent", s.agent))
	}
	return openai.NewClient(options...)
}

func message() anthropic.MessageNewParams {
	hi := anthropic.NewUserMessage(anthropic.NewTextBlock("Hi"))
	return anthropic.MessageNewParams{Model: "claude-sonnet", MaxTokens: 64, Messages: []anthropic.MessageParam{hi}}
}

func newMessage(ctx context.Context, s endpoint) (answer, error) {
	client := s.anthropic()
	m, err := client.Messages.New(ctx, message())
	if err != nil {
		return answer{}, err
	}
	return ofMessage(*m), nil
}

func streamMessage(ctx context.Context, s endpoint) (answer, error) {
	client := s.anthropic()
	stream := client.Messages.NewStreaming(ctx, message())
	defer stream.Close()
	var m anthropic.Message
	for stream.Next() {
		if err := m.Accumulate(stream.Current()); err != nil {
			return ofMessage(m), err
		}
	}
	return ofMessage(m), stream.Err()
}

func ofMessage(m anthropic.Message) answer {
	a := answer{ID: m.ID, Model: m.Model, Stop: string(m.StopReason), In: m.Usage.InputTokens, Out: m.Usage.OutputTokens}
	for _, block := range m.Content {
		a.Text += block.Text
	}
	return a
}

func completion() openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model:    "gpt-5",
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Hi")},
	}
}

// onAzure makes a call of the SDK as it is configured for Azure: the deployment is in the path.
func onAzure(ask func(context.Context, endpoint) (answer, error)) func(context.Context, endpoint) (answer, error) {
	return func(ctx context.Context, s endpoint) (answer, error) {
		s.azure = true
		return ask(ctx, s)
	}
}

func newCompletion(ctx context.Context, s endpoint) (answer, error) {
	client := s.openai()
	c, err := client.Chat.Completions.New(ctx, completion())
	if err != nil {
		return answer{}, err
	}
	return ofCompletion(*c), nil
}

var errChunk = errors.New("the accumulator refuses a chunk")

func streamCompletion(ctx context.Context, s endpoint) (answer, error) {
	client, params := s.openai(), completion()
	params.StreamOptions.IncludeUsage = openai.Bool(true)
	stream := client.Chat.Completions.NewStreaming(ctx, params)
	defer stream.Close()
	var c openai.ChatCompletionAccumulator
	for stream.Next() {
		if !c.AddChunk(stream.Current()) {
			return ofCompletion(c.ChatCompletion), errChunk
		}
	}
	return ofCompletion(c.ChatCompletion), stream.Err()
}

func ofCompletion(c openai.ChatCompletion) answer {
	a := answer{ID: c.ID, Model: c.Model, Created: c.Created, In: c.Usage.PromptTokens, Out: c.Usage.CompletionTokens}
	for _, choice := range c.Choices {
		a.Text += choice.Message.Content
		a.Stop += choice.FinishReason
	}
	return a
}

// reason is an error in its SDK's own form.
type reason struct {
	Status int // of the response; 0: the SDK does not tell
	Body   string
	header http.Header
}

// reasonOf reads an SDK's own error; the zero reason: it is not one.
func reasonOf(err error) reason {
	if e, ok := errors.AsType[*anthropic.Error](err); ok {
		return reason{e.StatusCode, e.RawJSON(), e.Response.Header}
	}
	if e, ok := errors.AsType[*openai.Error](err); ok {
		return reason{e.StatusCode, e.RawJSON(), e.Response.Header}
	}
	if e, ok := errors.AsType[*ssestream.StreamError](err); ok {
		return reason{Body: string(e.Event.Data)}
	}
	if e, ok := errors.AsType[genai.APIError](err); ok {
		return reason{Status: e.Code, Body: fmt.Sprintf("%q: %s", e.Status, e.Message)}
	}
	if e, ok := errors.AsType[api.StatusError](err); ok {
		return reason{Status: e.StatusCode, Body: e.ErrorMessage}
	}
	if e, ok := errors.AsType[api.AuthorizationError](err); ok {
		return reason{Status: e.StatusCode, Body: e.Status}
	}
	if e, ok := errors.AsType[*plainError](err); ok {
		return reason{Status: e.status, Body: e.body}
	}
	if reflect.TypeOf(err) == reflect.TypeOf(errors.New("")) {
		return reason{Body: err.Error()} // Ollama's client has no type for an error inside a stream
	}
	return reason{}
}
