package provider

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/api/gemini"
	"github.com/ridethrough/ridethrough/llm"
)

// Gemini returns a model of Google's, with a key of the Gemini API. The base URL is as in GOOGLE_GEMINI_BASE_URL, without
// /v1beta. An invalid Config is reported by the first request.
func Gemini(c Config) *Model {
	return newModel(c, &geminiDialect, "gemini", "https://generativelanguage.googleapis.com/")
}

var geminiDialect = dialect{
	api: gemini.API(), form: api.Events, silent: llm.Other,
	ask: func(m *Model, r llm.Request) (question, error) {
		to, err := m.geminiURL(!r.NoStream)
		return question{to, nil, http.Header{"X-Goog-Api-Key": {m.config.Key}}, m.geminiRequest(r)}, err
	},
}

// geminiURL returns where a request is sent. The model may be a tuned one, with its whole name.
func (m *Model) geminiURL(stream bool) (string, error) {
	if err := CheckURL(m.config.BaseURL); err != nil {
		return "", err
	}
	model := m.config.Model
	if model == "" || strings.ContainsAny(model, "?&#%") || strings.Contains(model, "..") {
		return "", invalidRequest(strconv.Quote(model)+" is not the name of a model", nil)
	}
	if !strings.HasPrefix(model, "models/") && !strings.HasPrefix(model, "tunedModels/") {
		model = "models/" + model
	}
	base, _ := url.Parse(m.config.BaseURL) // which has been checked
	return gemini.RequestURL(base, model, stream).String(), nil
}

// geminiRequest converts a request.
func (m *Model) geminiRequest(r llm.Request) geminiRequest {
	q := geminiRequest{
		Contents: geminiContents(m.Name(), r.Messages),
		Config:   geminiGenerationConfig{MaxOutputTokens: min(max(r.MaxTokens, 0), math.MaxInt32), Thinking: geminiThinking(m.config.Model, r.Effort)},
	}
	if r.System != "" {
		q.System = &geminiContent{Role: geminiUser, Parts: []geminiPart{{Text: r.System}}}
	}
	var functions []geminiFunction
	for _, t := range r.Tools {
		functions = append(functions, geminiFunction{t.Name, t.Description, t.Schema})
	}
	if functions != nil {
		q.Tools = []geminiTools{{functions}}
	}
	return q
}

// geminiBudgets are the efforts as a thinking budget in tokens. Every model with a budget accepts them.
var geminiBudgets = map[llm.Effort]int{llm.Low: 1024, llm.Medium: 8192, llm.High: 24_576}

// geminiThinking returns the effort in the model's own terms, with visible thoughts; nil: the model's default.
// Models before 2.5 cannot think, 2.5 takes a budget of tokens, and later ones take a level.
func geminiThinking(model string, e llm.Effort) *geminiThinkingConfig {
	switch {
	case e == "" || isBeforeGemini3(model) && !strings.Contains(model, "gemini-2.5"):
		return nil
	case isBeforeGemini3(model):
		budget, ok := geminiBudgets[e]
		if !ok {
			return nil
		}
		return &geminiThinkingConfig{IncludeThoughts: true, Budget: budget}
	}
	return &geminiThinkingConfig{IncludeThoughts: true, Level: strings.ToUpper(string(e))}
}

// isBeforeGemini3 reports whether a model is older than Gemini 3.
func isBeforeGemini3(model string) bool {
	return strings.Contains(model, "gemini-1") || strings.Contains(model, "gemini-2")
}

// geminiContents converts a conversation. Between two answers of the model are at most two contents: the results
// of its calls, which must follow them, and the user's messages.
func geminiContents(model llm.Name, conversation []llm.Message) []geminiContent {
	w := geminiWriter{provider: model.Provider, ids: map[string]bool{}, names: map[string]string{}, needsSignature: !isBeforeGemini3(model.Model)}
	for _, m := range conversation {
		if m.Role == llm.Assistant {
			w.answer(m)
			continue
		}
		for _, b := range m.Content {
			switch b := b.(type) {
			case llm.Text:
				if b.Text != "" {
					w.userParts = append(w.userParts, geminiPart{Text: b.Text})
				}
			case llm.Image:
				w.userParts = append(w.userParts, geminiPart{Image: &geminiBlob{b.MediaType, b.Data}})
			case llm.ToolResult:
				w.results = append(w.results, geminiPart{Result: w.result(b)})
			}
		}
	}
	w.flush()
	return w.all
}

// geminiWriter converts messages to contents.
type geminiWriter struct {
	all                []geminiContent
	results, userParts []geminiPart // since the last answer

	provider       string            // of the model: only what it has produced goes back with its signature
	ids            map[string]bool   // the call ids made by the API
	names          map[string]string // the tools of all calls, by id
	needsSignature bool              // the model requires a signature with the first call of an answer
}

// flush writes the contents before an answer.
func (w *geminiWriter) flush() {
	for _, parts := range [...][]geminiPart{w.results, w.userParts} {
		if len(parts) > 0 {
			w.all = append(w.all, geminiContent{Role: geminiUser, Parts: parts})
		}
	}
	w.results, w.userParts = nil, nil
}

