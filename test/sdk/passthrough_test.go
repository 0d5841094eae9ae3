package sdk_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/ollama/ollama/api"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
	"google.golang.org/genai"

	"github.com/ridethrough/ridethrough/policy"
)

// aside are calls that ask for no answer: each returns a number or a name
// from the response.
var aside = []struct {
	name string
	ask  func(context.Context, endpoint) (bool, error)
}{
	{"Messages.CountTokens", func(ctx context.Context, s endpoint) (bool, error) {
		client, m := s.anthropic(), message()
		n, err := client.Messages.CountTokens(ctx, anthropic.MessageCountTokensParams{Model: m.Model, Messages: m.Messages})
		return err == nil && n.InputTokens > 0, err
	}},
	{"anthropic Models.Get", func(ctx context.Context, s endpoint) (bool, error) {
		client := s.anthropic()
		m, err := client.Models.Get(ctx, "claude-sonnet", anthropic.ModelGetParams{})
		return err == nil && m.ID == "claude-sonnet", err
	}},
	{"openai Models.Get", func(ctx context.Context, s endpoint) (bool, error) {
		client := s.openai()
		m, err := client.Models.Get(ctx, "gpt-5")
		return err == nil && m.ID == "gpt-5", err
	}},
	{"Embeddings.New", func(ctx context.Context, s endpoint) (bool, error) {
		client := s.openai()
		e, err := client.Embeddings.New(ctx, openai.EmbeddingNewParams{
			Model: "text-embedding-3-small", Input: openai.EmbeddingNewParamsInputUnion{OfString: openai.String("Hi")},
		})
		return err == nil && len(e.Data) == 1 && len(e.Data[0].Embedding) > 0, err
	}},
	{"Responses.InputTokens.Count", func(ctx context.Context, s endpoint) (bool, error) {
		client := s.openai()
		n, err := client.Responses.InputTokens.Count(ctx, responses.InputTokenCountParams{Model: openai.String("gpt-5")})
		return err == nil && n.InputTokens > 0, err
	}},
	{"Models.CountTokens", func(ctx context.Context, s endpoint) (bool, error) {
		client, err := s.gemini(ctx)
		if err != nil {
			return false, err
		}
		n, err := client.Models.CountTokens(ctx, "gemini-pro", genai.Text("Hi"), nil)
		return err == nil && n.TotalTokens > 0, err
	}},
	{"Models.EmbedContent", func(ctx context.Context, s endpoint) (bool, error) {
		client, err := s.gemini(ctx)
		if err != nil {
			return false, err
		}
		e, err := client.Models.EmbedContent(ctx, "text-embedding-004", genai.Text("Hi"), nil)
		return err == nil && len(e.Embeddings) == 1 && len(e.Embeddings[0].Values) > 0, err
	}},
	{"gemini Models.Get", func(ctx context.Context, s endpoint) (bool, error) {
		client, err := s.gemini(ctx)
		if err != nil {
			return false, err
		}
		m, err := client.Models.Get(ctx, "gemini-pro", nil)
		return err == nil && m.Name == "models/gemini-pro", err
	}},
	{"ollama", func(ctx context.Context, s endpoint) (bool, error) {
		client, err := s.ollama()
		if err != nil {
			return false, err
		}
		list, err := client.List(ctx)
		version, err2 := client.Version(ctx)
		show, err3 := client.Show(ctx, &api.ShowRequest{Model: "llama"})
		embed, err4 := client.Embed(ctx, &api.EmbedRequest{Model: "llama", Input: "Hi"})
		if err := errors.Join(err, err2, err3, err4); err != nil {
			return false, err
		}
		return len(list.Models) == 1 && version != "" && show.Details.Format == "gguf" && len(embed.Embeddings) == 1, nil
	}},
}

func TestGateway_OtherCallsPassThrough(t *testing.T) {
	seats := []struct {
		name string
		give func(*fixture) endpoint
	}{
		{"direct", (*fixture).direct},
		{"gateway", func(w *fixture) endpoint { return w.gateway(policy.Patient()) }},
		{"transport", func(w *fixture) endpoint { return w.transport(policy.Patient()) }},
	}
	for _, endpoint := range seats {
		for _, c := range aside {
			t.Run(endpoint.name+"/"+c.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					if ok, err := c.ask(t.Context(), endpoint.give(newFixture(t, script(t, "529*9")))); !ok {
						t.Errorf("error %v", err)
					}
				})
			})
		}
	}
}
