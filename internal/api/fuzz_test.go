package api_test

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"testing"

	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/api/anthropic"
	"github.com/ridethrough/ridethrough/internal/api/gemini"
	"github.com/ridethrough/ridethrough/internal/api/lmstudio"
	"github.com/ridethrough/ridethrough/internal/api/ollama"
	"github.com/ridethrough/ridethrough/internal/api/openai"
	"github.com/ridethrough/ridethrough/internal/api/registry"
)

// FuzzRead holds our scan of a request against encoding/json, and against the same scan in parts.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"model":"claude","messages":[{"role":"user","content":"Hi {\"}"}],"stream":true}`))
	f.Add([]byte(`{"a":{"b":["]",1e5,null]},"stream" : false,"model":"\\"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		got := openai.Chat().Read(&url.URL{}, body)
		for _, size := range []int{1, 7} {
			var s api.RequestScanner
			for part := range slices.Chunk(body, size) {
				s.Scan(part)
			}
			if parts := openai.Chat().Request(&url.URL{}, &s); parts != got {
				t.Errorf("Request(%q) in parts of %d: %+v, want %+v as in one", body, size, parts, got)
			}
		}
		var want map[string]json.RawMessage
		if json.Unmarshal(body, &want) != nil || bytes.Count(body, []byte("\"model\"")) > 1 || bytes.Count(body, []byte("\"stream\"")) > 1 {
			return
		}
		if stream := string(want["stream"]) == "true"; stream != (got.Form == api.Events) && !escapedKeys(body) {
			t.Errorf("Read(%q): stream %v, want %v", body, (got.Form == api.Events), stream)
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

// FuzzFrameKind looks for frames that no API can stand, and checks that a
// stream is cut into the same frames however its bytes arrive, and that after
// content nothing but plain content is taken for it.
func FuzzFrameKind(f *testing.F) {
	f.Add([]byte("event: content_block_start\ndata: {\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\nevent: ping\r\n\r\n"), 5)
	for i, frame := range recordings(f) {
		f.Add(frame, i)
		f.Add(append(append([]byte("["), frame...), "]\n"...), i)
	}
	f.Fuzz(func(t *testing.T, stream []byte, step int) {
		for _, form := range []api.Form{api.JSON, api.Events, api.Lines, api.Array} {
			frame := stream
			if n := cutBothWays(t, form, stream, step); n > 0 {
				frame = stream[:n]
			}
			for _, d := range registry.All() {
				kind, tail := d.FrameKind(form, frame), api.Content
				if form != api.JSON {
					tail = d.LaterFrameKind(form, frame)
				}
				_ = d.EndsAnswer(form, frame)
				if json.Valid(data(frame)) && form == api.Events && max(kind, api.Content) != max(tail, api.Content) {
					t.Errorf("%s: frame %q is %d, after content %d", d.Name(), frame, kind, tail)
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
func cutBothWays(t *testing.T, form api.Form, stream []byte, step int) int {
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
			d     *api.API
			form  api.Form
			frame string
		}{
			{anthropic.Messages(), api.Events, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"text\":" + said + "}}\n\n"},
			{openai.Chat(), api.Events, chunk(`{"content":` + said + `}`)},
			{openai.Completions(), api.Events, `data: {"choices":[{"text":` + said + `,"finish_reason":null}]}` + "\n\n"},
			{openai.Responses(), api.Events, "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":" + said + "}\n\n"},
			{gemini.API(), api.Events, `data: {"candidates": [{"content": {"parts": [{"text": ` + said + `}]}}]}` + "\r\n\r\n"},
			{gemini.Interactions(), api.Events, "event: step.delta\ndata: {\"index\":0,\"delta\":{\"type\":\"text\",\"text\":" + said + "},\"event_type\":\"step.delta\"}\n\n"},
			{gemini.API(), api.Array, ",\n" + `{"candidates": [{"content": {"parts": [{"text": ` + said + `}]}}]}`},
			{ollama.API(), api.Lines, `{"model":"m","message":{"content":` + said + `},"done":false}` + "\n"},
			{lmstudio.API(), api.Events, "event: message.delta\ndata: {\"type\":\"message.delta\",\"content\":" + said + "}\n\n"},
		} {
			frame := []byte(tt.frame)
			if tt.form.FrameLen(frame, 0) != len(frame) || tt.d.FrameKind(tt.form, frame) != api.Content || tt.d.LaterFrameKind(tt.form, frame) != api.Content {
				t.Errorf("%s: frame %q has kind %d", tt.d.Name(), frame, tt.d.FrameKind(tt.form, frame))
			}
		}
	})
}
