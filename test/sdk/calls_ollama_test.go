package sdk_test

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/ollama/ollama/api"
)

var (
	ollamaChat              = call{name: "ollama.Chat", ask: chat(false), swallows: true}
	ollamaChatStreaming     = call{name: "ollama.Chat stream", streams: true, ask: chat(true), swallows: true}
	ollamaGenerate          = call{name: "ollama.Generate", ask: generate(false), swallows: true}
	ollamaGenerateStreaming = call{name: "ollama.Generate stream", streams: true, ask: generate(true), swallows: true}
)

func (s endpoint) ollama() (*api.Client, error) {
	u, err := url.Parse(s.url)
	if err != nil {
		return nil, err
	}
	if s.client == nil {
		return api.NewClient(u, http.DefaultClient), nil
	}
	return api.NewClient(u, s.client), nil
}

// streaming is the member that a request has if it is to be answered at once.
func streaming(stream bool) *bool {
	if stream {
		return nil
	}
	return new(bool)
}

func chat(stream bool) func(context.Context, endpoint) (answer, error) {
	return func(ctx context.Context, s endpoint) (a answer, err error) {
		client, err := s.ollama()
		if err != nil {
			return a, err
		}
		hi := []api.Message{{Role: "user", Content: "Hi"}}
		err = client.Chat(ctx, &api.ChatRequest{Model: "llama", Messages: hi, Stream: streaming(stream)}, func(r api.ChatResponse) error {
			a = ofLine(a, r.Model, r.CreatedAt, r.Message.Content, r.DoneReason, r.Metrics)
			return nil
		})
		return a, err
	}
}

func generate(stream bool) func(context.Context, endpoint) (answer, error) {
	return func(ctx context.Context, s endpoint) (a answer, err error) {
		client, err := s.ollama()
		if err != nil {
			return a, err
		}
		err = client.Generate(ctx, &api.GenerateRequest{Model: "llama", Prompt: "Hi", Stream: streaming(stream)}, func(r api.GenerateResponse) error {
			a = ofLine(a, r.Model, r.CreatedAt, r.Response, r.DoneReason, r.Metrics)
			return nil
		})
		return a, err
	}
}

// ofLine adds a line to an answer. Its time stands for the id that it has not.
func ofLine(a answer, model string, at time.Time, text, stop string, m api.Metrics) answer {
	return answer{
		ID: at.Format(time.RFC3339), Model: model, Text: a.Text + text, Stop: stop,
		In: int64(m.PromptEvalCount), Out: int64(m.EvalCount),
	}
}
