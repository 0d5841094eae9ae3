package simulator

import (
	"cmp"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/ridethrough/ridethrough/internal/api"
)

// stream is an answer in events, as they are on the wire.
type stream struct {
	opening []string // before content
	content []string // one for each word
	ending  []string // after content, with the API's terminator
}

// head returns what the answer has besides its parts.
func (x *exchange) head() api.Head {
	c := &x.call
	h := api.Head{
		ID: c.id, Created: c.at, Input: c.prompt, Cached: c.cached(), Output: c.out(), Reasoning: c.thinking(),
		Model: c.model, More: map[string]string{},
	}
	if h.Model == "" && x.forms["model name"] != nil {
		h.Model = x.forms["model name"][0]
	}
	h.More["model-name"] = strings.Trim(string(api.Quote(h.Model)), `"`)
	switch {
	case c.caching == unasked:
		h.Cached = 0
	case c.caching == asked && !c.repeat:
		h.Written = c.prompt / 2
	}
	for name, on := range map[string]bool{
		"include-usage": c.usage, "kept": c.keeps, "generate": strings.HasSuffix(x.r.URL.Path, "/api/generate"),
	} {
		if on {
			h.More[name] = "true"
		}
	}
	if x.forms["stats"] != nil && below(lmStudioOldPath)(x.r) {
		h.More["more"] = x.forms["stats"][0]
	}
	return h
}

// encoder returns what writes the answer in a form.
func (x *exchange) encoder(form api.Form) *api.Encoder { return x.forms.Encoder(form, x.head()) }

// json returns the answer as one JSON body.
func (x *exchange) json() string {
	e := x.encoder(api.JSON)
	if name := x.endpoint.whole(); name != "" {
		return e.Whole(name)
	}
	if x.call.blocked {
		return e.Whole("refusal")
	}
	x.weave(e)
	e.Add(x.stop())
	return e.Whole("whole")
}

// events returns the answer as a stream.
func (x *exchange) events() (s stream) {
	e := x.encoder(x.call.form)
	if x.call.blocked {
		s.opening = []string{string(e.Add(api.Part{Kind: api.RefusalPart})) + string(e.Add(api.Part{Kind: api.EndPart}))}
		return s
	}
	start := string(e.Add(api.Part{Kind: api.StartPart}))
	before, content, behind := x.weave(e)
	s.opening, s.content = []string{start, before, string(e.Add(api.Part{Kind: api.PingPart}))}, content
	s.ending = []string{behind, string(e.Add(x.stop())), string(e.Add(api.Part{Kind: api.EndPart}))}
	return s
}

// broken returns the event of an error after those that were sent.
func (x *exchange) broken(sent ...string) string {
	p := problem{Status: x.overload()}.or(x.forms)
	return string(x.encoder(x.call.form).Fail(strings.Join(sent, ""), p.values()))
}

// stop returns the end of the answer.
func (x *exchange) stop() api.Part {
	why := map[Stop]api.StopReason{"": api.PlainStop, Length: api.OtherStop, Refusal: api.RefusedStop}[x.call.said.Stop]
	return api.Part{Kind: api.StopPart, Why: why}
}

// weave writes the blocks of the answer as events. The start and the end of a block are no content: they go with the
// next piece, before the first or after the last.
func (x *exchange) weave(e *api.Encoder) (before string, content []string, behind string) {
	for i, p := range x.call.inOrder(x.forms["at once"] != nil) {
		if p.first {
			behind += string(e.Add(x.begin(p.block)))
		}
		if i == 0 {
			before, behind = behind, ""
		}
		kind := map[api.PartKind]api.PartKind{api.ToolCallPart: api.ToolInputPart, api.TextPart: api.TextPart}[p.kind]
		text := api.Part{Kind: cmp.Or(kind, api.ReasoningPart), Block: p.index + 1, Text: api.Quote(p.text)}
		if event := behind + string(e.Add(text)); event != "" {
			content = append(content, event)
		}
		if behind = ""; !p.last {
			continue
		}
		if text.Kind == api.ReasoningPart {
			behind = string(e.Add(api.Part{Kind: api.SignaturePart, Block: p.index + 1, Text: signature(x.call.id)}))
		}
		behind += string(e.Add(api.Part{Kind: api.ClosePart, Block: p.index + 1}))
	}
	return before, content, behind
}

// begin returns the start of a block.
func (x *exchange) begin(b block) api.Part {
	if b.kind != api.ToolCallPart {
		return api.Part{Kind: api.OpenPart, Of: b.kind, Block: b.index + 1, Text: signature(x.call.id)}
	}
	p := api.Part{Kind: api.ToolCallPart, Block: b.index + 1, Name: api.Quote(b.call.Name)}
	if x.forms["no ids"] != nil && (x.call.said.NoIDs || slices.Contains(x.forms["no ids"], "before 3") && !isGemini3(x.call.model)) {
		p.ID = []byte(`""`)
	}
	return p
}

// signature returns the signature of an answer's reasoning, in base64 as Google's.
func signature(id string) []byte {
	return api.Quote(base64.StdEncoding.EncodeToString([]byte("signature of " + id)))
}
