package provider_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
)

// A provider that is overloaded once. The model asks once each time: to try again
// is for package retry, or for an agent.
func ExampleAnthropic() {
	simulated := simulator.New(simulator.Script{Replies: []simulator.Reply{simulator.Status{Code: http.StatusServiceUnavailable}}, Answer: "forty-two"})
	defer simulated.Close()
	server := httptest.NewServer(simulated)
	defer server.Close()

	model := provider.Anthropic(provider.Config{Model: "claude-opus-4-8", Key: "…", BaseURL: server.URL})
	request := llm.Request{Messages: []llm.Message{llm.UserMessage("What is six times seven?")}}
	for range 2 {
		for part, err := range model.Stream(context.Background(), request) {
			switch part := part.(type) {
			case llm.Text:
				fmt.Println(part.Text)
			case llm.End:
				fmt.Println(part.Reason, part.Model)
			}
			if err != nil {
				fmt.Println(err)
			}
		}
	}
	// Output:
	// HTTP 503: Internal server error
	// forty-two
	// stop claude-opus-4-8
}
