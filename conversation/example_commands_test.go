package conversation_test

import (
	"context"
	"fmt"
	"runtime"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/wire"
)

// runWaitingTurn runs a conversation whose model is busy at first, and returns it once its turn waits.
func runWaitingTurn(ctx context.Context, answers ...llmtest.Answer) (r *conversation.Runner, id string) {
	model := llmtest.New(large, append([]llmtest.Answer{llmtest.Fails(busy)}, answers...)...)
	r = conversation.New(conversation.Config{
		Store: store.Memory(),
		Agent: func(context.Context, conversation.Settings) (agent.Agent, error) {
			a := agent.Agent{Model: model}
			a.Retry.Policy = policy.Patient() // the first wait takes 5 s
			return a, nil
		},
	})
	go r.Run(ctx)
	id, _ = r.Create(ctx, "", conversation.Settings{Model: "acme/large", Title: "Lunch"})
	_, _ = r.Submit(ctx, id, "t1", "What is for lunch?")
	for _, n := r.Waits(1); n == 0; _, n = r.Waits(1) {
		runtime.Gosched()
	}
	return r, id
}

func ExampleRunner_RetryNow() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r, id := runWaitingTurn(ctx, llmtest.Says("Soup."))
	fmt.Println("now:", r.RetryNow(ctx, id))
	printMessages(r, ctx, id, 1)
	// Output:
	// now: <nil>
	// user: What is for lunch?
	// model: Soup.
	// turn: done
}

func ExampleRunner_RetryAll() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r, id := runWaitingTurn(ctx, llmtest.Says("Soup."))
	r.RetryAll(ctx, "acme") // a provider whose operator says that it is back
	printMessages(r, ctx, id, 1)
	// Output:
	// user: What is for lunch?
	// model: Soup.
	// turn: done
}

func ExampleRunner_StopAll() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r, id := runWaitingTurn(ctx)
	waits, n := r.Waits(10)
	fmt.Println(n, "waits:", waits[0].Title, waits[0].Fault.Kind, waits[0].Verdict.Wait)
	for _, u := range r.Upstreams() {
		fmt.Println(u.Breaker.Name, u.Waiting)
	}
	fmt.Println("stop:", r.StopAll(ctx, "acme"))
	printMessages(r, ctx, id, 1)
	// Output:
	// 1 waits: Lunch overloaded 5s
	// acme 1
	// stop: <nil>
	// user: What is for lunch?
	// turn: aborted
}

func ExampleRunner_Stop() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r, id := runWaitingTurn(ctx)
	fmt.Println("stop:", r.Stop(ctx, id, "t1"))
	printMessages(r, ctx, id, 1)
	fmt.Println("stop:", r.Stop(ctx, id, "t1"))
	// Output:
	// stop: <nil>
	// user: What is for lunch?
	// turn: aborted
	// stop: no turn is in progress
}

// A conversation moves to another store.
func ExampleRunner_Restore() {
	ctx := context.Background()
	from, to := newRunner(), newRunner()
	id, _ := from.Create(ctx, "a", conversation.Settings{Title: "It moves"})
	_, _ = from.Submit(ctx, id, "t1", "Hello!")

	records, _, err := store.Load(ctx, from.Store, id, 0)
	if err != nil {
		fmt.Println(err)
	}
	for range 2 { // a restore can be repeated
		added, err := to.Restore(ctx, id, records)
		fmt.Println(added, err)
	}
	v, err := to.Get(ctx, id)
	fmt.Println(v.Settings.Title, v.Inputs[0].Text, err)
	// Output:
	// 2 <nil>
	// 0 <nil>
	// It moves Hello! <nil>
}

func ExampleRunner_Attach() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r := newRunner(llmtest.Says("Hi."))
	go r.Run(ctx)
	id, _ := r.Create(ctx, "", conversation.Settings{})
	events := r.Attach(ctx, id, 0) // before the turn: nothing of it is missed
	_, _ = r.Submit(ctx, id, "t1", "Hello!")
	for e, err := range events {
		if err != nil {
			fmt.Println(err)
			break
		}
		fmt.Println(e.Seq, wire.Type(e.Body)) // a transient event has the number of the kept one before it
		if wire.Type(e.Body) == "turn-sealed" {
			break
		}
	}
	// Output:
	// 2 input-queued
	// 4 turn-start
	// 5 user-message
	// 5 text-delta
	// 6 assistant-message
	// 7 usage
	// 8 turn-sealed
}

func ExampleRunner_Change() {
	ctx := context.Background()
	r := newRunner()
	id, _ := r.Create(ctx, "", conversation.Settings{Model: "acme/large"})
	fmt.Println(r.Change(ctx, id, conversation.Settings{Model: "acme/small", Title: "Cheaper"}))
	v, err := r.Get(ctx, id)
	fmt.Println(v.Settings.Model, v.Settings.Title, err)
	fmt.Println(r.Delete(ctx, id))
	_, err = r.Get(ctx, id)
	fmt.Println(err)
	// Output:
	// <nil>
	// acme/small Cheaper <nil>
	// <nil>
	// the conversation was deleted
}

func ExampleRunner_Edit() {
	ctx := context.Background()
	r := newRunner() // without Run, inputs stay in the queue
	id, _ := r.Create(ctx, "", conversation.Settings{})
	_, _ = r.Submit(ctx, id, "t1", "Helo!")
	_, _ = r.Submit(ctx, id, "t2", "And bye.")
	fmt.Println("edit:", r.Edit(ctx, id, "t1", "Hello!"))
	fmt.Println("remove:", r.Remove(ctx, id, "t2"))
	fmt.Println("remove:", r.Remove(ctx, id, "t2"))
	v, _ := r.Get(ctx, id)
	for _, in := range v.Inputs {
		fmt.Println(in.ID, in.Text)
	}
	// Output:
	// edit: <nil>
	// remove: <nil>
	// remove: no such input waits
	// t1 Hello!
}
