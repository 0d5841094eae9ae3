package chat_test

import (
	"context"
	"fmt"
	"os"

	"github.com/ridethrough/ridethrough/internal/terminal/tui"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/turn"
)

// A conversation is stored and listed under its first prompt.
func ExampleFolder_List() {
	dir, err := os.MkdirTemp("", "chats")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx, f := context.Background(), folder(dir, llmtest.Says("In the house."))
	conv, err := f.New(ctx, defaults)
	if err != nil {
		panic(err)
	}
	_ = conv.Do(ctx, tui.Send{ID: "1", Text: "Where is it?"})
	for e := range conv.Attach(ctx, 0) {
		if m, ok := turnEvent(e).(turn.AssistantMessage); ok {
			fmt.Println(m.Content.Text())
			break
		}
	}
	_ = conv.Close()
	for e, err := range f.List(ctx) {
		fmt.Println(e.Settings.Title, e.InUse, err)
	}
	// Output:
	// In the house.
	// Where is it? false <nil>
}
