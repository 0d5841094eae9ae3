package llm

import "encoding/json"

// Part is a piece of an answer as it streams: [Text], [Reasoning], [ToolCall],
// [Usage] or [End].
type Part interface{ part() }

// Block is a piece of a message: [Text], [Reasoning], [ToolCall] or
// [ToolResult].
type Block interface{ block() }

// Text is some of what the model says, or all of it in a message.
type Text struct {
	Text string `json:"text"`
}

// Reasoning is some of what the model thinks aloud before it speaks.
type Reasoning struct {
	Text string `json:"text,omitzero"`

	// Signature is what the provider wants back with this reasoning, as it
	// gave it: its form is the provider's own. It ends a run of reasoning: what
	// follows is the next one. "": nothing (more) to give back.
	Signature string `json:"signature,omitzero"`
}

// ToolCall is the model's wish that a tool be run. It comes whole.
type ToolCall struct {
	ID        string          `json:"id"` // unique in the conversation; the provider's, or one that was made for it
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`          // a JSON object as the model wrote it; what is no JSON is a JSON string
	Signature string          `json:"signature,omitzero"` // as of Reasoning
}

// ToolResult is what a tool has answered to a call.
type ToolResult struct {
	ID     string `json:"id"`   // of the call
	Name   string `json:"name"` // of the tool
	Output string `json:"output"`
	Failed bool   `json:"failed,omitzero"` // the output says what went wrong
}

// Usage is what an answer has cost so far, in tokens. A later one of the same
// answer takes the place of an earlier one.
type Usage struct {
	Input      int `json:"input"`               // of the prompt, cached ones included
	Output     int `json:"output"`              // of the answer, reasoning included
	CacheRead  int `json:"cacheRead,omitzero"`  // of Input: read from the provider's cache
	CacheWrite int `json:"cacheWrite,omitzero"` // of Input: written to it
	Reasoning  int `json:"reasoning,omitzero"`  // of Output: thinking
}

// Add gives the sum of two usages.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		u.Input + v.Input, u.Output + v.Output, u.CacheRead + v.CacheRead,
		u.CacheWrite + v.CacheWrite, u.Reasoning + v.Reasoning,
	}
}

// End is the proper end of an answer.
type End struct {
	Reason Reason
	Model  string // the model that answered, as the provider says; "": it did not say
}

// Reason is why an answer has ended.
type Reason string

// The reasons.
const (
	Stop    Reason = "stop"    // the model has said all
	Calls   Reason = "calls"   // it waits for the results of its tool calls
	Length  Reason = "length"  // it reached the bound of its answer
	Refusal Reason = "refusal" // it will not answer, or a filter has cut it off
	Other   Reason = "other"   // the provider has a reason of its own
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

// IsContent tells whether a part is something that a caller sees as an answer:
// text, reasoning, a tool call or usage. From then on the answer is committed.
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
