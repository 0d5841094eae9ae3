package turn

import (
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
)

// Event is something that happens in a turn. These are kept, and a [State] is
// what they add up to: [Start], [UserMessage], [AssistantMessage], [ToolCall],
// [ToolResult], [Usage], [Compacted], [Switched], [Restarted], [Error] and
// [Sealed]. These only pass by: [TextDelta], [ReasoningDelta], [Retry],
// [Waiting] and [Recovered].
type Event interface {
	// Type gives the event's type in kebab-case, as it is on the wire.
	Type() string
}

// Start begins a turn.
type Start struct {
	ID string `json:"id,omitzero"` // the turn's; "": nobody needs one
}

// UserMessage is what the user says: at the beginning of a turn, or in the
// middle of one to steer it.
type UserMessage struct {
	Text string `json:"text"`
	ID   string `json:"inputId,omitzero"` // of the input that it was, where it steers; "": it is the turn's own
}

// AssistantMessage is a model's whole answer, or what had come of one that
// broke off.
type AssistantMessage struct {
	llm.Name             // who spoke
	Content  llm.Content `json:"content"`
	Reason   llm.Reason  `json:"reason,omitzero"`
	Partial  bool        `json:"partial,omitzero"` // it broke off: only its text is here
}

// ToolCall says that a tool is about to be run: whether it was is not known
// until its result is there.
type ToolCall struct{ llm.ToolCall }

// ToolResult is what a tool has answered, or why it was not run.
type ToolResult struct{ llm.ToolResult }

// Usage is what one answer has cost.
type Usage struct {
	llm.Name
	llm.Usage
}

// Compacted says that the history was made smaller, because it did not fit
// into the model.
type Compacted struct {
	Outputs  []string `json:"outputs,omitzero"`  // the calls whose outputs were left out, by id
	Messages int      `json:"messages,omitzero"` // how many of the oldest messages the summary stands for; 0: none
	Summary  string   `json:"summary,omitzero"`
}

// Switched says that the next model has taken over.
type Switched struct {
	From string `json:"from"` // as "anthropic/claude-opus-4-5"
	To   string `json:"to"`
	Why  string `json:"why,omitzero"` // the last words of the one that is left
}

// Restarted says that a worker has died and another goes on: what has streamed
// since the last kept event is void.
type Restarted struct{}

// Error is what a turn failed of.
type Error struct {
	llm.Name               // who was asked
	Message   string       `json:"message"`
	Kind      string       `json:"kind"`
	Code      string       `json:"code,omitzero"`
	RequestID string       `json:"requestId,omitzero"` // the provider's, for its support
	Retries   int          `json:"retries"`
	WaitedMs  int64        `json:"waitedMs"`
	Committed bool         `json:"committed,omitzero"` // some of the answer had come, so it was not asked for again
	Fault     *fault.Error `json:"-"`                  // nil in a replay
}

// Status is how a turn has ended.
type Status string

// The ends of a turn.
const (
	Done    Status = "done"    // the model has answered
	Failed  Status = "failed"  // an [Error] says of what
	Aborted Status = "aborted" // somebody stopped it
)

// Sealed ends a turn.
type Sealed struct {
	Status Status `json:"status"`
	Metrics
}

// Metrics is what a turn has taken.
type Metrics struct {
	RetryCount         int   `json:"retryCount"`
	TotalRetryDelayMs  int64 `json:"totalRetryDelayMs"`           // really spent waiting
	TimeToFirstTokenMs int64 `json:"timeToFirstTokenMs,omitzero"` // from the turn's beginning to the first content; 0: there was none
	DurationMs         int64 `json:"durationMs"`
	InputTokens        int   `json:"inputTokens"`
	OutputTokens       int   `json:"outputTokens"`
}

// TextDelta is some of what the model says.
type TextDelta struct {
	Text string `json:"text"`
}

// ReasoningDelta is some of what the model thinks aloud.
type ReasoningDelta struct {
	Text string `json:"text"`
}

// Retry says that a try has failed and that another is made after a wait,
// which begins now.
type Retry struct {
	llm.Name               // who is asked
	Fault    *fault.Error  // what failed
	Attempt  int           // the number of the retry, from 0
	Delay    time.Duration // the wait before it
	Hinted   bool          // the provider asks for this wait
	Limit    int           // how many retries there may be; policy.Unlimited for no limit
	Deadline time.Time     // the latest end of waiting; zero: no budget bounds it
}

// Waiting is said every 30 seconds of a wait.
type Waiting struct {
	llm.Name
	Attempt   int // of the retry that is waited for, from 0
	Remaining time.Duration
}

// Recovered says that a model answers again.
type Recovered struct {
	llm.Name
	Retries int
	Waited  time.Duration
}

// Type gives "turn-start".
func (Start) Type() string { return "turn-start" }

// Type gives "user-message".
func (UserMessage) Type() string { return "user-message" }

// Type gives "assistant-message".
func (AssistantMessage) Type() string { return "assistant-message" }

// Type gives "tool-call".
func (ToolCall) Type() string { return "tool-call" }

// Type gives "tool-result".
func (ToolResult) Type() string { return "tool-result" }

// Type gives "usage".
func (Usage) Type() string { return "usage" }

// Type gives "compacted".
func (Compacted) Type() string { return "compacted" }

// Type gives "provider-switched".
func (Switched) Type() string { return "provider-switched" }

// Type gives "turn-restarted".
func (Restarted) Type() string { return "turn-restarted" }

// Type gives "error".
func (Error) Type() string { return "error" }

// Type gives "turn-sealed".
func (Sealed) Type() string { return "turn-sealed" }

// Type gives "text-delta".
func (TextDelta) Type() string { return "text-delta" }

// Type gives "reasoning-delta".
func (ReasoningDelta) Type() string { return "reasoning-delta" }

// Type gives "provider-retry".
func (Retry) Type() string { return "provider-retry" }

// Type gives "provider-waiting".
func (Waiting) Type() string { return "provider-waiting" }

// Type gives "provider-recovered".
func (Recovered) Type() string { return "provider-recovered" }

// Kept tells whether an event is part of the conversation and must last. A
// retry is not: what a provider says of its troubles never reaches a prompt.
func Kept(e Event) bool {
	switch e.(type) {
	case TextDelta, ReasoningDelta, Retry, Waiting, Recovered:
		return false
	}
	return true
}
