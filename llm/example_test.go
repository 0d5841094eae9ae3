package llm_test

import (
	"encoding/json"
	"fmt"

	"github.com/ridethrough/ridethrough/llm"
)

func ExampleName_String() {
	fmt.Println(llm.Name{Provider: "anthropic", Model: "claude-opus-4-5"})
	// Output: anthropic/claude-opus-4-5
}

func ExampleUserMessage() {
	text, _ := json.Marshal(llm.UserMessage("What is in a.txt?"))
	fmt.Println(string(text))
	// Output: {"role":"user","content":[{"type":"text","text":"What is in a.txt?"}]}
}

func ExampleAssistantMessage() {
	m := llm.AssistantMessage(llm.Name{Provider: "openai", Model: "gpt-5"},
		llm.Text{Text: "Let me look."},
		llm.ToolCall{ID: "1", Name: "read_file", Arguments: json.RawMessage(`{"path":"a.txt"}`)})
	fmt.Println(m.Role, m.By, m.Text())
	for _, call := range m.Content.Calls() {
		fmt.Println(call.Name, string(call.Arguments))
	}
	// Output:
	// assistant openai/gpt-5 Let me look.
	// read_file {"path":"a.txt"}
}

func ExampleToolMessage() {
	text, _ := json.Marshal(llm.ToolMessage(llm.ToolResult{ID: "1", Name: "read_file", Output: "milk"}))
	fmt.Println(string(text))
	// Output: {"role":"tool","content":[{"type":"tool-result","id":"1","name":"read_file","output":"milk"}]}
}

func ExampleContent_UnmarshalJSON() {
	var c llm.Content
	err := json.Unmarshal([]byte(`[{"type":"text","text":"hi"},{"type":"video"}]`), &c)
	fmt.Println(err)
	err = json.Unmarshal([]byte(`[{"type":"text","text":"hi"}]`), &c)
	fmt.Println(c.Text(), err)
	// Output:
	// block 1: unknown type "video"
	// hi <nil>
}

func ExampleUsage_Add() {
	sum := llm.Usage{Input: 100, Output: 20}.Add(llm.Usage{Input: 130, Output: 5, CacheRead: 100})
	fmt.Println(sum.Input, sum.Output, sum.CacheRead)
	// Output: 230 25 100
}

func ExampleIsContent() {
	for _, p := range []llm.Part{llm.Text{}, llm.Text{Text: "H"}, llm.End{Reason: llm.Stop}} {
		fmt.Println(llm.IsContent(p))
	}
	// Output:
	// false
	// true
	// false
}

func ExampleCollector() {
	var c llm.Collector
	for _, p := range []llm.Part{llm.Text{Text: "Hello, "}, llm.Text{Text: "world"}, llm.Usage{Input: 3, Output: 2}, llm.End{Reason: llm.Stop}} {
		c.Add(p)
	}
	fmt.Println(c.Content().Text(), c.Usage.Output, c.End.Reason)
	// Output: Hello, world 2 stop
}

func ExampleNewImage() {
	file := []byte("GIF89a\x40\x01\xf0\x00") // of a file, whatever its name is
	picture, err := llm.NewImage("chart.png", file)
	fmt.Println(picture, picture.MediaType, err)
	_, err = llm.NewImage("notes.png", []byte("milk"))
	fmt.Println("notes.png", err)
	question := llm.UserMessage("What does the chart show?", picture)
	fmt.Println(len(question.Content.Images()), question.Text())
	// Output:
	// image chart.png, 320 x 240, 10 bytes image/gif <nil>
	// notes.png is not a PNG, JPEG, GIF or WebP image
	// 1 What does the chart show?
}
