package llm

import "encoding/json"

// Part is a piece of an answer as it streams: [Text], [Reasoning], [ToolCall], [Usage] or [End].
type Part interface{ part() }

// Block is a piece of a message: [Text], [Image], [Reasoning], [ToolCall] or [ToolResult].
type Block interface{ block() }

// Text is some of the model's answer, or all of it in a message.
type Text struct {
	Text string `json:"text"`
}

// Reasoning is some of the model's reasoning before its answer.
type Reasoning struct {
	Text string `json:"text,omitzero"`

	// Signature is what the provider expects back with this reasoning, unchanged, in a form of its own. It
	// ends a run of reasoning. "": none.
	Signature string `json:"signature,omitzero"`
}

// ToolCall is the model's request to run a tool. It comes whole.
type ToolCall struct {
	ID        string          `json:"id"` // unique in the conversation; the provider's, or a generated one
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`          // a JSON object as the model wrote it; invalid JSON as a JSON string
	Signature string          `json:"signature,omitzero"` // as of Reasoning
}

// ToolResult is a tool's answer to a call.
type ToolResult struct {
	ID     string `json:"id"`   // of the call
	Name   string `json:"name"` // of the tool
	Output string `json:"output"`
	Failed bool   `json:"failed,omitzero"` // Output is an error message
}

// Usage is the token count of an answer so far. A later one of the same answer replaces an earlier one.
type Usage struct {
	Input      int `json:"input"`               // of the prompt, including cached ones
	Output     int `json:"output"`              // of the answer, including reasoning
	CacheRead  int `json:"cacheRead,omitzero"`  // of Input: read from the provider's cache
	CacheWrite int `json:"cacheWrite,omitzero"` // of Input: written to it
	Reasoning  int `json:"reasoning,omitzero"`  // of Output: reasoning
}

// Add returns the sum of two usages.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		u.Input + v.Input, u.Output + v.Output, u.CacheRead + v.CacheRead,
		u.CacheWrite + v.CacheWrite, u.Reasoning + v.Reasoning,
	}
}

// End is the proper end of an answer.
type End struct {
	Reason Reason
	Model  string // the model that answered, as the provider reports it; "": not reported
}

// Reason is why an answer ended.
type Reason string

// The reasons.
const (
	Stop    Reason = "stop"    // the answer is complete
	Calls   Reason = "calls"   // the model waits for the results of its tool calls
	Length  Reason = "length"  // the answer reached its maximum length
	Refusal Reason = "refusal" // the model refuses, or a filter cut the answer off
	Other   Reason = "other"   // another reason of the provider
)

func (Text) part()      {}
func (Reasoning) part() {}
func (ToolCall) part()  {}
func (Usage) part()     {}
func (End) part()       {}

func (Text) block()       {}
func (Reasoning) block()  {}
func (ToolCall) block()   {}
func (ToolResult) block() {}

// IsContent reports whether a part is visible to the caller as an answer: text, reasoning, a tool call or
// usage. From then on the answer is committed.
func IsContent(p Part) bool {
	switch p := p.(type) {
	case Text:
		return p.Text != ""
	case Reasoning:
		return p.Text != "" || p.Signature != ""
	case ToolCall, Usage:
		return true
	}
	return false
}
