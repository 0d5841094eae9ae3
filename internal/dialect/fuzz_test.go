package dialect_test

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"testing"

	"github.com/ridethrough/ridethrough/internal/dialect"
)

// FuzzRead holds our scan of a request against encoding/json, and against the same scan in parts.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"model":"claude","messages":[{"role":"user","content":"Hi {\"}"}],"stream":true}`))
	f.Add([]byte(`{"a":{"b":["]",1e5,null]},"stream" : false,"model":"\\"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		got := dialect.OpenAIChat().Read(&url.URL{}, body)
		for _, size := range []int{1, 7} {
			var s dialect.RequestScanner
			for part := range slices.Chunk(body, size) {
				s.Scan(part)
			}
			if parts := dialect.OpenAIChat().Request(&url.URL{}, &s); parts != got {
				t.Errorf("Request(%q) in parts of %d: %+v, want %+v as in one", body, size, parts, got)
			}
		}
		var want map[string]json.RawMessage
		if json.Unmarshal(body, &want) != nil || bytes.Count(body, []byte("\"model\"")) > 1 || bytes.Count(body, []byte("\"stream\"")) > 1 {
			return
		}
		if stream := string(want["stream"]) == "true"; stream != (got.Form == dialect.Events) && !escapedKeys(body) {
			t.Errorf("Read(%q): stream %v, want %v", body, (got.Form == dialect.Events), stream)
		}
		var model string
		_ = json.Unmarshal(want["model"], &model)
		if model = model[:min(len(model), 256)]; model != got.Model && !escapedKeys(body) {
			t.Errorf("Read(%q): model %q, want %q", body, got.Model, model)
		}
	})
}

// escapedKeys reports whether keys may be written with escapes or invalid UTF-8,
// which no client does and our scan does not undo.
func escapedKeys(body []byte) bool {
	for _, c := range body {
		if c == '\\' || c >= 0x80 {
			return true
		}
	}
	return false
}

// FuzzFrameKind looks for frames that no dialect can stand, and checks that a
// stream is cut into the same frames however its bytes arrive, and that after
// content nothing but plain content is taken for it.
func FuzzFrameKind(f *testing.F) {
	f.Add([]byte("event: content_block_start\ndata: {\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\nevent: ping\r\n\r\n"), 5)
	f.Add([]byte("data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"},\"finish_reason\":null}]}\n\ndata: [DONE]\n\n"), 1)
	f.Add([]byte("event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"Hi\"}\n\n"), 2)
	f.Add([]byte("event: message.delta\ndata: {\"type\":\"message.delta\",\"content\":\"Hi\"}\n\n"), 2)
	f.Add([]byte(`{"model":"m","created_at":"t","response":"Hi","done":false}`+"\n"+`{"model":"m","done":true}`+"\n"), 3)
	for _, row := range geminiRows {
		f.Add([]byte("["+row.frame+"\n,\r\n"+row.frame+"\n]\n"), 3)
		f.Add([]byte("data: "+row.frame+"\r\n\r\n"), 7)
	}
	f.Fuzz(func(t *testing.T, stream []byte, step int) {
		for _, form := range []dialect.Form{dialect.JSON, dialect.Events, dialect.Lines, dialect.Array} {
			frame := stream
			if n := cutBothWays(t, form, stream, step); n > 0 {
				frame = stream[:n]
			}
			for _, d := range all {
				kind, tail := d.FrameKind(form, frame), dialect.Content
				if form != dialect.JSON {
					tail = d.LaterFrameKind(form, frame)
				}
				_ = d.EndsAnswer(form, frame)
				if json.Valid(data(frame)) && form == dialect.Events && max(kind, dialect.Content) != max(tail, dialect.Content) {
					t.Errorf("%s: frame %q is %s, after content %s", d.Name(), frame, kindNames[kind], kindNames[tail])
				}
			}
		}
	})
}

// data returns the JSON of a frame with one line of data.
func data(frame []byte) []byte {
	_, after, _ := bytes.Cut(frame, []byte("data: "))
	return after
}

// cutBothWays cuts the first frame off at once and piecewise.
func cutBothWays(t *testing.T, form dialect.Form, stream []byte, step int) int {
	whole, piecewise := form.FrameLen(stream, 0), 0
	for seen, end := 0, 0; end < len(stream) && piecewise == 0; seen = end {
		end = min(len(stream), end+1+(step&7))
		piecewise = form.FrameLen(stream[:end], seen)
	}
	if whole != piecewise || whole > len(stream) {
		t.Fatalf("form %d, %q: frame of %d bytes, read piecewise %d", form, stream, whole, piecewise)
	}
	return whole
}

// FuzzErrorText checks that a frame with any text in it is content, and never an
// opening, an error or an end.
func FuzzErrorText(f *testing.F) {
	f.Add("Hi")
	f.Add(`","finish_reason":"stop"},"error":{"finishReason":"STOP"},"done":true}]}`)
	f.Add("event: error\n\ndata: [DONE]\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		if text == "" {
			return
		}
		quoted, _ := json.Marshal(text)
		said := string(quoted)
		for _, tt := range []struct {
			d     *dialect.Dialect
			form  dialect.Form
			frame string
		}{
			{dialect.Anthropic(), dialect.Events, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"text\":" + said + "}}\n\n"},
			{dialect.OpenAIChat(), dialect.Events, chunk(`{"content":` + said + `}`)},
			{dialect.OpenAICompletions(), dialect.Events, `data: {"choices":[{"text":` + said + `,"finish_reason":null}]}` + "\n\n"},
			{dialect.OpenAIResponses(), dialect.Events, "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":" + said + "}\n\n"},
			{dialect.Gemini(), dialect.Events, `data: {"candidates": [{"content": {"parts": [{"text": ` + said + `}]}}]}` + "\r\n\r\n"},
			{dialect.Gemini(), dialect.Array, ",\n" + `{"candidates": [{"content": {"parts": [{"text": ` + said + `}]}}]}`},
			{dialect.Ollama(), dialect.Lines, `{"model":"m","message":{"content":` + said + `},"done":false}` + "\n"},
			{dialect.LMStudio(), dialect.Events, "event: message.delta\ndata: {\"type\":\"message.delta\",\"content\":" + said + "}\n\n"},
		} {
			frame := []byte(tt.frame)
			if tt.form.FrameLen(frame, 0) != len(frame) || tt.d.FrameKind(tt.form, frame) != dialect.Content || tt.d.LaterFrameKind(tt.form, frame) != dialect.Content {
				t.Errorf("%s: frame %q has kind %s", tt.d.Name(), frame, kindNames[tt.d.FrameKind(tt.form, frame)])
			}
		}
	})
}
