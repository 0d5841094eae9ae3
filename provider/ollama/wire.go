package ollama

import "encoding/json"

// What follows is the API's own form, as docs/api.md of ollama/ollama describes it: of a request what is
// sent, and of an answer what is read.

// request asks for an answer.
type request struct {
	Model    string         `json:"model"`
	Messages []message      `json:"messages"`
	Stream   bool           `json:"stream"`
	Tools    []tool         `json:"tools,omitzero"`
	Options  map[string]int `json:"options"`
	Think    any            `json:"think,omitzero"` // a bool, or a level for gpt-oss
	Truncate bool           `json:"truncate"`       // drop the oldest messages of a conversation that does not fit
	Shift    bool           `json:"shift"`          // the same while the answer is made
}

// message is one in a conversation, or some of an answer.
type message struct {
	Role      string   `json:"role"`
	Content   string   `json:"content"`
	Images    [][]byte `json:"images,omitzero"` // encoding/json writes them in base64
	Thinking  string   `json:"thinking,omitzero"`
	ToolCalls []call   `json:"tool_calls,omitzero"`

	// Of a tool's result.
	ToolName   string `json:"tool_name,omitzero"`
	ToolCallID string `json:"tool_call_id,omitzero"`
}

type call struct {
	ID       string   `json:"id,omitzero"`
	Function function `json:"function"`
}

type function struct {
	Index     int             `json:"index"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

type tool struct {
	Type     string     `json:"type"`
	Function definition `json:"function"`
}

type definition struct {
	Name        string `json:"name"`
	Description string `json:"description,omitzero"`
	Parameters  schema `json:"parameters"`
}

// schema is a JSON Schema by its members. The server ignores those that it does not support.
type schema map[string]json.RawMessage

// line is a line of an answer that streams, or all of one that does not.
type line struct {
	Model           string  `json:"model"`
	Message         message `json:"message"`
	Done            bool    `json:"done"`
	DoneReason      string  `json:"done_reason"`
	PromptEvalCount int     `json:"prompt_eval_count"`
	EvalCount       int     `json:"eval_count"`
}
