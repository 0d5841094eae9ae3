package anthropic

import "encoding/json"

// What follows is the API's own form, as platform.claude.com/docs/en/api/messages describes it: of a request
// what is sent, and of an answer what is read.

// request asks for an answer.
type request struct {
	Model     string        `json:"model"`
	MaxTokens int           `json:"max_tokens"`
	System    []block       `json:"system,omitzero"`
	Messages  []message     `json:"messages"`
	Tools     []tool        `json:"tools,omitzero"`
	Thinking  *thinking     `json:"thinking,omitzero"`
	Output    *outputConfig `json:"output_config,omitzero"`
	Stream    bool          `json:"stream,omitzero"`
}

// message is one of a conversation.
type message struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

// The roles.
const (
	roleUser      = "user"
	roleAssistant = "assistant"
)

// The types of blocks.
const (
	typeText     = "text"
	typeImage    = "image"
	typeThinking = "thinking"
	typeRedacted = "redacted_thinking"
	typeToolUse  = "tool_use"
	typeResult   = "tool_result"
)

// block is a block of content, of a message or an answer.
type block struct {
	Type string `json:"type"`
	Text string `json:"text,omitzero"`

	Source *source `json:"source,omitzero"` // of an image

	// Of thinking; a signature may stand alone.
	Thinking  *string `json:"thinking,omitzero"`
	Signature string  `json:"signature,omitzero"`
	Data      string  `json:"data,omitzero"` // of redacted thinking

	// Of a call.
	ID    string          `json:"id,omitzero"`
	Name  string          `json:"name,omitzero"`
	Input json.RawMessage `json:"input,omitzero"`

	// Of a tool's result.
	ToolUseID string  `json:"tool_use_id,omitzero"`
	IsError   bool    `json:"is_error,omitzero"`
	Content   []block `json:"content,omitzero"`

	Cache *cacheControl `json:"cache_control,omitzero"` // the request may be cached up to here
}

// source has an image; encoding/json writes its bytes in base64.
type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      []byte `json:"data"`
}

type cacheControl struct {
	Type string `json:"type"`
}

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitzero"`
	Schema      json.RawMessage `json:"input_schema"`
	Cache       *cacheControl   `json:"cache_control,omitzero"`
}

// thinking has a budget, or lets the model decide.
type thinking struct {
	Type    string `json:"type"`
	Budget  int    `json:"budget_tokens,omitzero"`
	Display string `json:"display,omitzero"`
}

type outputConfig struct {
	Effort string `json:"effort"`
}

// event is any event of a stream.
type event struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message answer `json:"message"`       // of message_start
	Block   block  `json:"content_block"` // of content_block_start
	Delta   delta  `json:"delta"`         // of content_block_delta and message_delta
	Usage   counts `json:"usage"`         // of message_delta
}

type delta struct {
	Type        string `json:"type"`
	Text        string `json:"text"`
	Thinking    string `json:"thinking"`
	Signature   string `json:"signature"`
	PartialJSON string `json:"partial_json"`
	StopReason  string `json:"stop_reason"`
}

// answer is an answer, whole or as it begins.
type answer struct {
	Model      string  `json:"model"`
	Content    []block `json:"content"`
	StopReason string  `json:"stop_reason"`
	Usage      counts  `json:"usage"`
}

// counts are the tokens as the API counts: input excludes cache reads and writes.
type counts struct {
	Input   int `json:"input_tokens"`
	Read    int `json:"cache_read_input_tokens"`
	Written int `json:"cache_creation_input_tokens"`
	Output  int `json:"output_tokens"`
	Details struct {
		Thinking int `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}
