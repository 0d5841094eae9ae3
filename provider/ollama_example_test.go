package provider_test

import (
	"context"
	"fmt"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
)

func ExampleOllama() {
	server := simulator.New(simulator.Script{Answer: "It is well."}) // in place of a server
	defer server.Close()

	model := provider.Ollama(provider.Config{Model: "qwen3", Client: server.Client()})
	for part, err := range model.Stream(context.Background(), llm.Request{Messages: []llm.Message{llm.UserMessage("How are you?")}}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		switch part := part.(type) {
		case llm.Text:
			fmt.Print(part.Text)
		case llm.End:
			fmt.Println(" //", part.Reason)
		}
	}
	// Output: It is well. // stop
}

func ExampleOllama_names() {
	here := provider.Ollama(provider.Config{Model: "qwen3:8b"})
	there := provider.Ollama(provider.Config{Model: "gpt-oss:120b", BaseURL: "ollama.com", Key: "…"})
	fmt.Println(here.Name(), there.Name())
	// Output: ollama/qwen3:8b ollama/gpt-oss:120b
}
