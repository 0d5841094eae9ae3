package turn

import (
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/policy"
)

// Event is something that happens in a turn, or in a call to a provider. Only
// this package has events. [Marshal] writes one as JSON.
//
// These are kept, and a [State] is their sum: [Start], [UserMessage], [AssistantMessage], [ApprovalRequested],
// [ApprovalAnswered], [ToolCall], [ToolResult], [Usage], [Compacted], [Switched], [Restarted], [Error] and
// [Sealed]. These are transient:
// [TextDelta], [ReasoningDelta], [Retry], [Waiting], [Recovered], [MCPRetry] and [MCPRecovered].
type Event interface {
	kind() string
}

// Type returns an event's type on the wire, such as "provider-retry".
func Type(e Event) string { return e.kind() }

// Start begins a turn.
type Start struct {
	ID string `json:"id,omitzero"` // the turn's; "": it has none

	Compact     bool   `json:"compact,omitzero"`     // the turn makes the history smaller, and answers nothing
	Instruction string `json:"instruction,omitzero"` // what the user asks of the summary; "": nothing
}

// UserMessage is what the user says: at the beginning of a turn, or in the middle of one to steer it.
type UserMessage struct {
	Text   string      `json:"text"`
	ID     string      `json:"inputId,omitzero"` // of the queued input that steers the turn; "": it is the turn's own
	Images []llm.Image `json:"images,omitzero"`  // what the user shows with it; their files are kept beside the event
}

// AssistantMessage is a model's whole answer, or the part that arrived of one that broke off.
type AssistantMessage struct {
	llm.Name             // the model
	Content  llm.Content `json:"content"`
	Reason   llm.Reason  `json:"reason,omitzero"`
	Partial  bool        `json:"partial,omitzero"` // it broke off: only its text is here

	Continued int `json:"continued,omitzero"` // how often it had broken off and the model was asked for the rest
}

// ToolCall means that a tool is about to be run: whether it was is not known until its result is there.
type ToolCall struct{ llm.ToolCall }

// ApprovalRequested means that a call waits until the user allows or denies it.
type ApprovalRequested struct {
	llm.ToolCall
	Until time.Time `json:"until,omitzero"` // when it is denied without an answer; zero: never
}

// ApprovalAnswered means that a call that waits for approval may run, or may not.
type ApprovalAnswered struct {
	ID       string   `json:"id"` // of the call
	Decision Decision `json:"decision"`
}

// Decision is the answer to a request for approval.
type Decision string

// The decisions.
const (
	AllowOnce   Decision = "allow-once"
	AllowAlways Decision = "allow-always" // this tool in this conversation
	Deny        Decision = "deny"
	Expired     Decision = "expired" // there was no answer in time
)

// Allows reports whether the call may run.
func (d Decision) Allows() bool { return d == AllowOnce || d == AllowAlways }

// ToolResult is a tool's output, or why it was not run.
type ToolResult struct{ llm.ToolResult }

// Usage is what one answer has cost.
type Usage struct {
	llm.Name
	llm.Usage
}

// Compacted means that the history was made smaller, because it did not fit into the model or the user has asked for it.
type Compacted struct {
	Asked    bool     `json:"asked,omitzero"`    // by the user; left out: the history did not fit into the model
	Outputs  []string `json:"outputs,omitzero"`  // the calls whose outputs were left out, by id
	Messages int      `json:"messages,omitzero"` // how many of the oldest messages the summary replaces; 0: none
	Summary  string   `json:"summary,omitzero"`

	TokensBefore int `json:"tokensBefore,omitzero"` // of the history, estimated; 0: not known
	TokensAfter  int `json:"tokensAfter,omitzero"`
}

// Switched means that the call continues at the next upstream, or with the next model.
type Switched struct {
	llm.Name        // the call's; zero: From and To name the models
	Upstream string `json:"upstream,omitzero"`
	From     string `json:"from"`         // an upstream, or a model such as "anthropic/claude-opus-4-5"
	To       string `json:"to"`           // the one that is asked from now on
	Why      string `json:"why,omitzero"` // the last error of the one that is left
}

// Restarted means that a worker has died and another continues: what has streamed
// since the last kept event is void.
type Restarted struct{}

// WorkerFailed is the code of a wait, and of a turn's end, that no provider has caused: workers of the turn have
// failed, or have died with their process.
const WorkerFailed = "worker"

// Error is the reason why a turn or a call failed for good.
type Error struct {
	llm.Name                // the model
	Upstream  string        `json:"upstream,omitzero"`
	Message   string        `json:"message"`
	Kind      string        `json:"kind"`
	Code      string        `json:"code,omitzero"`
	RequestID string        `json:"requestId,omitzero"` // the provider's, for its support
	Retries   int           `json:"retries"`
	Waited    time.Duration `json:"waitedMs"`

	RetryAfter time.Duration `json:"retryAfterMs,omitzero"` // how long the provider asks to wait, which the policy does not allow; 0: it does

	Stop  policy.Stop  `json:"-"` // why there was no other try; "": not the policy ended it. JSON says whether it is policy.Committed or policy.RetryAfterTooLong
	Fault *fault.Error `json:"-"` // read from JSON: as much of it as JSON has
}

