package provider_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
)

// An answer that breaks off: the SDK alone would end it as if it were whole.
func ExampleGemini() {
	simulated := simulator.New(simulator.Script{Replies: []simulator.Reply{simulator.Cut{After: 1, End: simulator.Clean}}, Answer: "forty- two"})
	defer simulated.Close()
	server := httptest.NewServer(simulated)
	defer server.Close()

	model := provider.Gemini(provider.Config{Model: "gemini-3-pro", Key: "…", BaseURL: server.URL})
	request := llm.Request{Messages: []llm.Message{llm.UserMessage("What is six times seven?")}}
	for part, err := range model.Stream(context.Background(), request) {
		if err != nil {
			fmt.Println(err)
			break
		}
		fmt.Println(part)
	}
	// Output:
	// {forty- }
	// the answer broke off: it ended without its terminator
}
