package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/api/gemini"
)

const longRequest = `{"contents":[{"role":"user","parts":[{"text":"Go"}]}],"generationConfig":{"maxOutputTokens":262144}}`

// longDecode is a server of Gemini's that states a checkpoint in every third chunk of its answer. A token is the number
// of the chunk that is next.
type longDecode struct {
	form    api.Form
	wrapped bool
	parts   []string // one for each chunk
}

// ask returns the chunks of the answer to a request. The usage is that of one request.
func (d longDecode) ask(t *testing.T, request string) (frames [][]byte) {
	t.Helper()
	inner := request
	if d.wrapped {
		inner = string(api.Member([]byte(request), "request"))
	}
	from := 0
	if token := api.Member([]byte(inner), "continuationToken"); token != nil {
		from, _ = strconv.Atoi(api.TextOf(token))
	}
	for i := from; i < len(d.parts); i++ {
		more := ""
		switch {
		case i == len(d.parts)-1:
			more = `,"finishReason":"STOP"`
		case i%3 == 2:
			more = fmt.Sprintf(`,"continuationToken":"%d"`, i+1)
		}
		out := i + 1 - from
		data := fmt.Sprintf(`{"candidates":[{"content":{"role":"model","parts":[%s]}%s,"index":0}],"usageMetadata":{"promptTokenCount":%d,`+
			`"candidatesTokenCount":%d,"thoughtsTokenCount":%d,"totalTokenCount":%d},"responseId":"from %d"}`,
			d.parts[i], more, 10+from, out, out, 10+from+2*out, from)
		if d.wrapped {
			data = `{"response":` + data + `}`
		}
		switch {
		case d.form == api.Events:
			data = "data: " + data + "\r\n\r\n"
		case i == from:
			data = "[" + data
		default:
			data = ",\r\n" + data
		}
		frames = append(frames, []byte(data))
	}
	if d.form == api.Array {
		frames = append(frames, []byte("]"))
	}
	return frames
}

// decoded is what a client of Gemini's reads of a long answer.
type decodedLong struct {
	Text, Thoughts, Calls, ID, Finish, Token string
	In, Out, Thought, Total                  int
}

// read decodes a stream.
func (d longDecode) read(t *testing.T, stream []byte) (r decodedLong) {
	t.Helper()
	var chunks []json.RawMessage
	if d.form == api.Array {
		if err := json.Unmarshal(stream, &chunks); err != nil {
			t.Fatalf("the stream is no array: %v\n%s", err, stream)
		}
	} else {
		for event := range bytes.SplitSeq(bytes.TrimSuffix(stream, []byte("\r\n\r\n")), []byte("\r\n\r\n")) {
			chunks = append(chunks, bytes.TrimPrefix(event, []byte("data: ")))
		}
	}
	for _, data := range chunks {
		if d.wrapped {
			data = api.Member(data, "response")
		}
		var e struct {
			ResponseID string
			Candidates []struct {
				Content struct {
					Parts []struct {
						Text         string
						Thought      bool
						FunctionCall json.RawMessage
					}
				}
				FinishReason, ContinuationToken string
			}
			UsageMetadata struct{ PromptTokenCount, CandidatesTokenCount, ThoughtsTokenCount, TotalTokenCount int }
		}
		if err := json.Unmarshal(data, &e); err != nil || len(e.Candidates) != 1 || r.Finish != "" || r.ID != "" && r.ID != e.ResponseID {
			t.Fatalf("%s: %v; want one candidate, the id %q, and nothing behind the end", data, err, r.ID)
		}
		for _, p := range e.Candidates[0].Content.Parts {
			switch {
			case p.FunctionCall != nil:
				r.Calls += string(p.FunctionCall)
			case p.Thought:
				r.Thoughts += p.Text
			default:
				r.Text += p.Text
			}
		}
		if token := e.Candidates[0].ContinuationToken; token != "" {
			r.Token = token
		}
		u := e.UsageMetadata
		r.ID, r.Finish = e.ResponseID, e.Candidates[0].FinishReason
		r.In, r.Out, r.Thought, r.Total = u.PromptTokenCount, u.CandidatesTokenCount, u.ThoughtsTokenCount, u.TotalTokenCount
	}
	return r
}

// textParts returns parts with a text each.
func textParts(texts ...string) (parts []string) {
	for _, text := range texts {
		parts = append(parts, string(api.PlainBlock(text)))
	}
	return parts
}

