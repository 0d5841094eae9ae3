package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/tool"
)

func ExampleFunc() {
	type place struct {
		City string `json:"city" jsonschema:"a city, in English"`
	}
	weather := tool.Func("weather", "Tells today's weather.", func(_ context.Context, in place) (string, error) {
		return "Rain in " + in.City, nil
	})
	fmt.Println(string(weather.Schema))
	for _, arguments := range []string{`{"city":"Bergen"}`, `{}`} {
		result := weather.Run(context.Background(), llm.ToolCall{ID: "1", Name: "weather", Arguments: json.RawMessage(arguments)})
		fmt.Println(result.Failed, result.Output)
	}
	// Output:
	// {"type":"object","properties":{"city":{"type":"string","description":"a city, in English"}},"required":["city"],"additionalProperties":false}
	// false Rain in Bergen
	// true invalid arguments: required: missing properties: ["city"]
}

func ExampleTool_Run() {
	shop := tool.Tool{Func: func(context.Context, json.RawMessage) (string, error) {
		return "bread", errors.New("out of cheese")
	}}
	result := shop.Run(context.Background(), llm.ToolCall{ID: "1", Name: "shop"})
	fmt.Println(result.Failed, result.Output)
	// Output:
	// true bread
	// out of cheese
}

func ExampleTool_Repeatable() {
	mail := tool.Tool{Writes: true}
	note := tool.Tool{Writes: true, Idempotent: true}
	look := tool.Tool{}
	fmt.Println(mail.Repeatable(), note.Repeatable(), look.Repeatable())
	// Output: false true true
}

func ExampleFiles() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("buy milk\ncall home\n"), 0o600); err != nil {
		panic(err)
	}
	folder, err := tool.Files(dir)
	if err != nil {
		panic(err)
	}
	defer folder.Close()
	arguments := map[string]string{
		"list_files":   `{}`,
		"read_file":    `{"path":"notes.txt","offset":2}`,
		"search_files": `{"pattern":"^buy"}`,
	}
	for _, t := range folder.Tools() {
		result := t.Run(context.Background(), llm.ToolCall{Name: t.Name, Arguments: json.RawMessage(arguments[t.Name])})
		fmt.Printf("%s: %s", t.Name, result.Output)
	}
	// Output:
	// list_files: notes.txt (19)
	// read_file: call home
	// search_files: notes.txt:1: buy milk
}
