package gemini

import (
	"encoding/base64"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
)

// contents converts a conversation. Between two answers of the model are at most two contents: the results
// of its calls, which must follow them, and the user's messages.
func contents(model llm.Name, conversation []llm.Message) []content {
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
					w.userParts = append(w.userParts, part{Text: b.Text})
				}
			case llm.Image:
				w.userParts = append(w.userParts, part{Image: &blob{b.MediaType, b.Data}})
			case llm.ToolResult:
				w.results = append(w.results, part{Result: w.result(b)})
			}
		}
	}
	w.flush()
	return w.all
}

// contentWriter converts messages to contents.
type contentWriter struct {
	all                []content
	results, userParts []part // since the last answer

	provider       string            // of the model: only what it has produced goes back with its signature
	ids            map[string]bool   // the call ids made by the API
	names          map[string]string // the tools of all calls, by id
	needsSignature bool              // the model requires a signature with the first call of an answer
}

// flush writes the contents before an answer.
func (w *contentWriter) flush() {
	for _, parts := range [...][]part{w.results, w.userParts} {
		if len(parts) > 0 {
			w.all = append(w.all, content{Role: roleUser, Parts: parts})
		}
	}
	w.results, w.userParts = nil, nil
}

// answer writes an answer of a model, unless it is empty.
func (w *contentWriter) answer(m llm.Message) {
	own := m.By.Provider == w.provider
	var parts []part
	signed := false // a call of this answer has been written
	for _, b := range m.Content {
		switch b := b.(type) {
		case llm.Text:
			if b.Text != "" {
				parts = append(parts, part{Text: b.Text})
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
		w.all = append(w.all, content{Role: roleModel, Parts: parts})
	}
}

// skipSignature replaces the signature of a call by another provider's model: models since Gemini 3 reject
// a call without one. Source: ai.google.dev/gemini-api/docs/thought-signatures.
// It is the word in base64, as the vendor's SDKs send it.
const skipSignature = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="

// withSignature returns a signature to the API: with its thought, or with the text before it.
func withSignature(parts []part, r llm.Reasoning) []part {
	signature := validSignature(r.Signature)
	switch {
	case signature == "":
	case r.Text != "":
		return append(parts, part{Text: r.Text, Thought: true, Signature: signature})
	case len(parts) > 0 && parts[len(parts)-1].Call == nil:
		parts[len(parts)-1].Signature = signature
	}
	return parts
}

// call writes a call. Its id is sent only to the provider that made it.
func (w *contentWriter) call(b llm.ToolCall, own bool) part {
	f := &functionCall{Name: b.Name}
	if args := provider.ArgumentsObject(b.Arguments); string(args) != "{}" {
		f.Args = args
	}
	w.names[b.ID] = b.Name
	p := part{Call: f}
	if own {
		p.Signature = validSignature(b.Signature)
		if !provider.IsGeneratedID(b.ID) {
			f.ID, w.ids[b.ID] = b.ID, true
		}
	}
	return p
}

// result writes a tool's result, with the member names of the API's documentation.
func (w *contentWriter) result(b llm.ToolResult) *functionResponse {
	r := &functionResponse{Name: b.Name, Response: map[string]string{"output": b.Output}}
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

// validSignature returns a signature if it has the form in which the API sends them; "": there is none.
func validSignature(signature string) string {
	if _, err := base64.StdEncoding.DecodeString(signature); err != nil {
		return ""
	}
	return signature
}