// thoughtParts returns parts with reasoning.
func thoughtParts(texts ...string) (parts []string) {
	for _, text := range texts {
		parts = append(parts, `{"text":`+string(api.Quote(text))+`,"thought":true}`)
	}
	return parts
}

// longAnswers are parts of answers, of which the texts could not be continued by a question.
var longAnswers = map[string][]string{
	"a text":               textParts("One ", "two ", "two ", "two ", "three\n", "four ", "😀 ", "six ", "seven."),
	"JSON":                 textParts(`{"a`, `":[1`, `,1`, `,1`, `,"<b>`, `"]`, `}`),
	"reasoning and a text": append(thoughtParts("Let ", "me ", "see, ", "let ", "me ", "see."), textParts("", "So ", "it ", "is ", "so.")...),
	"a text and a call":    append(textParts("I ", "will ", "look, ", "and "), `{"functionCall":{"name":"read","args":{"path":"a b"}}}`, `{"functionCall":{"name":"now","args":{}}}`),
	"calls before a text":  append([]string{`{"functionCall":{"name":"read","args":{"path":"a b"}}}`, `{"text":""}`}, textParts("", "all ", "done ", "now.")...),
}

// TestCompletion_ResumesAtCheckpoints lets an answer break off behind each of its chunks, and the rest once more. Behind a
// checkpoint the client reads the whole answer, with each word once.
func TestCompletion_ResumesAtCheckpoints(t *testing.T) {
	for name, parts := range longAnswers {
		for _, d := range []longDecode{{form: api.Events}, {form: api.Array}, {form: api.Events, wrapped: true}} {
			for _, lossless := range []bool{true, false} {
				d.parts = parts
				request := longRequest
				if d.wrapped {
					request = `{"model":"m","request":` + longRequest + `}`
				}
				whole := d.ask(t, request)
				want := d.read(t, bytes.Join(whole, nil))
				for n := 3; n < len(parts); n++ {
					for again := 0; again < len(parts); again++ { // frames of the rest that come before that breaks off too
						what := fmt.Sprintf("%s in form %d, lossless %v, cut behind %d chunks, and behind %d more", name, d.form, lossless, n, again)
						got, err := d.resumed(t, request, whole[:n], again, lossless)
						if wanted := d.resumable(n, again); (err == nil) != wanted {
							t.Errorf("%s: error %v, want it resumed: %v", what, err, wanted)
						}
						if err != nil {
							continue
						}
						if r := d.read(t, got); r != want {
							t.Errorf("%s:\ngot  %+v\nwant %+v", what, r, want)
						}
					}
				}
			}
		}
	}
}

// resumable reports whether both breaks are mended: behind neither checkpoint a call was shown, which may have been made,
// nor the end.
func (d longDecode) resumable(n, again int) bool {
	calls := func(from, to int) bool { return strings.Contains(strings.Join(d.parts[from:to], ""), "functionCall") }
	first := n / 3 * 3
	if calls(first, n) {
		return false
	}
	shown := max(n, first+again)
	if whole := first+again >= len(d.parts); whole {
		return d.form != api.Array || first+again > len(d.parts)
	}
	return !calls(shown/3*3, shown)
}

// resumed returns the stream of an answer that breaks off behind some frames, as does the one that resumes it.
func (d longDecode) resumed(t *testing.T, request string, first [][]byte, again int, lossless bool) ([]byte, error) {
	t.Helper()
	a := api.NewCompletion(gemini.API(), d.form)
	a.Lossless = lossless
	stream := bytes.Join(first, nil)
	for part := range bytes.SplitAfterSeq(stream, []byte("e")) {
		a.Shown(part)
	}
	for hop := 0; ; hop++ {
		body, err := a.Continue([]byte(request))
		if err != nil {
			return stream, err
		}
		if !strings.Contains(string(body), `"continuationToken":"`) || strings.Contains(string(body), "was interrupted") {
			t.Fatalf("the request is %s, want the first one with a token", body)
		}
		frames := d.ask(t, string(body))
		breaks := hop == 0 && again < len(frames)
		if breaks {
			frames = frames[:again]
		}
		for _, frame := range frames {
			send, err := a.Add(frame)
			if err != nil {
				return stream, err
			}
			stream = append(stream, send...)
		}
		if breaks {
			continue
		}
		send, err := a.End()
		return append(stream, send...), err
	}
}
