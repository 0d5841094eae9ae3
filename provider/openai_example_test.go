package provider_test

import (
	"context"
	"fmt"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
)

func ExampleOpenAI() {
	server := simulator.New(simulator.Script{Answer: "It is well."}) // in place of a server
	defer server.Close()

	model := provider.OpenAI(provider.Config{
		Model:   "qwen3",
		BaseURL: "http://provider.test/v1", // any compatible server
		Client:  server.Client(),
	})
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

func ExampleOpenAI_names() {
	ours := provider.OpenAI(provider.Config{Model: "gpt-5", Key: "sk-…"})                                                            // asks by Responses
	theirs := provider.OpenAI(provider.Config{Model: "deepseek-chat", BaseURL: "https://api.deepseek.com/v1", Provider: "deepseek"}) // by Chat Completions
	fmt.Println(ours.Name(), theirs.Name())
	// Output: openai/gpt-5 deepseek/deepseek-chat
}
