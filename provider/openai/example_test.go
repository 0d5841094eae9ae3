package openai_test

import (
	"context"
	"fmt"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider/openai"
)

func ExampleModel_Stream() {
	provider := simulator.New(simulator.Script{Answer: "It is well."}) // in place of a server
	defer provider.Close()

	model := openai.New(openai.Config{
		Model:   "qwen3",
		BaseURL: "http://provider.test/v1", // any compatible server
		Client:  provider.Client(),
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

func ExampleNew() {
	ours := openai.New(openai.Config{Model: "gpt-5", Key: "sk-…"})                                                            // asks by Responses
	theirs := openai.New(openai.Config{Model: "deepseek-chat", BaseURL: "https://api.deepseek.com/v1", Provider: "deepseek"}) // by Chat Completions
	fmt.Println(ours.Name(), theirs.Name())
	// Output: openai/gpt-5 deepseek/deepseek-chat
}
