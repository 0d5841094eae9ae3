package api_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/api/anthropic"
	"github.com/ridethrough/ridethrough/internal/api/bedrock"
	"github.com/ridethrough/ridethrough/internal/api/cohere"
	"github.com/ridethrough/ridethrough/internal/api/gemini"
	"github.com/ridethrough/ridethrough/internal/api/lmstudio"
	"github.com/ridethrough/ridethrough/internal/api/ollama"
	"github.com/ridethrough/ridethrough/internal/api/openai"
)

// encoded are the APIs with the forms of their streams, and with what those have of an answer with everything.
var encoded = []struct {
	api  *api.API
	form api.Form
	want string
}{
	{anthropic.Messages(), api.Events, "reasoning text call-read input signature stop end"},
	{anthropic.Vertex(), api.Events, "reasoning text call-read input signature stop end"},
	{openai.Chat(), api.Events, "reasoning text call-read input stop end"},
	{openai.Completions(), api.Events, "text stop end"},
	{openai.Responses(), api.Events, "reasoning text call-read input signature stop end"},
	{gemini.API(), api.Events, "reasoning text call-read stop"},
	{gemini.API(), api.Array, "reasoning text call-read stop end"},
	{gemini.Interactions(), api.Events, "reasoning text call-read input signature stop end"},
	{cohere.API(), api.Events, "reasoning text call-read input stop end"},
	{ollama.API(), api.Lines, "reasoning text call-read stop end"},
	{lmstudio.API(), api.Events, "reasoning text stop end"},
	{bedrock.Converse(), api.AWSEvents, "reasoning text call-read input signature stop end"},
	{bedrock.Invoke(), api.AWSEvents, "reasoning text call-read input signature stop end"},
}

// encodedNames are the kinds of parts that are looked for.
var encodedNames = map[api.PartKind]string{
	api.ReasoningPart: "reasoning", api.TextPart: "text", api.ToolCallPart: "call", api.ToolInputPart: "input",
	api.SignaturePart: "signature", api.StopPart: "stop", api.EndPart: "end", api.ErrorPart: "error",
}

// answered are the parts of an answer: reasoning, text and, if it is to be, a call.
func answered(called bool, why api.StopReason) []api.Part {
	quote := func(s string) []byte { return api.Quote(s) }
	parts := []api.Part{
		{Kind: api.StartPart},
		{Kind: api.OpenPart, Of: api.ReasoningPart, Block: 1, Text: quote("signed")},
		{Kind: api.ReasoningPart, Block: 1, Text: quote("Let me ")},
		{Kind: api.ReasoningPart, Block: 1, Text: quote("see.")},
		{Kind: api.SignaturePart, Block: 1, Text: quote("signed")},
		{Kind: api.ClosePart, Block: 1},
		{Kind: api.OpenPart, Of: api.TextPart, Block: 2},
		{Kind: api.TextPart, Block: 2, Text: quote("Two $files ")},
		{Kind: api.TextPart, Block: 2, Text: quote("`here`.\n")},
		{Kind: api.ClosePart, Block: 2},
	}
	if called {
		parts = append(parts, []api.Part{
			{Kind: api.ToolCallPart, Block: 3, Name: quote("read")},
			{Kind: api.ToolInputPart, Block: 3, Text: quote(`{"path":"a.txt"}`)},
			{Kind: api.ClosePart, Block: 3},
		}...)
	}
	return append(parts, api.Part{Kind: api.StopPart, Why: why}, api.Part{Kind: api.EndPart})
}

var answerHead = api.Head{ID: "1", Model: "claude", Created: time.Unix(1, 0), Input: 3, Output: 9, Reasoning: 2}

// encodeAll returns the frames of an answer.
func encodeAll(a *api.API, f api.Form, parts []api.Part) (stream string) {
	e := a.Forms().Encoder(f, answerHead)
	for _, p := range parts {
		stream += string(e.Add(p))
	}
	return stream
}

