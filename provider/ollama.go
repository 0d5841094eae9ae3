package provider

import (
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/api/ollama"
	"github.com/ridethrough/ridethrough/llm"
)

// Ollama returns a model of an Ollama server. The base URL is its address in any form of OLLAMA_HOST; "":
// http://127.0.0.1:11434. The key is for ollama.com. An invalid Config is reported by the first request.
func Ollama(c Config) *Model { return newModel(c, &ollamaDialect, "ollama", "") }

var ollamaDialect = dialect{
	api: ollama.API(), form: api.Lines, silent: llm.Stop,
	ask: func(m *Model, r llm.Request) (question, error) {
		base, err := ParseHost(m.config.BaseURL)
		if err != nil {
			return question{}, err
		}
		q, err := m.ollamaRequest(r)
		header := http.Header{"Accept": {"application/x-ndjson"}, "Authorization": {bearer(m.config.Key)}}
		return question{base.String(), []string{"api", "chat"}, header, q}, err
	},
}

// ollamaRequest converts a request. A conversation longer than the context window is to be an error: by default
// the server silently drops the oldest messages.
func (m *Model) ollamaRequest(r llm.Request) (*ollamaRequest, error) {
	q := &ollamaRequest{Model: m.config.Model, Stream: !r.NoStream, Think: m.ollamaThink(r.Effort), Options: map[string]int{}}
	if r.MaxTokens > 0 {
		q.Options["num_predict"] = r.MaxTokens
	}
	if m.config.Context > 0 {
		q.Options["num_ctx"] = m.config.Context
	}
	for _, t := range r.Tools {
		tool, err := ollamaToolOf(t)
		if err != nil {
			return nil, err
		}
		q.Tools = append(q.Tools, tool)
	}
	if r.System != "" {
		q.Messages = append(q.Messages, ollamaMessage{Role: "system", Content: r.System})
	}
	for _, msg := range r.Messages {
		converted, err := m.ollamaMessages(msg)
		if err != nil {
			return nil, err
		}
		q.Messages = append(q.Messages, converted...)
	}
	return q, nil
}

// ollamaThink converts an effort: gpt-oss has three levels, others think or do not.
func (m *Model) ollamaThink(e llm.Effort) any {
	switch {
	case e == "":
		return nil
	case strings.Contains(m.config.Model, "gpt-oss"):
		return e
	}
	return true
}

// ollamaMessages converts a message; the API has one for each tool result. An empty message of a model is left out.
func (m *Model) ollamaMessages(msg llm.Message) ([]ollamaMessage, error) {
	switch msg.Role {
	case llm.User:
		said := ollamaMessage{Role: "user", Content: msg.Text()}
		for _, image := range msg.Content.Images() {
			said.Images = append(said.Images, image.Data)
		}
		return []ollamaMessage{said}, nil
	case llm.ToolRole:
		var results []ollamaMessage
		for _, r := range msg.Content.Results() {
			results = append(results, ollamaMessage{Role: "tool", Content: r.Output, ToolName: r.Name, ToolCallID: r.ID})
		}
		return results, nil
	case llm.Assistant:
		converted := ollamaAssistant(msg, msg.By.Provider == m.Name().Provider)
		if converted.Content == "" && converted.ToolCalls == nil {
			return nil, nil
		}
		return []ollamaMessage{converted}, nil
	}
	return nil, invalidRequest("unknown role "+strconv.Quote(string(msg.Role)), nil)
}

// ollamaAssistant converts a model's message. own means that the same server produced it and gets its reasoning
// back: its template decides how much of it to use.
func ollamaAssistant(msg llm.Message, own bool) ollamaMessage {
	converted := ollamaMessage{Role: "assistant", Content: msg.Text()}
	for _, b := range msg.Content {
		switch b := b.(type) {
		case llm.Reasoning:
			if own {
				converted.Thinking += b.Text
			}
		case llm.ToolCall:
			f := ollamaFunction{Index: len(converted.ToolCalls), Name: b.Name, Arguments: ArgumentsObject(b.Arguments)}
			converted.ToolCalls = append(converted.ToolCalls, ollamaCall{b.ID, f})
		}
	}
	return converted
}

