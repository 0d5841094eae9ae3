package gemini

import (
	"encoding/base64"
	"encoding/json"

	"google.golang.org/genai"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
)

// contents gives a conversation as the API takes it. What stands between two
// answers of the model is at most two contents: the results of its calls, which
// have to follow them, and what the user says.
func contents(model string, conversation []llm.Message) []*genai.Content {
	w := contentWriter{ids: map[string]bool{}, names: map[string]string{}, needsSignature: !isBeforeGemini3(model)}
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

// contentWriter writes contents.
type contentWriter struct {
	all                []*genai.Content
	results, userParts []*genai.Part // since the last answer

	ids            map[string]bool   // of the calls: those that the API has given
	names          map[string]string // of their tools
	needsSignature bool              // the model wants a signature with the first call of an answer
}

// flush writes what stands before an answer.
func (w *contentWriter) flush() {
	for _, parts := range [...][]*genai.Part{w.results, w.userParts} {
		if len(parts) > 0 {
			w.all = append(w.all, &genai.Content{Role: genai.RoleUser, Parts: parts})
		}
	}
	w.results, w.userParts = nil, nil
}

// responseReader writes an answer of a model, if it says anything.
func (w *contentWriter) answer(m llm.Message) {
	own := m.By.Provider == name
	var parts []*genai.Part
	signed := false // the calls of this answer
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

// skipSignature stands for the signature of a call that another provider's model has
// made: without any, models since Gemini 3 refuse it. It is documented at ai.google.dev/gemini-api/docs/thought-signatures.
const skipSignature = "skip_thought_signature_validator"

// withSignature gives a signature back: with the thought that it is of, or else with the
// text that it came behind.
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

// call writes a call. An id goes back only to where it comes from.
func (w *contentWriter) call(b llm.ToolCall, own bool) *genai.Part {
	f := &genai.FunctionCall{Name: b.Name}
	_ = json.Unmarshal(provider.ArgumentsObject(b.Arguments), &f.Args) // an object always can
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

// result writes a tool's result, in the words that the API's documentation
// proposes for an output and for an error.
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

// decodeSignature gives a signature as the API gave it; nil: there is none.
func decodeSignature(signature string) []byte {
	raw, err := base64.StdEncoding.DecodeString(signature)
	if err != nil || len(raw) == 0 {
		return nil
	}
	return raw
}
