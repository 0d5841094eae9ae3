package sdk_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"iter"

	"google.golang.org/genai"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
)

const geminiModel = "gemini-3-pro"

var geminiPeer = peer{
	name: "gemini",
	model: func(s endpoint) llm.Model {
		return provider.Gemini(provider.Config{Model: geminiModel, Key: "test", BaseURL: s.url, Client: s.client})
	},
	short: func(ctx context.Context, s endpoint, whole bool) (outcome, error) {
		return askGemini(ctx, s, whole, []*genai.Content{{Role: "user", Parts: []*genai.Part{{Text: "Hi"}}}}, &genai.GenerateContentConfig{})
	},
	long: func(ctx context.Context, s endpoint, whole bool) (outcome, error) {
		return askGemini(ctx, s, whole, geminiContents(), geminiConfig())
	},
	said: func(err error) (int, string) {
		e, _ := errors.AsType[genai.APIError](err)
		return e.Code, e.Message
	},
}

// geminiContents is the conversation of rich.
func geminiContents() []*genai.Content {
	signed := []byte("signed")
	read := &genai.FunctionCall{ID: "call_1", Name: "read", Args: map[string]any{"path": "a.txt"}}
	return []*genai.Content{
		{Role: "user", Parts: []*genai.Part{{Text: "What is in a.txt?"}}},
		{Role: "model", Parts: []*genai.Part{
			{Text: "Let me see.", Thought: true, ThoughtSignature: signed},
			{Text: "I look."},
			{FunctionCall: read, ThoughtSignature: signed},
			{FunctionCall: &genai.FunctionCall{ID: "call_2", Name: "now"}},
		}},
		{Role: "user", Parts: []*genai.Part{
			{FunctionResponse: &genai.FunctionResponse{ID: "call_1", Name: "read", Response: map[string]any{"error": "no such file"}}},
			{FunctionResponse: &genai.FunctionResponse{ID: "call_2", Name: "now", Response: map[string]any{"output": "noon"}}},
		}},
	}
}

// geminiConfig is all else of rich.
func geminiConfig() *genai.GenerateContentConfig {
	var functions []*genai.FunctionDeclaration
	for _, t := range rich(llm.Name{}, "").Tools {
		functions = append(functions, &genai.FunctionDeclaration{Name: t.Name, Description: t.Description, ParametersJsonSchema: t.Schema})
	}
	return &genai.GenerateContentConfig{
		SystemInstruction: &genai.Content{Parts: []*genai.Part{{Text: "Be brief."}}},
		MaxOutputTokens:   4000,
		ThinkingConfig:    &genai.ThinkingConfig{IncludeThoughts: true, ThinkingLevel: "LOW"},
		Tools:             []*genai.Tool{{FunctionDeclarations: functions}},
	}
}

// askGemini asks with the SDK.
func askGemini(ctx context.Context, s endpoint, whole bool, contents []*genai.Content, config *genai.GenerateContentConfig) (o outcome, err error) {
	client, err := s.gemini(ctx)
	if err != nil {
		return o, err
	}
	for r, err := range geminiChunks(ctx, client, whole, contents, config) {
		if err != nil {
			return o, err
		}
		o.addGemini(r)
	}
	return o, nil
}

// geminiChunks sends a request; one that is not streamed has one chunk.
func geminiChunks(ctx context.Context, client *genai.Client, whole bool, contents []*genai.Content, config *genai.GenerateContentConfig) iter.Seq2[*genai.GenerateContentResponse, error] {
	if !whole {
		return client.Models.GenerateContentStream(ctx, geminiModel, contents, config)
	}
	return func(yield func(*genai.GenerateContentResponse, error) bool) {
		yield(client.Models.GenerateContent(ctx, geminiModel, contents, config))
	}
}

// addGemini adds a chunk.
func (o *outcome) addGemini(r *genai.GenerateContentResponse) {
	if u := r.UsageMetadata; u != nil {
		o.Usage = llm.Usage{
			Input: int(u.PromptTokenCount), Output: int(u.CandidatesTokenCount + u.ThoughtsTokenCount),
			CacheRead: int(u.CachedContentTokenCount), Reasoning: int(u.ThoughtsTokenCount),
		}
	}
	for _, c := range r.Candidates {
		for _, p := range c.Content.Parts {
			o.sign(base64.StdEncoding.EncodeToString(p.ThoughtSignature))
			switch {
			case p.FunctionCall != nil:
				arguments, _ := json.Marshal(p.FunctionCall.Args)
				o.Calls = append(o.Calls, llm.ToolCall{ID: p.FunctionCall.ID, Name: p.FunctionCall.Name, Arguments: arguments})
			case p.Thought:
				o.Thought += p.Text
			default:
				o.Text += p.Text
			}
		}
		reasons := map[genai.FinishReason]llm.Reason{genai.FinishReasonStop: llm.Stop, genai.FinishReasonMaxTokens: llm.Length}
		o.End = llm.End{Reason: reasons[c.FinishReason], Model: r.ModelVersion}
	}
}
