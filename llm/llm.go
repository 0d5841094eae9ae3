// Package llm is the vocabulary between an agent and a language model, the same for every provider: a
// [Request] goes out, [Part]s come back.
//
// A [Model] sends each request once. It does not wait, retry or hide a failure; packages retry and agent do
// that. Package provider has models over the vendors' APIs. Package llmtest has a scripted model
// and the conformance suite that they all pass.
package llm

import (
	"context"
	"encoding/json"
	"iter"
)

// Model is one language model at one provider. Its methods may run concurrently.
type Model interface {
	// Name returns which model this is, without sending a request.
	Name() Name

	// Stream sends the request once and yields the answer as it comes, with at most one error, last. It begins
	// when the sequence is ranged over; ranging again sends it again.
	//
	// The error is a *fault.Error with the provider's response or an SDK's error as its cause, or
	// context.Cause(ctx) if the caller has left. An answer that ends without an error has an [End] as its last
	// part; one that broke off ends with a fault of kind Truncated. Nothing is yielded before the answer
	// proper, so an answer that fails early fails without a part. Breaking out of the loop releases everything.
	Stream(ctx context.Context, r Request) iter.Seq2[Part, error]
}

// Name identifies a model at its provider.
type Name struct {
	Provider string `json:"provider,omitzero"` // "anthropic", "openai", "gemini", "ollama", "lmstudio" or another
	Model    string `json:"model,omitzero"`    // as in the provider's API
}

// String returns the provider and the model, such as "anthropic/claude-opus-4-5".
func (n Name) String() string {
	if n.Provider == "" {
		return n.Model
	}
	return n.Provider + "/" + n.Model
}

// Request is all that a model gets to know for one answer.
type Request struct {
	System   string    // the system prompt; "": none
	Messages []Message // the conversation, oldest first; the model answers the last one
	Tools    []Tool    // what the model may call

	MaxTokens int    // the longest answer, in tokens; 0: the provider's default
	Effort    Effort // how much a model that can reason should do so; "": the model's default
	NoStream  bool   // ask for the answer in one response: the same parts, all at once
}

// Effort is how much a model that can reason should do so before it answers.
type Effort string

// The efforts. A provider maps each to the nearest that it has.
const (
	Low    Effort = "low"
	Medium Effort = "medium"
	High   Effort = "high"
)

// Tool is a function that the model may ask for.
type Tool struct {
	Name        string          // unique in the request; letters, digits, _ and -, at most 64
	Description string          // what it does and when to use it, for the model
	Schema      json.RawMessage // JSON Schema of its arguments, an object; nil: it takes none
}

// Role is the author of a message.
type Role string

// The roles. The results of all tool calls of one answer are in one message of role ToolRole.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool"
)

// Message is one entry of a conversation.
type Message struct {
	Role    Role    `json:"role"`
	Content Content `json:"content"`
	By      Name    `json:"by,omitzero"` // the model that wrote it. Signatures are valid only at its provider
}

// UserMessage returns a user's message. Its images come before the text, as the providers advise.
func UserMessage(text string, images ...Image) Message {
	m := Message{Role: User, Content: make(Content, 0, len(images)+1)}
	for _, i := range images {
		m.Content = append(m.Content, i)
	}
	m.Content = append(m.Content, Text{text})
	return m
}

// AssistantMessage returns a model's message.
func AssistantMessage(by Name, content ...Block) Message {
	return Message{Role: Assistant, Content: content, By: by}
}

// ToolMessage returns the message with the results of tool calls.
func ToolMessage(results ...ToolResult) Message {
	m := Message{Role: ToolRole, Content: make(Content, len(results))}
	for i, r := range results {
		m.Content[i] = r
	}
	return m
}

// Text returns the message's text, without reasoning and tool calls.
func (m Message) Text() string { return m.Content.Text() }
