// Package llm is what an agent and a language model have to say to each other,
// the same for every provider: a [Request] goes out, [Part]s come back.
//
// A [Model] asks once. It does not wait, does not try again and does not hide
// a failure: whoever wants that puts package retry around it, as package agent
// does. The packages below provider are models over the vendors' own SDKs, and
// llmtest holds a scripted one and the suite that they all pass.
package llm

import (
	"context"
	"encoding/json"
	"iter"
)

// Model is one language model at one provider. Its methods may run
// concurrently.
type Model interface {
	// Name says which model this is. It is known without asking.
	Name() Name

	// Stream asks once and yields the answer as it comes, with at most one
	// error, last. It begins when the sequence is ranged over; ranging again
	// asks again.
	//
	// The error is a *fault.Error with the SDK's own error as its cause, but
	// context.Cause(ctx) where the caller has left. An answer that ends without
	// an error has an [End] as its last part: what broke off before is a fault
	// of kind Truncated. Nothing is yielded for what a provider sends before the
	// answer proper, so an answer that fails early fails without a part.
	// Breaking off releases everything.
	Stream(ctx context.Context, r Request) iter.Seq2[Part, error]
}

// Name is a model's name at its provider.
type Name struct {
	Provider string `json:"provider,omitzero"` // "anthropic", "openai", "gemini", "ollama", "lmstudio" or somebody's own
	Model    string `json:"model,omitzero"`    // as the provider's API calls it
}

// String gives "anthropic/claude-opus-4-5".
func (n Name) String() string {
	if n.Provider == "" {
		return n.Model
	}
	return n.Provider + "/" + n.Model
}

// Request is one question to a model: everything it is to know.
type Request struct {
	System   string    // standing orders; "": none
	Messages []Message // the conversation, oldest first; the last one is for the model to answer
	Tools    []Tool    // what the model may call; none: it can only speak

	MaxTokens int    // the longest answer, in tokens; 0: what the provider allows or is usual there
	Effort    Effort // how hard a model that can reason should think; "": as it does by itself
	NoStream  bool   // ask for the answer in one piece instead of a stream: the same parts, all at once
}

// Effort is how hard a model thinks before it answers, if it can.
type Effort string

// The efforts. A provider maps them to the nearest that it has.
const (
	Low    Effort = "low"
	Medium Effort = "medium"
	High   Effort = "high"
)

// Tool is a function that the model may ask for.
type Tool struct {
	Name        string          // unique in the request; letters, digits, _ and -, at most 64
	Description string          // when to use it and what it gives, for the model
	Schema      json.RawMessage // JSON Schema of its arguments, an object; nil: it takes none
}

// Role is who speaks in a message.
type Role string

// The roles. The results of a model's tool calls are in a message of role
// ToolRole, all those of one answer in the same one.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool"
)

// Message is one entry of a conversation.
type Message struct {
	Role    Role    `json:"role"`
	Content Content `json:"content"`
	By      Name    `json:"by,omitzero"` // of an assistant's: the model that spoke. Signatures are only for the same provider
}

// UserMessage gives a user's message.
func UserMessage(text string) Message { return Message{Role: User, Content: Content{Text{text}}} }

// AssistantMessage gives an assistant's message.
func AssistantMessage(by Name, content ...Block) Message {
	return Message{Role: Assistant, Content: content, By: by}
}

// ToolMessage gives the message with what the tools have answered.
func ToolMessage(results ...ToolResult) Message {
	m := Message{Role: ToolRole, Content: make(Content, len(results))}
	for i, r := range results {
		m.Content[i] = r
	}
	return m
}

// Text gives what the message says, without reasoning and tool calls.
func (m Message) Text() string { return m.Content.Text() }