// decodeAll returns the kinds of parts that a stream has, their texts, and why the answer stops.
func decodeAll(t *testing.T, a *api.API, f api.Form, stream string) (kinds string, texts map[api.PartKind]string, why api.StopReason) {
	t.Helper()
	texts, seen := map[api.PartKind]string{}, map[api.PartKind]string{}
	for n := 0; stream != ""; stream = stream[n:] {
		if n = f.FrameLen([]byte(stream), 0); n <= 0 {
			t.Fatalf("%s: %q is no frame", a.Name(), stream)
		}
		parts := a.Decode(f, []byte(stream[:n]))
		for i := range parts.Len() {
			p := parts.At(i)
			word := encodedNames[p.Kind]
			if p.Kind == api.ToolCallPart && len(p.Name) > 0 {
				word += "-" + api.TextOf(p.Name)
			}
			if p.Kind == api.StopPart {
				why = p.Why
			}
			if text := p.String(); text != "" || p.Kind >= api.StopPart || p.Kind == api.ToolCallPart || p.Kind == api.SignaturePart {
				seen[p.Kind] = word
				texts[p.Kind] += text
			}
		}
	}
	for _, kind := range []api.PartKind{
		api.ReasoningPart, api.TextPart, api.ToolCallPart, api.ToolInputPart, api.SignaturePart, api.StopPart, api.EndPart, api.ErrorPart,
	} {
		kinds = strings.TrimPrefix(kinds+" "+seen[kind], " ")
	}
	return strings.Join(strings.Fields(kinds), " "), texts, why
}

func TestEncoder_DecodeReadsWhatItWrites(t *testing.T) {
	for _, tt := range encoded {
		name := fmt.Sprintf("%s, form %d", tt.api.Name(), tt.form)
		kinds, texts, _ := decodeAll(t, tt.api, tt.form, encodeAll(tt.api, tt.form, answered(true, api.PlainStop)))
		if kinds != tt.want {
			t.Errorf("%s: parts %s, want %s", name, kinds, tt.want)
		}
		for kind, want := range map[api.PartKind]string{
			api.ReasoningPart: "Let me see.", api.TextPart: "Two $files `here`.\n", api.ToolInputPart: `{"path":"a.txt"}`,
		} {
			if got, ok := texts[kind]; ok && got != want {
				t.Errorf("%s: %s %q, want %q", name, encodedNames[kind], got, want)
			}
		}
	}
}

func TestEncoder_WholeAnswerHasWhatItsStreamHas(t *testing.T) {
	for _, tt := range encoded {
		for _, why := range []api.StopReason{api.PlainStop, api.OtherStop, api.RefusedStop} {
			e := tt.api.Forms().Encoder(api.JSON, answerHead)
			for _, p := range answered(false, why) {
				e.Add(p)
			}
			body := []byte(e.Whole("whole"))
			parts, content, stop := tt.api.Decode(api.JSON, body), false, api.StopReason(0)
			for i := range parts.Len() {
				p := parts.At(i)
				content = content || p.Kind == api.TextPart || p.Kind == api.ClosePart && strings.Contains(string(p.Text), "`here`")
				if p.Kind == api.StopPart {
					stop = p.Why
				}
			}
			_, _, streamed := decodeAll(t, tt.api, tt.form, encodeAll(tt.api, tt.form, answered(false, why)))
			alone := tt.api == gemini.Interactions() && why == api.RefusedStop // it refuses by an error
			if stop != streamed || !alone && (!content || parts.Usage.Output == 0) {
				t.Errorf("%s, stop %d: %s says content: %v, stop %d, usage %+v; want content, stop %d as the stream, and a usage",
					tt.api.Name(), why, body, content, stop, parts.Usage, streamed)
			}
		}
	}
}

func TestEncoder_ErrorIsReadAsOne(t *testing.T) {
	values := map[string]string{"kind": `"k"`, "message": `"m"`, "code": `"c"`, "http-status": "503"}
	for _, tt := range encoded {
		sent := encodeAll(tt.api, tt.form, answered(true, api.PlainStop)[:4])
		for _, sent := range []string{"", sent} {
			kinds, _, _ := decodeAll(t, tt.api, tt.form, sent+string(tt.api.Forms().Encoder(tt.form, answerHead).Fail(sent, values)))
			if !strings.Contains(kinds, "error") {
				t.Errorf("%s behind %q: parts %s, want an error", tt.api.Name(), sent, kinds)
			}
		}
		body := tt.api.Forms().Encoder(api.JSON, answerHead)
		if failed := body.Whole("failure"); !strings.HasPrefix(failed, "{") {
			t.Errorf("%s: the body of an error is %s", tt.api.Name(), failed)
		}
	}
}

func TestParseForms_LaterTextsReplace(t *testing.T) {
	forms := api.ParseForms("# comment = no\na = 1\na = 2\nb = `x:yes``!x:no` ${a}$b-c\n", "a = 3\nb-c = $id\n")
	if got, want := forms.Encoder(api.JSON, api.Head{ID: "7"}).Whole("b"), "no 37"; got != want || len(forms) != 3 {
		t.Errorf("got %q of %d forms, want %q of 3", got, len(forms), want)
	}
}
