package sdk_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"google.golang.org/genai"

	"github.com/ridethrough/ridethrough/policy"
)

// TestManual_OpenAIWaitsTwoHoursInOneRequest is the client of docs/connect.md.
func TestManual_OpenAIWaitsTwoHoursInOneRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := openai.NewClient(
			option.WithBaseURL("http://127.0.0.1:8484/v1"), // or OPENAI_BASE_URL
		)
		w := newFixture(t, outage(2*time.Hour))
		s := w.gateway(policy.Patient())
		answer, err := client.Chat.Completions.New(t.Context(), completion(), option.WithHTTPClient(s.client), option.WithAPIKey("test"))
		if err != nil || len(answer.Choices) == 0 || w.asked.Load() != 1 {
			t.Errorf("after %d requests: got %+v, error %v; want an answer to the first", w.asked.Load(), answer, err)
		}
	})
}

// TestManual_GeminiWaitsTwoHoursInOneRequest is the client of docs/connect.md.
func TestManual_GeminiWaitsTwoHoursInOneRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, outage(2*time.Hour))
		ctx, httpClient := t.Context(), w.gateway(policy.Patient()).client
		client, err := genai.NewClient(ctx, &genai.ClientConfig{
			HTTPClient:  httpClient,
			HTTPOptions: genai.HTTPOptions{BaseURL: "http://127.0.0.1:8484"}, // or GOOGLE_GEMINI_BASE_URL
			Backend:     genai.BackendGeminiAPI, APIKey: "test",
		})
		if err != nil {
			t.Fatalf("client: %v", err)
		}
		answer, err := client.Models.GenerateContent(ctx, "gemini-3-pro", genai.Text("Hi"), nil)
		if err != nil || answer.Text() == "" || w.asked.Load() != 1 {
			t.Errorf("after %d requests: got %+v, error %v; want an answer to the first", w.asked.Load(), answer, err)
		}
	})
}
