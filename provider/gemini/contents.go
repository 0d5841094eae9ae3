package gemini

import (
	"encoding/base64"
	"encoding/json"

	"google.golang.org/genai"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
)

// contents converts a conversation. Between two answers of the model are at most two contents: the results
// of its calls, which must follow them, and the user's messages.
func contents(model llm.Name, conversation []llm.Message) []*genai.Content {
	w := contentWriter{provider: model.Provider, ids: map[string]bool{}, names: map[string]string{}, needsSignature: !isBeforeGemini3(model.Model)}
	for _, m := range conversation {
		if m.Role == llm.Assistant {
			w.answer(m)
			continue
		}
		for _, b := range m.Content {
			switch b := b.(type) {
			case llm.Text:
				if b.Text != "" {
					w.userParts = append(w.userParts, &genai.Part{Text: b.Text})
				}
			case llm.ToolResult:
				w.results = append(w.results, &genai.Part{FunctionResponse: w.result(b)})
			}
		}
	}
	w.flush()
	return w.all
}

// contentWriter converts messages to contents.
type contentWriter struct {
	all                []*genai.Content
	results, userParts []*genai.Part // since the last answer

	provider       string            // of the model: only what it has produced goes back with its signature
	ids            map[string]bool   // the call ids made by the API
	names          map[string]string // the tools of all calls, by id
	needsSignature bool              // the model requires a signature with the first call of an answer
}

// flush writes the contents before an answer.
func (w *contentWriter) flush() {
	for _, parts := range [...][]*genai.Part{w.results, w.userParts} {
		if len(parts) > 0 {
			w.all = append(w.all, &genai.Content{Role: genai.RoleUser, Parts: parts})
		}
	}
	w.results, w.userParts = nil, nil
}

// answer writes an answer of a model, unless it is empty.
func (w *contentWriter) answer(m llm.Message) {
	own := m.By.Provider == w.provider
	var parts []*genai.Part
	signed := false // a call of this answer has been written
	for _, b := range m.Content {
		switch b := b.(type) {
		case llm.Text:
			if b.Text != "" {
				parts = append(parts, &genai.Part{Text: b.Text})
			}
		case llm.Reasoning:
			if own {
				parts = withSignature(parts, b)
			}
		case llm.ToolCall:
			p := w.call(b, own)
			if w.needsSignature && !signed && len(p.ThoughtSignature) == 0 {
				p.ThoughtSignature = []byte(skipSignature)
			}
			signed = true
			parts = append(parts, p)
		}
	}
	if len(parts) > 0 {
		w.flush()
		w.all = append(w.all, &genai.Content{Role: genai.RoleModel, Parts: parts})
	}
}

// skipSignature replaces the signature of a call by another provider's model: models since Gemini 3 reject
// a call without one. Source: ai.google.dev/gemini-api/docs/thought-signatures.
const skipSignature = "skip_thought_signature_validator"

// withSignature returns a signature to the API: with its thought, or with the text before it.
func withSignature(parts []*genai.Part, r llm.Reasoning) []*genai.Part {
	signature := decodeSignature(r.Signature)
	switch {
	case signature == nil:
	case r.Text != "":
		return append(parts, &genai.Part{Text: r.Text, Thought: true, ThoughtSignature: signature})
	case len(parts) > 0 && parts[len(parts)-1].FunctionCall == nil:
		parts[len(parts)-1].ThoughtSignature = signature
	}
	return parts
}

// call writes a call. Its id is sent only to the provider that made it.
func (w *contentWriter) call(b llm.ToolCall, own bool) *genai.Part {
	f := &genai.FunctionCall{Name: b.Name}
	_ = json.Unmarshal(provider.ArgumentsObject(b.Arguments), &f.Args) // an object always decodes
	w.names[b.ID] = b.Name
	p := &genai.Part{FunctionCall: f}
	if own {
		p.ThoughtSignature = decodeSignature(b.Signature)
		if !provider.IsGeneratedID(b.ID) {
			f.ID, w.ids[b.ID] = b.ID, true
		}
	}
	return p
}

// result writes a tool's result, with the member names of the API's documentation.
func (w *contentWriter) result(b llm.ToolResult) *genai.FunctionResponse {
	r := &genai.FunctionResponse{Name: b.Name, Response: map[string]any{"output": b.Output}}
	if b.Failed {
		r.Response = map[string]any{"error": b.Output}
	}
	if r.Name == "" {
		r.Name = w.names[b.ID]
	}
	if w.ids[b.ID] {
		r.ID = b.ID
	}
	return r
}

// decodeSignature returns a signature as the API sent it; nil: there is none.
func decodeSignature(signature string) []byte {
	raw, err := base64.StdEncoding.DecodeString(signature)
	if err != nil || len(raw) == 0 {
		return nil
	}
	return raw
}
