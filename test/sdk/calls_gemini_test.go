package sdk_test

import (
	"context"

	"google.golang.org/genai"
)

var (
	generateContent       = call{name: "Models.GenerateContent", ask: newContent, busy: `"UNAVAILABLE"`}
	generateContentStream = call{name: "Models.GenerateContentStream", streams: true, ask: streamContent, busy: `"UNAVAILABLE"`}
)

func (s endpoint) gemini(ctx context.Context) (*genai.Client, error) {
	return genai.NewClient(ctx, &genai.ClientConfig{
		APIKey:      "test",
		Backend:     genai.BackendGeminiAPI,
		HTTPClient:  s.client,
		HTTPOptions: genai.HTTPOptions{BaseURL: s.url},
	})
}

func newContent(ctx context.Context, s endpoint) (answer, error) {
	client, err := s.gemini(ctx)
	if err != nil {
		return answer{}, err
	}
	r, err := client.Models.GenerateContent(ctx, "gemini-pro", genai.Text("Hi"), nil)
	if err != nil {
		return answer{}, err
	}
	return ofContent(answer{}, r), nil
}

func streamContent(ctx context.Context, s endpoint) (a answer, err error) {
	client, err := s.gemini(ctx)
	if err != nil {
		return a, err
	}
	for r, err := range client.Models.GenerateContentStream(ctx, "gemini-pro", genai.Text("Hi"), nil) {
		if err != nil {
			return a, err
		}
		a = ofContent(a, r)
	}
	return a, nil
}

// ofContent adds a response, or a part of one, to an answer.
func ofContent(a answer, r *genai.GenerateContentResponse) answer {
	a.ID, a.Model = r.ResponseID, r.ModelVersion
	a.Text += r.Text()
	for _, c := range r.Candidates {
		a.Stop += string(c.FinishReason)
	}
	if u := r.UsageMetadata; u != nil {
		a.In, a.Out = int64(u.PromptTokenCount), int64(u.CandidatesTokenCount)
	}
	return a
}
