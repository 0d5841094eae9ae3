package agent_test

import (
	"context"
	"fmt"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/tool"
	"github.com/ridethrough/ridethrough/turn"
)

// A model that calls a tool and then answers. A real Model is one of
// package provider.
func ExampleAgent_Run() {
	type place struct {
		City string `json:"city"`
	}
	weather := tool.Func("weather", "Tells the weather of a city.", func(_ context.Context, in place) (string, error) {
		return "rain in " + in.City, nil
	})
	w := agent.Agent{
		Model: llmtest.New(llm.Name{Provider: "acme", Model: "large"},
			llmtest.Calls(llmtest.Call("1", "weather", `{"city":"Cork"}`)), llmtest.Says("Take an umbrella.")),
		Tools: []tool.Tool{weather},
		Retry: retry.Retrier{Policy: policy.Interactive()},
	}
	var s turn.State
	for e, err := range w.Run(context.Background(), s, turn.Begin("", "What should I wear in Cork?")...) {
		if err != nil {
			panic(err)
		}
		s = s.Apply(e)
		switch e := e.(type) {
		case turn.TextDelta:
			fmt.Print(e.Text)
		case turn.ToolResult:
			fmt.Printf("(%s: %s)\n", e.Name, e.Output)
		case turn.Retry:
			fmt.Printf("(%s, trying again in %v)\n", e.Fault.Label(), e.Verdict.Wait)
		case turn.Sealed:
			fmt.Printf("\n%s, %d messages\n", e.Status, len(s.Messages()))
		}
	}
	// Output:
	// (weather: rain in Cork)
	// Take an umbrella.
	// done, 4 messages
}

// Retries are events of their own. They are not kept and never reach the model.
func ExampleAgent_Run_retries() {
	busy := &fault.Error{Kind: fault.Overloaded, Status: 529, Message: "Overloaded"}
	w := agent.Agent{
		Model: llmtest.New(llm.Name{Provider: "acme", Model: "large"}, llmtest.Fails(busy), llmtest.Fails(busy), llmtest.Says("Hello.")),
		Retry: retry.Retrier{
			Policy: policy.Patient(),
			Sleep:  func(context.Context, policy.Wait) error { return nil }, // leave it out to wait really
		},
	}
	for e, err := range w.Run(context.Background(), turn.State{}, turn.Begin("", "Hello?")...) {
		if err != nil {
			panic(err)
		}
		switch e := e.(type) {
		case turn.Retry:
			fmt.Printf("%v: retry %d in %v\n", e.Fault, e.Retry(), e.Verdict.Wait)
		case turn.Recovered:
			fmt.Printf("recovered after %d retries\n", e.Retries)
		case turn.AssistantMessage:
			fmt.Println(e.Content.Text())
		}
	}
	// Output:
	// HTTP 529: Overloaded: retry 1 in 5s
	// HTTP 529: Overloaded: retry 2 in 10s
	// recovered after 2 retries
	// Hello.
}

func ExampleAsk() {
	model := llmtest.New(llm.Name{Provider: "acme", Model: "large"}, llmtest.Says("Paris."))
	answer, err := agent.Ask(context.Background(), model, nil, []llm.Message{llm.UserMessage("What is the capital of France?")})
	if err != nil {
		panic(err)
	}
	fmt.Println(answer.Text(), answer.Usage.Output)
	// Output: Paris. 1
}

// Another policy, and a request with all its fields.
func ExampleAskWith() {
	model := llmtest.New(llm.Name{Provider: "acme", Model: "large"}, llmtest.Says("Oui."))
	patient := retry.Retrier{Policy: policy.Patient()}
	answer, err := agent.AskWith(context.Background(), patient, model, llm.Request{
		System: "Answer in French.", Messages: []llm.Message{llm.UserMessage("Is it raining?")}, MaxTokens: 100, NoStream: true,
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(answer.Text())
	// Output: Oui.
}