// NewError returns the event for a fault that ends a call.
func NewError(f *fault.Error, retries int, waited time.Duration) Error {
	return Error{
		Message: f.Redacted(), Kind: f.Kind.String(), Code: f.ShortCode(), RequestID: f.RequestID,
		Retries: retries, Waited: waited, Fault: f,
	}
}

// Committed reports whether some of the answer had arrived, so that it was not asked for again.
func (e Error) Committed() bool { return e.Stop == policy.Committed }

// OfImages reports whether the model takes no images, or not those of the request.
func (e Error) OfImages() bool { return e.Fault != nil && e.Fault.Images }

// Left reports whether the call ended because its caller left, and not by a provider's fault.
func (e Error) Left() bool { return e.Stop == "" && e.Fault != nil && e.Fault.Kind == fault.Canceled }

// Status is how a turn has ended.
type Status string

// The ends of a turn.
const (
	Done    Status = "done"    // the model has answered
	Failed  Status = "failed"  // an [Error] says why
	Aborted Status = "aborted" // the user or an operator stopped it
)

// Sealed ends a turn.
type Sealed struct {
	Status Status `json:"status"`
	Metrics
}

// Metrics is what a turn has taken.
type Metrics struct {
	RetryCount       int           `json:"retryCount"`
	TotalRetryDelay  time.Duration `json:"totalRetryDelayMs"`           // really spent waiting
	TimeToFirstToken time.Duration `json:"timeToFirstTokenMs,omitzero"` // from the turn's beginning to the first content; 0: there was none
	Duration         time.Duration `json:"durationMs"`
	InputTokens      int           `json:"inputTokens"`
	OutputTokens     int           `json:"outputTokens"`
}

// TextDelta is the next part of the model's text.
type TextDelta struct {
	Text string `json:"text"`
}

// ReasoningDelta is the next part of the model's reasoning.
type ReasoningDelta struct {
	Text string `json:"text"`
}

// Retry means that a try has failed and another follows after a wait, which begins now.
type Retry struct {
	llm.Name           // the model
	Upstream    string // the configured name of the upstream; "": none is configured
	policy.Wait        // read from JSON: without Due and Waited, and of Run only Tries
	Cache       PromptCache
}

// PromptCache is what a provider keeps of a session's prompt. A try after its end costs several times as much input.
type PromptCache struct {
	Until  time.Time // its end, unless it is used before; zero: no cache is known
	Tokens int64     // that it holds
}

// Waiting is sent every 30 seconds of a wait.
type Waiting struct {
	llm.Name
	Upstream  string
	Retry     int           // the number of the retry at its end, from 1
	Remaining time.Duration // of the wait
}

// Recovered means that a model answers again.
type Recovered struct {
	llm.Name
	Upstream string        `json:"upstream,omitzero"`
	Retries  int           `json:"retries"`
	Waited   time.Duration `json:"waitedMs"` // really spent waiting
}

// MCPRetry means that an MCP server was not reached or has failed, and is tried again after a wait, which begins now.
type MCPRetry struct {
	Server      string
	Call        string // the id of the call that waits; "": the turn begins, and needs the server's tools
	policy.Wait        // as of [Retry]
}

// MCPRecovered means that an MCP server answers again.
type MCPRecovered struct {
	Server  string
	Call    string // as of [MCPRetry]
	Retries int
	Waited  time.Duration // really spent waiting
}

func (Start) kind() string             { return "turn-start" }
func (UserMessage) kind() string       { return "user-message" }
func (AssistantMessage) kind() string  { return "assistant-message" }
func (ToolCall) kind() string          { return "tool-call" }
func (ToolResult) kind() string        { return "tool-result" }
func (ApprovalRequested) kind() string { return "approval-requested" }
func (ApprovalAnswered) kind() string  { return "approval-answered" }
func (Usage) kind() string             { return "usage" }
func (Compacted) kind() string         { return "compacted" }
func (Switched) kind() string          { return "provider-switched" }
func (Restarted) kind() string         { return "turn-restarted" }
func (Error) kind() string             { return "error" }
func (Sealed) kind() string            { return "turn-sealed" }
func (TextDelta) kind() string         { return "text-delta" }
func (ReasoningDelta) kind() string    { return "reasoning-delta" }
func (Retry) kind() string             { return "provider-retry" }
func (Waiting) kind() string           { return "provider-waiting" }
func (Recovered) kind() string         { return "provider-recovered" }
func (MCPRetry) kind() string          { return "mcp-retry" }
func (MCPRecovered) kind() string      { return "mcp-recovered" }

// Kept reports whether an event is part of the conversation and must last. A
// retry is not: a provider's error text never reaches a prompt.
func Kept(e Event) bool {
	switch e.(type) {
	case TextDelta, ReasoningDelta, Retry, Waiting, Recovered, MCPRetry, MCPRecovered:
		return false
	}
	return true
}