// ollamaToolOf converts a tool. The server requires a type and properties, and refuses what it cannot read.
func ollamaToolOf(t llm.Tool) (ollamaTool, error) {
	var parameters ollamaSchema
	if len(t.Schema) > 0 {
		if err := json.Unmarshal(t.Schema, &parameters); err != nil {
			return ollamaTool{}, invalidRequest("the schema of tool "+strconv.Quote(t.Name)+" is not a JSON object", err)
		}
	}
	if parameters == nil { // null
		parameters = ollamaSchema{}
	}
	for member, value := range map[string]string{"type": `"object"`, "properties": "{}"} {
		if given := string(parameters[member]); given == "" || given == "null" {
			parameters[member] = json.RawMessage(value)
		}
	}
	return ollamaTool{"function", ollamaDefinition{t.Name, t.Description, parameters}}, nil
}

// ParseHost parses a server's address in the forms of OLLAMA_HOST: with or without a scheme, a port or a
// host. An address for all interfaces is one to listen at; a client connects to the loopback.
func ParseHost(host string) (*url.URL, error) {
	host = strings.Trim(strings.TrimSpace(host), `"'`)
	scheme, rest, stated := strings.Cut(host, "://")
	if !stated {
		scheme, rest = "http", host
	}
	if ip := net.ParseIP(rest); ip != nil && ip.To4() == nil {
		rest = "[" + rest + "]"
	}
	u, err := url.Parse(scheme + "://" + rest)
	if err != nil {
		return nil, invalidRequest("the address "+strconv.Quote(host)+" is not that of a server: want host:port or http://host:port", err)
	}
	name, port := u.Hostname(), u.Port()
	if ip := net.ParseIP(name); name == "" || ip != nil && ip.IsUnspecified() {
		name = "127.0.0.1"
	}
	switch {
	case !stated && host == "ollama.com":
		u.Scheme = "https"
	case !stated && port == "":
		port = "11434"
	}
	u.Host = name
	if port != "" {
		u.Host = net.JoinHostPort(name, port)
	} else if strings.Contains(name, ":") {
		u.Host = "[" + name + "]"
	}
	return u, CheckURL(u.String())
}

// What follows is the API's own form, as docs/api.md of ollama/ollama describes it: of a request what is
// sent, and of an answer what is read.

// ollamaRequest asks for an answer.
type ollamaRequest struct {
	Model    string          `json:"model"`
	Messages []ollamaMessage `json:"messages"`
	Stream   bool            `json:"stream"`
	Tools    []ollamaTool    `json:"tools,omitzero"`
	Options  map[string]int  `json:"options"`
	Think    any             `json:"think,omitzero"` // a bool, or a level for gpt-oss
	Truncate bool            `json:"truncate"`       // drop the oldest messages of a conversation that does not fit
	Shift    bool            `json:"shift"`          // the same while the answer is made
}

// ollamaMessage is one in a conversation, or some of an answer.
type ollamaMessage struct {
	Role      string       `json:"role"`
	Content   string       `json:"content"`
	Images    [][]byte     `json:"images,omitzero"` // encoding/json writes them in base64
	Thinking  string       `json:"thinking,omitzero"`
	ToolCalls []ollamaCall `json:"tool_calls,omitzero"`

	// Of a tool's result.
	ToolName   string `json:"tool_name,omitzero"`
	ToolCallID string `json:"tool_call_id,omitzero"`
}

type ollamaCall struct {
	ID       string         `json:"id,omitzero"`
	Function ollamaFunction `json:"function"`
}

type ollamaFunction struct {
	Index     int             `json:"index"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

type ollamaTool struct {
	Type     string           `json:"type"`
	Function ollamaDefinition `json:"function"`
}

type ollamaDefinition struct {
	Name        string       `json:"name"`
	Description string       `json:"description,omitzero"`
	Parameters  ollamaSchema `json:"parameters"`
}

// ollamaSchema is a JSON Schema by its members. The server ignores those that it does not support.
type ollamaSchema map[string]json.RawMessage
