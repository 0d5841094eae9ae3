// Package api holds the JSON of the HTTP API for conversations and councils: what the server reads and
// answers. Package description describes these types in OpenAPI; their comments are its texts.
package api

import (
	"cmp"
	_ "embed"
	"fmt"
	"time"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// NewConversation is the body that creates a conversation.
type NewConversation struct {
	ID string `json:"id,omitzero"` // "": the server chooses one
	wire.Settings
}

// Conversation is a conversation and the state of its turn.
type Conversation struct {
	ID string `json:"id"`
	wire.Settings
	Created time.Time `json:"created"`
	Changed time.Time `json:"changed"`
	Seq     int64     `json:"seq"`             // of the last event: a reader that follows from here misses nothing
	TurnID  string    `json:"turnId,omitzero"` // the turn in progress; left out: none is
	Wait    *Wait     `json:"wait,omitzero"`   // the wait of that turn; left out: it does not wait
	Queue   []Input   `json:"queue"`           // the inputs that wait for their turn, the next first

	Paused   time.Time `json:"pausedSince,omitzero"` // no turn begins and no model is asked; left out: it is not paused
	Approval *Approval `json:"approval,omitzero"`    // the call that the turn waits with for the user's approval; left out: none
}

// Approval is a tool call that waits for the user's approval.
type Approval struct {
	ConversationID string    `json:"conversationId"`
	Title          string    `json:"title,omitzero"` // of the conversation
	TurnID         string    `json:"turnId"`
	Since          time.Time `json:"since"`
	turn.ApprovalRequested
}

// Approvals is the list of the tool calls that wait for approval.
type Approvals struct {
	Approvals []Approval `json:"approvals"`
}

// NewAnswer is the body that answers a request for approval.
type NewAnswer struct {
	Decision turn.Decision `json:"decision"` // "allow-once", "allow-always" (this tool in this conversation) or "deny"
}

// Wait is the wait of a turn for its next try.
type Wait struct {
	Until       time.Time    `json:"until"`
	RemainingMs int64        `json:"remainingMs"`
	Retry       wire.Ordinal `json:"attempt"`       // the number of the next retry, from 0
	Kind        string       `json:"kind"`          // of the fault
	Code        string       `json:"code,omitzero"` // of the fault, such as "529"; "worker": a worker has failed, and another takes the turn up
	Message     string       `json:"message"`       // the provider's text
}

// Input is a user message that waits for its turn.
type Input struct {
	ID     string      `json:"id"`
	Text   string      `json:"text"`
	At     time.Time   `json:"at"`
	Images []llm.Image `json:"images,omitzero"` // what the text is about

	Compact bool   `json:"compact,omitzero"`     // it makes the history smaller; the text is what it asks of the summary
	Steers  bool   `json:"steers,omitzero"`      // the turn in progress takes it before its next question to the model
	Parent  string `json:"traceparent,omitzero"` // of the request that it came with (W3C Trace Context)

	UntilReset bool `json:"untilReset,omitzero"` // its turn waits for a usage window that is spent, whatever the policy says
}

// Summary is a conversation in a list.
type Summary struct {
	ID      string    `json:"id"`
	Title   string    `json:"title,omitzero"` // left out: nothing was said so far
	Model   string    `json:"model"`
	Turns   int       `json:"turns,omitzero"` // that have begun, as far as is known
	Created time.Time `json:"created"`
	Changed time.Time `json:"changed"`
	Paused  time.Time `json:"pausedSince,omitzero"` // left out: it is not
}

// Page is a part of the list of conversations.
type Page struct {
	Conversations []Summary `json:"conversations"`
	Before        string    `json:"before,omitzero"` // continues the list; left out: this is its end
}

// Change is the body that changes the settings of a conversation. Missing fields do not change.
type Change struct {
	Model    *string      `json:"model,omitzero"`      // such as "anthropic/claude-opus-4-5"
	Fallback *[]string    `json:"fallback,omitzero"`   // models that take over, in this order
	Patience *wire.Millis `json:"patienceMs,omitzero"` // how long faults may last before a fallback takes over
	System   *string      `json:"system,omitzero"`     // the system prompt
	Policy   *string      `json:"policy,omitzero"`     // the name of a policy; "": the default
	Effort   *string      `json:"effort,omitzero"`     // how hard the model thinks: "low", "medium" or "high"; "": the model's default
	Title    *string      `json:"title,omitzero"`      // shown in lists; "": the first words
	Agent    *string      `json:"agent,omitzero"`      // the agent of the configuration whose tools the model may call; "": it has no tools
	Dir      *string      `json:"dir,omitzero"`        // the directory of the file tools, below the agent's files; "": all of these
}

// To applies the change to settings.
func (c Change) To(s wire.Settings) wire.Settings {
	set(&s.Model, c.Model)
	set(&s.Fallback, c.Fallback)
	set(&s.Patience, c.Patience)
	set(&s.System, c.System)
	set(&s.Policy, c.Policy)
	set(&s.Effort, c.Effort)
	set(&s.Title, c.Title)
	set(&s.Agent, c.Agent)
	set(&s.Dir, c.Dir)
	return s
}

// ChangeTo returns the change that sets all settings.
func ChangeTo(s wire.Settings) Change {
	if s.Fallback == nil {
		s.Fallback = []string{}
	}
	return Change{
		Model: &s.Model, Fallback: &s.Fallback, Patience: &s.Patience, System: &s.System, Policy: &s.Policy, Effort: &s.Effort, Title: &s.Title,
		Agent: &s.Agent, Dir: &s.Dir,
	}
}

func set[T any](value, to *T) {
	if to != nil {
		*value = *to
	}
}

// NewTurn is the body that adds a user message.
type NewTurn struct {
	ID     string     `json:"id,omitzero"` // of the turn; "": the server chooses one
	Text   string     `json:"text"`
	Images []NewImage `json:"images,omitzero"` // what the text is about; at most 20, with 12 MiB together
}

// NewImage is an image of a user message: a PNG, JPEG, GIF or WebP of at most 3.75 MiB and 8000 pixels each way.
type NewImage struct {
	Name string `json:"name,omitzero"` // of its file, shown to people
	Data []byte `json:"data"`          // the file, in base64; its type is that of its bytes
}

// Compact is the body that compacts the history of a conversation.
type Compact struct {
	ID          string `json:"id,omitzero"`          // of the turn; "": the server chooses one
	Instruction string `json:"instruction,omitzero"` // what is asked of the summary; "": nothing
}

// Again is the body that repeats the unanswered question of the last turn.
type Again struct {
	ID         string `json:"id,omitzero"`         // of the new turn; "": the server chooses one
	UntilReset bool   `json:"untilReset,omitzero"` // it waits for a usage window that is spent, whatever its policy says
}

// Move is the body that makes the running turn ask another model.
type Move struct {
	Model string `json:"model"` // such as "openai/gpt-5"
}

// Stop is the body that stops a turn.
type Stop struct {
	TurnID string `json:"turnId,omitzero"` // "": the turn in progress, whichever it is
}

// Queue is the answer with the inputs of a conversation.
type Queue struct {
	Queue []Input `json:"queue"` // the next first
}

// Restored is the answer to the import of a conversation.
type Restored struct {
	Added      int  `json:"added"`               // records; 0: the conversation was there already
	InProgress bool `json:"inProgress,omitzero"` // a turn goes on, or an input waits
}

// NewText is the body that replaces the text of an input.
type NewText struct {
	Text string `json:"text"`
}

// Command is one action in a conversation, as a message of a WebSocket.
type Command struct {
	Do   string `json:"do"`            // "say", "compact", "again", "stop", "now", "pause", "resume", "move", "edit", "remove", "steer" or "answer"
	ID   string `json:"id,omitzero"`   // of the input, or of the call to answer; "" with "say" and "compact": the server chooses one
	Text string `json:"text,omitzero"` // to say, or the new text of an input; with "compact" what is asked of the summary

	Images []NewImage `json:"images,omitzero"` // with "say": what the text is about

	TurnID string `json:"turnId,omitzero"` // of the turn to stop; "": the turn in progress, whichever it is
	Model  string `json:"model,omitzero"`  // that the turn in progress moves to

	UntilReset bool `json:"untilReset,omitzero"` // with "again": the turn waits for a usage window that is spent

	Decision turn.Decision `json:"decision,omitzero"`    // the answer: "allow-once", "allow-always" (this tool in this conversation) or "deny"
	Parent   string        `json:"traceparent,omitzero"` // of the client's span (W3C Trace Context); "": that of the handshake
}

// Done is the answer to a command that was accepted.
type Done struct {
	Did    string `json:"did"`
	ID     string `json:"id,omitzero"`
	TurnID string `json:"turnId,omitzero"`
	Paused bool   `json:"paused,omitzero"` // the conversation is: the turn begins when it is resumed
}

// Rejected is the answer to a command that was not accepted.
type Rejected struct {
	Do string `json:"do,omitzero"` // the command; left out: it could not be read
	*Problem
}

// NewCouncil is the body that asks a council.
type NewCouncil struct {
	Question         string      `json:"question"`
	Models           []string    `json:"models"`                    // the members, 2 to 16; the same model may be listed more than once
	Judge            string      `json:"judge,omitzero"`            // the model that combines the answers; "": that of the first member
	System           string      `json:"system,omitzero"`           // the system prompt of the members and the judge
	Quorum           int         `json:"quorum,omitzero"`           // how many answers are enough; 0: 2
	Budget           wire.Millis `json:"budgetMs,omitzero"`         // of each member over all its tries; 0: 270000
	Reserve          wire.Millis `json:"reserveMs,omitzero"`        // what must be left of the budget for another try; 0: 30000
	Grace            wire.Millis `json:"graceMs,omitzero"`          // for the other members, once there are enough answers; 0: 30000
	JudgeBudget      wire.Millis `json:"judgeBudgetMs,omitzero"`    // of the judge over all its tries; 0: 120000
	Cap              wire.Millis `json:"capMs,omitzero"`            // of the whole, the judge's budget included; 0: 420000
	AttemptsInPrompt bool        `json:"attemptsInPrompt,omitzero"` // the judge reads how many tries each member took
}

// Council is a council that has ended.
type Council struct {
	ID      string          `json:"id"`
	Status  turn.Status     `json:"status"`
	Answer  string          `json:"answer,omitzero"`  // left out: there is none
	Message string          `json:"message,omitzero"` // why it failed
	Took    wire.Millis     `json:"tookMs"`
	Members []CouncilMember `json:"members"`
	Judge   *CouncilMember  `json:"judge,omitzero"` // left out: it was not asked
}

// CouncilMember is the outcome of a member or of the judge.
type CouncilMember struct {
	Model   string      `json:"model"`
	State   string      `json:"state"` // "answered", "failed" or "cut-off"
	Tries   int         `json:"tries"`
	Took    wire.Millis `json:"tookMs"`
	Answer  string      `json:"answer,omitzero"`
	Reason  string      `json:"reason,omitzero"`  // why it was cut off: "grace", "cap" or "stopped"
	Kind    string      `json:"kind,omitzero"`    // of its last fault
	Code    string      `json:"code,omitzero"`    // of that fault
	Message string      `json:"message,omitzero"` // of that fault: the provider's text
}

//go:embed openapi.json.gz
var openAPI string

//go:embed events.schema.json.gz
var events string

// OpenAPI returns the description of conversations and councils, in OpenAPI 3.1 with gzip.
func OpenAPI() string { return openAPI }

// Events returns the description of all events, in JSON Schema, draft 2020-12, with gzip.
func Events() string { return events }

// Problem is an error document (RFC 9457). Its type is about:blank, which is omitted; programs use the code.
type Problem struct {
	Title  string `json:"title"` // the text of the status
	Status int    `json:"status"`
	Code   string `json:"code"`   // stable across versions
	Detail string `json:"detail"` // a sentence to show
}

// Error returns the detail, or else the status.
func (p *Problem) Error() string {
	return cmp.Or(p.Detail, fmt.Sprintf("the server answered %d", p.Status))
}

// Time returns a time as the API shows it: UTC, in milliseconds. Zero stays zero.
func Time(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC().Truncate(time.Millisecond)
}

// RemainingMs returns the milliseconds from now until t, at least 0; 0 for the zero time.
func RemainingMs(t, now time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return max(0, t.Sub(now).Milliseconds())
}

// Percent returns a share in whole percent, rounded down: only a complete share is 100.
func Percent(share float64) int { return int(100*share + 1e-9) }

// Credential returns the display name of a credential that the gateway knows by a digest: its first characters,
// which distinguish a few of them.
func Credential(digest string) string {
	const own, shown = "own", 5
	if digest == own {
		return own
	}
	return digest[:min(len(digest), shown)] + "…"
}
