package simulator

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// The source of what follows: docs/api.md, api/types.go and server/routes.go of ollama/ollama.

// ollama is Ollama's own API.
func ollama() dialect {
	return dialect{
		overload: 503,
		endpoints: []endpoint{
			{method: "POST", path: "/api/chat", generates: true, read: readOllama, whole: ollamaChat, stream: streamOllamaChat},
			{method: "POST", path: "/api/generate", generates: true, read: readOllama, whole: ollamaGenerate, stream: streamOllamaGenerate},
			{method: "POST", path: "/api/embed", read: readOllama, whole: ollamaEmbed},
			{method: "POST", path: "/api/show", read: readOllama, whole: ollamaShow},
			{method: "GET", path: "/api/tags", whole: ollamaTags},
			{method: "GET", path: "/api/ps", whole: ollamaTags},
			{method: "GET", path: "/api/version", whole: func(*call) string { return `{"version":"0.17.4"}` }},
		},
		failure: ollamaFailure,
		spent:   ollamaSpent,
		denial:  ollamaDenial,
	}
}

// speaksOllama reports whether a request is meant for this API.
func speaksOllama(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/api/") }

// readOllama reads a request. Streaming is the default.
func readOllama(r ask, c *call) *problem {
	var body struct {
		Model    string
		Stream   *bool
		Think    json.RawMessage
		Messages []struct {
			Role, Content string
			ToolCalls     []struct {
				Function struct{ Arguments map[string]any }
			} `json:"tool_calls"`
		}
	}
	if err := json.Unmarshal(r.body, &body); err != nil {
		return bad("%v", err)
	}
	if body.Model == "" {
		return bad("model is required")
	}
	*c = call{model: body.Model, stream: body.Stream == nil || *body.Stream}
	for _, turn := range body.Messages {
		c.lastTurns.add(turn.Role == "assistant", turn.Content)
	}
	if string(body.Think) == "false" {
		c.view = never
	}
	return nil
}

// ollamaLine returns one object of an answer. says is what it says; how, with
// its comma, how the answer came about, "" while it goes on.
func ollamaLine(c *call, says, how string) string {
	return fmt.Sprintf(`{"model":%s,"created_at":%s,%s,"done":%t%s}`,
		quote(c.model), quote(c.at.UTC().Format(time.RFC3339Nano)), says, how != "", how)
}

func ollamaDone(c *call) string {
	reason := "stop"
	if c.said.Stop == Length {
		reason = string(Length)
	}
	return fmt.Sprintf(`,"done_reason":%s,"total_duration":4883583458,"load_duration":1334875,`+
		`"prompt_eval_count":%d,"prompt_eval_duration":342546000,"eval_count":%d,"eval_duration":4535599000`, quote(reason), c.prompt, c.out())
}

// ollamaSays is a part of an answer.
type ollamaSays struct {
	text, thinking string
	calls          []string // as JSON
}

// ollamaMessage returns it as a message.
func ollamaMessage(s ollamaSays) string {
	more := ""
	if s.thinking != "" {
		more = `,"thinking":` + quote(s.thinking)
	}
	if len(s.calls) > 0 {
		more += `,"tool_calls":[` + strings.Join(s.calls, ",") + `]`
	}
	return `"message":{"role":"assistant","content":` + quote(s.text) + more + `}`
}

// ollamaResponse returns it in the older form, which has no calls.
func ollamaResponse(s ollamaSays) string {
	if s.thinking != "" {
		return `"response":` + quote(s.text) + `,"thinking":` + quote(s.thinking)
	}
	return `"response":` + quote(s.text)
}

// ollamaPiece returns a piece. Arguments that are not a JSON object become text.
func ollamaPiece(c *call, p piece) ollamaSays {
	switch {
	case p.kind == spoken:
		return ollamaSays{text: p.text}
	case p.kind == thought && c.reasoning() == shown:
		return ollamaSays{thinking: p.text}
	case p.kind == thought:
		return ollamaSays{}
	}
	arguments, ok := p.object()
	if !ok {
		return ollamaSays{text: p.block.text()}
	}
	id := ""
	if !c.said.NoIDs {
		id = fmt.Sprintf(`"id":"call_%s_%d",`, c.id, p.nth)
	}
	return ollamaSays{calls: []string{
		fmt.Sprintf(`{%s"function":{"index":%d,"name":%s,"arguments":%s}}`, id, p.nth, quote(p.call.Name), arguments),
	}}
}

// ollamaWhole returns the whole answer.
func ollamaWhole(c *call) (s ollamaSays) {
	for _, p := range c.inWhole() {
		some := ollamaPiece(c, p)
		s.text, s.thinking, s.calls = s.text+some.text, s.thinking+some.thinking, append(s.calls, some.calls...)
	}
	return s
}

func ollamaChat(c *call) string { return ollamaLine(c, ollamaMessage(ollamaWhole(c)), ollamaDone(c)) }

func ollamaGenerate(c *call) string {
	return ollamaLine(c, ollamaResponse(ollamaWhole(c)), ollamaDone(c)+`,"context":[1,2,3]`)
}

func streamOllamaChat(c *call) stream { return ollamaStream(c, ollamaMessage, ollamaDone(c)) }

func streamOllamaGenerate(c *call) stream {
	return ollamaStream(c, ollamaResponse, ollamaDone(c)+`,"context":[1,2,3]`)
}

// ollamaStream returns an answer in lines, the first one empty.
func ollamaStream(c *call, says func(ollamaSays) string, how string) stream {
	s := stream{
		media:   "application/x-ndjson",
		opening: []string{ollamaLine(c, says(ollamaSays{}), "") + "\n"},
		ending:  []string{ollamaLine(c, says(ollamaSays{}), how) + "\n"},
		failure: ollamaFailure(&problem{status: 503}) + "\n",
	}
	for _, p := range c.inWhole() {
		s.content = append(s.content, ollamaLine(c, says(ollamaPiece(c, p)), "")+"\n")
	}
	return s
}

func ollamaEmbed(c *call) string {
	return fmt.Sprintf(`{"model":%s,"embeddings":[%s],"total_duration":14143917,"load_duration":1019500,"prompt_eval_count":%d}`,
		quote(c.model), vector, c.prompt)
}

const ollamaDetails = `"details":{"parent_model":"","format":"gguf","family":"simulator","families":["simulator"],` +
	`"parameter_size":"1B","quantization_level":"Q4_K_M"}`

func ollamaShow(*call) string {
	return `{"modelfile":"FROM simulator","parameters":"","template":"{{ .Prompt }}",` + ollamaDetails +
		`,"model_info":{"general.architecture":"simulator"},"capabilities":["completion"],"modified_at":"2025-01-01T00:00:00Z"}`
}

func ollamaTags(*call) string {
	return `{"models":[{"name":"simulator:latest","model":"simulator:latest","modified_at":"2025-01-01T00:00:00Z",` +
		`"size":1000000000,"digest":"` + strings.Repeat("0", 64) + `",` + ollamaDetails + `}]}`
}

// ollamaFailure returns an error, which is only a message.
func ollamaFailure(p *problem) string {
	return `{"error":` + quote(cmp.Or(p.message, ollamaError(p.status))) + `}`
}

func ollamaError(status int) string {
	switch status {
	case 401:
		return "unauthorized"
	case 403:
		return "this model requires a subscription, upgrade for access: https://ollama.com/upgrade"
	case 404:
		return `model "simulator" not found, try pulling it first`
	case 413:
		return "http: request body too large"
	case 429:
		return "too many concurrent requests"
	case 503, 529:
		return "server busy, please try again.  maximum pending requests exceeded"
	}
	if status >= 500 {
		return "an error was encountered while running the model: unexpected EOF"
	}
	return "invalid request"
}

// ollamaDenial returns the error of a denial. Only Ollama's cloud has accounts.
func ollamaDenial(d Denial, x *exchange) *problem {
	switch d {
	case TooLong:
		return bad("the input length exceeds the context length")
	case Spent:
		return &problem{status: http.StatusTooManyRequests, message: "you've reached your session usage limit, please wait or upgrade to continue"}
	case KeyEcho:
		return &problem{status: http.StatusUnauthorized, message: "unauthorized: " + keyOf(x.r)}
	case noImages:
		return &problem{
			status:  http.StatusInternalServerError,
			message: "Failed to create new sequence: failed to process inputs: this model is missing data required for image input",
		}
	case Blocked:
		return &problem{status: http.StatusForbidden, message: "this model requires a subscription, upgrade for access: https://ollama.com/upgrade"}
	}
	return &problem{status: http.StatusNotFound, message: "model '" + x.call.model + "' not found"}
}