// answer writes an answer of a model, unless it is empty.
func (w *geminiWriter) answer(m llm.Message) {
	own := m.By.Provider == w.provider
	var parts []geminiPart
	signed := false // a call of this answer has been written
	for _, b := range m.Content {
		switch b := b.(type) {
		case llm.Text:
			if b.Text != "" {
				parts = append(parts, geminiPart{Text: b.Text})
			}
		case llm.Reasoning:
			if own {
				parts = withSignature(parts, b)
			}
		case llm.ToolCall:
			p := w.call(b, own)
			if w.needsSignature && !signed && p.Signature == "" {
				p.Signature = skipSignature
			}
			signed = true
			parts = append(parts, p)
		}
	}
	if len(parts) > 0 {
		w.flush()
		w.all = append(w.all, geminiContent{Role: geminiModel, Parts: parts})
	}
}

// skipSignature replaces the signature of a call by another provider's model: models since Gemini 3 reject
// a call without one. Source: ai.google.dev/gemini-api/docs/thought-signatures.
// It is the word in base64, as the vendor's SDKs send it.
const skipSignature = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="

// withSignature returns a signature to the API: with its thought, or with the text before it.
func withSignature(parts []geminiPart, r llm.Reasoning) []geminiPart {
	signature := validSignature(r.Signature)
	switch {
	case signature == "":
	case r.Text != "":
		return append(parts, geminiPart{Text: r.Text, Thought: true, Signature: signature})
	case len(parts) > 0 && parts[len(parts)-1].Call == nil:
		parts[len(parts)-1].Signature = signature
	}
	return parts
}

// call writes a call. Its id is sent only to the provider that made it.
func (w *geminiWriter) call(b llm.ToolCall, own bool) geminiPart {
	f := &geminiFunctionCall{Name: b.Name}
	if args := ArgumentsObject(b.Arguments); string(args) != "{}" {
		f.Args = args
	}
	w.names[b.ID] = b.Name
	p := geminiPart{Call: f}
	if own {
		p.Signature = validSignature(b.Signature)
		if !IsGeneratedID(b.ID) {
			f.ID, w.ids[b.ID] = b.ID, true
		}
	}
	return p
}

// result writes a tool's result, with the member names of the API's documentation.
func (w *geminiWriter) result(b llm.ToolResult) *geminiFunctionResponse {
	r := &geminiFunctionResponse{Name: b.Name, Response: map[string]string{"output": b.Output}}
	if b.Failed {
		r.Response = map[string]string{"error": b.Output}
	}
	if r.Name == "" {
		r.Name = w.names[b.ID]
	}
	if w.ids[b.ID] {
		r.ID = b.ID
	}
	return r
}

// validSignature returns a signature if it has the form in which the API sends them; "": none.
func validSignature(signature string) string {
	if _, err := base64.StdEncoding.DecodeString(signature); err != nil {
		return ""
	}
	return signature
}

// What follows is the API's own form, as ai.google.dev/api/generate-content describes it: of a request what
// is sent, and of an answer what is read.

// geminiRequest asks for an answer.
type geminiRequest struct {
	System   *geminiContent         `json:"systemInstruction,omitzero"`
	Contents []geminiContent        `json:"contents,omitzero"`
	Tools    []geminiTools          `json:"tools,omitzero"`
	Config   geminiGenerationConfig `json:"generationConfig"`
}

// geminiContent is a message of a user or a model.
type geminiContent struct {
	Role  string       `json:"role"`
	Parts []geminiPart `json:"parts"`
}

// The roles.
const (
	geminiUser  = "user"
	geminiModel = "model"
)

// geminiPart is a piece of a message: a text or a thought, an image, a call, or the result of one.
type geminiPart struct {
	Text      string                  `json:"text,omitzero"`
	Image     *geminiBlob             `json:"inlineData,omitzero"`
	Thought   bool                    `json:"thought,omitzero"` // the text is one
	Signature string                  `json:"thoughtSignature,omitzero"`
	Call      *geminiFunctionCall     `json:"functionCall,omitzero"`
	Result    *geminiFunctionResponse `json:"functionResponse,omitzero"`
}

// geminiBlob has an image; encoding/json writes its bytes in base64.
type geminiBlob struct {
	MediaType string `json:"mimeType"`
	Data      []byte `json:"data"`
}

type geminiFunctionCall struct {
	ID   string          `json:"id,omitzero"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitzero"`
}

type geminiFunctionResponse struct {
	ID       string            `json:"id,omitzero"`
	Name     string            `json:"name"`
	Response map[string]string `json:"response"`
}

type geminiTools struct {
	Functions []geminiFunction `json:"functionDeclarations"`
}

type geminiFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitzero"`
	Schema      json.RawMessage `json:"parametersJsonSchema,omitzero"`
}

type geminiGenerationConfig struct {
	MaxOutputTokens int                   `json:"maxOutputTokens,omitzero"`
	Thinking        *geminiThinkingConfig `json:"thinkingConfig,omitzero"`
}

// geminiThinkingConfig has a budget or a level.
type geminiThinkingConfig struct {
	IncludeThoughts bool   `json:"includeThoughts"`
	Budget          int    `json:"thinkingBudget,omitzero"`
	Level           string `json:"thinkingLevel,omitzero"`
}
