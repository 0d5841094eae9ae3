package api_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/api/openai"
	"github.com/ridethrough/ridethrough/internal/api/registry"
)

// withModel returns a body, scanned in parts of a size in bytes, with another model in it.
func withModel(body, model string, parts int) (string, bool) {
	var m api.ModelScanner
	for rest := body; len(rest) > 0; {
		n := min(parts, len(rest))
		m.Scan([]byte(rest[:n]))
		rest = rest[n:]
	}
	spans, text, ok := m.Replace(model)
	var out strings.Builder
	at := 0
	for _, s := range spans {
		out.WriteString(body[at:s.Begin])
		out.Write(text)
		at = s.End
	}
	out.WriteString(body[at:])
	return out.String(), ok
}

func TestModelScanner_ReplacesTheModelOnly(t *testing.T) {
	tests := []struct{ name, body, want string }{
		{"first member", `{"model":"a","stream":true}`, `{"model":"b","stream":true}`},
		{"last member, with space", "{ \"stream\" : true ,\n \"model\" : \"a\" }\n", "{ \"stream\" : true ,\n \"model\" : \"b\" }\n"},
		{"behind both that a scanner looks for", `{"model":"a","stream":true,"model":"c"}`, `{"model":"b","stream":true,"model":"b"}`},
		{"escaped name", `{"mod\u0065l":"a"}`, `{"mod\u0065l":"b"}`},
		{"escaped value", `{"model":"a\"\\","x":1}`, `{"model":"b","x":1}`},
		{"deeper", `{"x":{"model":"a"},"y":[{"model":"a"}],"model":"a"}`, `{"x":{"model":"a"},"y":[{"model":"a"}],"model":"b"}`},
		{"in a text", `{"x":"\"model\":\"a\"","model":"a"}`, `{"x":"\"model\":\"a\"","model":"b"}`},
		{"null", `{"model":null,"x":1}`, `{"model":"b","x":1}`},
		{"number at the end", `{"x":1,"model": 5}`, `{"x":1,"model": "b"}`},
		{"object", `{"model":{"id":["a"]},"x":1}`, `{"model":"b","x":1}`},
		{"none", `{"x":1}`, `{"model":"b","x":1}`},
		{"none at all", "{ }", `{"model":"b" }`},
		{"similar names", `{"models":"a","Model":"a","model":"a"}`, `{"models":"a","Model":"a","model":"b"}`},
	}
	for _, tt := range tests {
		for parts := range len(tt.body) {
			if got, ok := withModel(tt.body, "b", parts+1); !ok || got != tt.want {
				t.Errorf("%s, in parts of %d: %s, %v; want %s", tt.name, parts+1, got, ok, tt.want)
			}
		}
	}
	for _, body := range []string{"", " ", "[]", `"model"`, "\ufeff{}", "{" + strings.Repeat(`"model":"a",`, 9) + `"x":1}`} {
		if got, ok := withModel(body, "b", 7); ok {
			t.Errorf("%.40q becomes %.60q, want a refusal", body, got)
		}
	}
}

func TestRequest_ModelWithAnEscapedName(t *testing.T) {
	got := openai.Chat().Read(&url.URL{}, []byte(`{"mod\u0065l":"a","str\u0065am":true}`))
	if got.Model != "a" || got.Form != api.Events {
		t.Errorf("Read = %+v, want the model a and a stream", got)
	}
}

func TestAPI_ModelInPath(t *testing.T) {
	tests := []struct{ path, want string }{
		{"/v1beta/models/gemini-3:generateContent", "gemini-3"},
		{"/v1/projects/p/locations/l/publishers/google/models/g:streamGenerateContent", "g"},
		{"/v1beta/tunedModels/mine:generateContent", "mine"},
		{"/v1/projects/p/locations/l/endpoints/7:generateContent", "7"},
		{"/projects/p/locations/l/publishers/anthropic/models/m@1:rawPredict", "m@1"},
		{"/openai/deployments/d/chat/completions", "d"},
		{"/openai/v1/chat/completions", ""},
		{"/model/us.anthropic.claude-1:0/invoke", "us.anthropic.claude-1:0"},
		{"/model/arn:aws:x/y/converse-stream", "arn:aws:x/y"},
		{"/v1internal:streamGenerateContent", ""},
		{"/v1/messages", ""},
		{"/v1/chat/completions", ""},
		{"/api/chat", ""},
	}
	for _, tt := range tests {
		at := registry.Of("POST", tt.path).ModelInPath(tt.path)
		if got := tt.path[at.Begin:at.End]; got != tt.want {
			t.Errorf("%s: the model is %q, want %q", tt.path, got, tt.want)
		}
	}
}

func FuzzModelScanner_KeepsTheRest(f *testing.F) {
	f.Add(`{"model":"a","stream":true,"x":[{"model":1}]}`, 3)
	f.Add(`{"mod\u0065l":{"a":"}"},"stream":null}`, 1)
	f.Fuzz(func(t *testing.T, body string, parts int) {
		var before map[string]json.RawMessage
		if json.Unmarshal([]byte(body), &before) != nil || before == nil || parts < 1 {
			return
		}
		out, ok := withModel(body, "other", parts)
		if !ok {
			return // too many of them
		}
		var after map[string]json.RawMessage
		if err := json.Unmarshal([]byte(out), &after); err != nil {
			t.Fatalf("%q becomes %q: %v", body, out, err)
		}
		before["model"] = json.RawMessage(`"other"`)
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("%q becomes %q (-want +got):\n%s", body, out, diff)
		}
	})
}
