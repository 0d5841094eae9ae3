package conversation_test

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// newRunner returns a runner on a store in memory, whose model gives the answers.
func newRunner(answers ...llmtest.Answer) *conversation.Runner {
	model := llmtest.New(large, answers...)
	return conversation.New(conversation.Config{
		Store: store.Memory(),
		Agent: func(context.Context, conversation.Settings) (agent.Agent, error) {
			return agent.Agent{Model: model}, nil
		},
	})
}

// printMessages prints the messages among events until n turns are sealed.
func printMessages(r *conversation.Runner, ctx context.Context, id string, n int) {
	for e, err := range r.Attach(ctx, id, 0) {
		if err != nil {
			fmt.Println(err)
			return
		}
		t, _ := e.Body.(wire.Turn)
		switch b := t.Event.(type) {
		case turn.UserMessage:
			fmt.Println("user:", b.Text)
		case turn.AssistantMessage:
			fmt.Println("model:", b.Content.Text())
		case turn.Sealed:
			fmt.Println("turn:", b.Status)
			if n--; n == 0 {
				return
			}
		}
	}
}

func ExampleRunner() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r := newRunner(llmtest.Says("Hi."))
	go r.Run(ctx)

	id, err := r.Create(ctx, "greeting", conversation.Settings{Title: "A greeting"})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := r.Submit(ctx, id, "", "Hello!"); err != nil {
		fmt.Println(err)
		return
	}
	printMessages(r, ctx, id, 1)
	// Output:
	// user: Hello!
	// model: Hi.
	// turn: done
}

func ExampleRunner_Submit() {
	ctx := context.Background()
	r := newRunner() // without Run, inputs stay in the queue
	id, _ := r.Create(ctx, "", conversation.Settings{})
	for range 2 { // the same id: the input is taken once
		if _, err := r.Submit(ctx, id, "t1", "Hello!"); err != nil {
			fmt.Println(err)
		}
	}
	_, _ = r.Submit(ctx, id, "t2", "And bye.")
	_ = r.Edit(ctx, id, "t1", "Hello again!")
	_ = r.Remove(ctx, id, "t2")
	v, err := r.Get(ctx, id)
	fmt.Println(len(v.Inputs), v.Inputs[0].Text, err)
	_, err = r.Submit(ctx, id, "", "  ")
	fmt.Println(errors.Is(err, conversation.ErrInvalidText))
	// Output:
	// 1 Hello again! <nil>
	// true
}

func ExampleRunner_List() {
	ctx := context.Background()
	r := newRunner()
	for _, id := range []string{"a", "b"} {
		_, _ = r.Create(ctx, id, conversation.Settings{Title: "Title of " + id})
	}
	_ = r.Change(ctx, "a", conversation.Settings{Title: "Another title"})
	for v, err := range r.List(ctx, "") {
		fmt.Println(v.ID, v.Settings.Title, err)
	}
	_ = r.Delete(ctx, "b")
	recent, err := r.Recent(ctx, 10)
	fmt.Println(len(recent), err)
	// Output:
	// b Title of b <nil>
	// a Another title <nil>
	// 1 <nil>
}

func ExampleRunner_RetryTurn() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	asked := make(chan struct{})
	hangs := func(ctx context.Context, r llm.Request) iter.Seq2[llm.Part, error] {
		close(asked)
		return llmtest.Hangs()(ctx, r)
	}
	r := newRunner(hangs, llmtest.Says("Noon."))
	go r.Run(ctx)
	id, _ := r.Create(ctx, "", conversation.Settings{})
	_, _ = r.Submit(ctx, id, "t1", "What is the time?")
	<-asked
	fmt.Println("stop:", r.Stop(ctx, id, "t1"))
	printMessages(r, ctx, id, 1)
	if _, err := r.RetryTurn(ctx, id, ""); err != nil {
		fmt.Println(err)
	}
	printMessages(r, ctx, id, 2)
	// Output:
	// stop: <nil>
	// user: What is the time?
	// turn: aborted
	// user: What is the time?
	// turn: aborted
	// model: Noon.
	// turn: done
}

func ExampleRunner_History() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r := newRunner(llmtest.Says("Hi."))
	id, _ := r.Create(ctx, "", conversation.Settings{})
	_, _ = r.Submit(ctx, id, "t1", "Hello!")
	_, _ = r.Submit(ctx, id, "t2", "Be brief.")
	fmt.Println("steer:", r.Steer(ctx, id, "t2"))
	for e, err := range r.History(ctx, id, 0) {
		fmt.Println(e.Seq, wire.Type(e.Body), err)
	}
	// Output:
	// steer: <nil>
	// 2 input-queued <nil>
	// 3 input-queued <nil>
}
