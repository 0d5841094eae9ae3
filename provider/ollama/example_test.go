package ollama_test

import (
	"context"
	"fmt"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider/ollama"
)

func ExampleModel_Stream() {
	provider := simulator.New(simulator.Script{Answer: "It is well."}) // in place of a server
	defer provider.Close()

	model := ollama.New(ollama.Config{Model: "qwen3", Client: provider.Client()})
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
	here := ollama.New(ollama.Config{Model: "qwen3:8b"})
	there := ollama.New(ollama.Config{Model: "gpt-oss:120b", BaseURL: "ollama.com", Key: "…"})
	fmt.Println(here.Name(), there.Name())
	// Output: ollama/qwen3:8b ollama/gpt-oss:120b
}
