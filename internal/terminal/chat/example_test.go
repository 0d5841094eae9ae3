package chat_test

import (
	"context"
	"fmt"
	"os"

	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/turn"
)

// What was said is there for whoever lists and opens conversations next.
func ExampleFolder_List() {
	dir, err := os.MkdirTemp("", "chats")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx, f := context.Background(), folder(dir, llmtest.Says("In the house."))
	talk, err := f.New(ctx, made)
	if err != nil {
		panic(err)
	}
	_, _ = talk.Say(ctx, "", "Where is it?")
	for e := range talk.Attach(ctx, 0) {
		if m, ok := turnEvent(e).(turn.AssistantMessage); ok {
			fmt.Println(m.Content.Text())
			break
		}
	}
	_ = talk.Close()
	for e, err := range f.List(ctx) {
		fmt.Println(e.Settings.Title, e.InUse, err)
	}
	// Output:
	// In the house.
	// Where is it? false <nil>
}
