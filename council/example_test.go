package council_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/council"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/turn"
)

// Three models, one of which fails. A real Model is one of package provider.
func ExampleCouncil_Run() {
	model := func(provider string, answers ...llmtest.Answer) agent.Agent {
		return agent.Agent{Model: llmtest.New(llm.Name{Provider: provider, Model: "large"}, answers...)}
	}
	refused := &fault.Error{Kind: fault.Auth, Status: 401, Message: "wrong key"}
	c := council.Council{
		Members: []agent.Agent{
			model("acme", llmtest.Says("Yes.")), model("other", llmtest.Says("No.")), model("third", llmtest.Fails(refused)),
		},
		Aggregator: model("judge", llmtest.Says("It depends.")),
		OnEvent: func(e council.Event) {
			if delta, ok := e.Turn.(turn.TextDelta); ok {
				fmt.Print(delta.Text) // as it streams
			}
		},
	}
	result, err := c.Run(context.Background(), "Is a hot dog a sandwich?")
	fmt.Println()
	for _, v := range result.Members {
		fmt.Printf("%s %s, tries: %d\n", v.Name, v.State, v.Tries)
	}
	fmt.Println(result.Answer, err)
	// Output:
	// It depends.
	// acme/large answered, tries: 1
	// other/large answered, tries: 1
	// third/large failed, tries: 1
	// It depends. <nil>
}

// Without a quorum the council has no answer, but the result has those of its members.
func ExampleCouncil_Run_quorum() {
	refused := &fault.Error{Kind: fault.Auth, Status: 401, Message: "wrong key"}
	c := council.Council{Members: []agent.Agent{
		{Model: llmtest.New(llm.Name{Provider: "acme", Model: "large"}, llmtest.Says("Yes."))},
		{Model: llmtest.New(llm.Name{Provider: "other", Model: "large"}, llmtest.Fails(refused))},
	}}
	result, err := c.Run(context.Background(), "Is a hot dog a sandwich?")
	if errors.Is(err, council.ErrQuorum) {
		fmt.Println(err)
	}
	fmt.Println(result.Members[0].Text)
	// Output:
	// 1 of 2 members answered, and 2 are needed: other/large failed in 1 try: HTTP 401: wrong key
	// Yes.
}

func ExampleBody() {
	v := council.Member{Index: 2, Name: llm.Name{Provider: "acme", Model: "large"}, State: council.Asking, Tries: 1}
	text, _ := json.Marshal(council.Body("17", council.Event{Member: &v}))
	fmt.Println(string(text))
	// Output: {"conversationId":"","turnId":"17","provider":"acme","model":"large","member":2,"state":"asking","tries":1,"tookMs":0,"remainingMs":0}
}

func ExampleCouncil_Check() {
	one := agent.Agent{Model: llmtest.New(llm.Name{Provider: "acme", Model: "large"})}
	fmt.Println(council.Council{Members: []agent.Agent{one}}.Check())
	// Output: council: want at least two members, and there are 1
}

func ExampleCouncil_WithDefaults() {
	c := council.Council{}.WithDefaults()
	fmt.Println(c.Budget, c.Reserve, c.Quorum, c.Grace, c.AggregatorBudget, c.Cap)
	// Output: 4m30s 30s 2 30s 2m0s 7m0s
}
