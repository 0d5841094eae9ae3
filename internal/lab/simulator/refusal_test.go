package simulator_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
)

const (
	gemini3    = "/v1beta/models/gemini-3-pro:generateContent"
	studioLike = "http://127.0.0.1:1234" + completions
)

// refused holds conversations that a vendor does not take, with its words.
var refused = []struct{ path, body, want string }{
	{messages, `{"max_tokens":0}`, "max_tokens: must be greater than or equal to 1"},
	{messages, `{"max_tokens":9,"thinking":{"type":"enabled","budget_tokens":9}}`, "thinking.enabled.budget_tokens: Input should be greater"},
	{messages, `{"max_tokens":2000,"thinking":{"type":"enabled","budget_tokens":2000}}`, "`max_tokens` must be greater than `thinking.budget_tokens`"},
	{messages, `{"model":"claude-opus-5","thinking":{"type":"enabled","budget_tokens":2000}}`, `\"thinking.type.enabled\" is not supported for this model.`},
	{messages, `{"model":"claude-haiku-4-5","thinking":{"type":"adaptive"}}`, "adaptive thinking is not supported on this model"},
	{messages, `{"tools":[{"name":"a b","input_schema":{"type":"object"}}]}`, "tools.0.custom.name: String should match pattern"},
	{messages, `{"tools":[{"name":"a","input_schema":{"type":"object"}},{"name":"a","input_schema":{"type":"object"}}]}`, "Tool names must be unique"},
	{messages, `{"tools":[{"name":"a"}]}`, "tools.0.custom.input_schema: Field required"},
	{messages, `{"tools":[{"name":"a","input_schema":{}}]}`, "tools.0.custom.input_schema.type"},
	{messages, `{"messages":[{"role":"user","content":[]}]}`, "messages.0: all messages must have non-empty content"},
	{messages, `{"messages":[{"role":"user","content":""}]}`, "text content blocks must be non-empty"},
	{messages, `{"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"hm"}]}]}`, "messages.0.content.0.thinking.signature: Field required"},
	{messages, `{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a|b"}]}]}`, "messages.0.content.0.tool_use.id: String should match pattern"},
	{messages, `{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","input":"{}"}]}]}`, "tool_use.input: Input should be a valid dictionary"},
	{messages, `{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}]}`, "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: a."},
	{messages, `{"messages":[` + used + `]}`, "messages.0: `tool_use` ids were found without `tool_result` blocks immediately after: a."},
	{messages, `{"messages":[` + used + `,{"role":"user","content":"Hi"}]}`, "messages.0: `tool_use` ids were found without"},
	{messages, `{"messages":[` + used + `,{"role":"user","content":[{"type":"text","text":"Hi"},{"type":"tool_result","tool_use_id":"a"}]}]}`, "messages.0: `tool_use` ids were found without"},
	{messages, `{"messages":[` + used + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"},{"type":"tool_result","tool_use_id":"a"}]}]}`, "each tool_use must have a single result"},
	{messages, `{"thinking":{"type":"enabled","budget_tokens":1024},"messages":[` + used + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}]}`, "Expected `thinking` or `redacted_thinking`, but found `tool_use`"},

	{completions, `{"tools":[{"function":{"name":"a b"}}]}`, "Invalid 'tools[0].function.name': string does not match pattern."},
	{completions, `{"messages":[{"role":"assistant","content":null}]}`, "Invalid value for 'content': expected a string, got null."},
	{completions, `{"messages":[{"role":"assistant","tool_calls":[{"function":{"name":"a","arguments":"{}"}}]}]}`, "Invalid 'messages[0].tool_calls[0].id': empty string."},
	{completions, `{"messages":[{"role":"assistant","tool_calls":[{"id":"` + strings.Repeat("a", 41) + `"}]}]}`, "string too long. Expected a string with maximum length 40"},
	{completions, `{"messages":[{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"a","arguments":{}}}]}]}`, "Invalid type for 'messages[0].tool_calls[0].function.arguments'"},
	{completions, `{"messages":[{"role":"tool","content":"a","tool_call_id":"a"}]}`, "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."},
	{completions, `{"messages":[` + invoked + `,{"role":"tool","content":"a","tool_call_id":"b"}]}`, "'tool_call_id' of 'b' not found in 'tool_calls' of previous message."},
	{completions, `{"messages":[` + invoked + `]}`, "The following tool_call_ids did not have response messages: a"},
	{completions, `{"messages":[` + invoked + `,{"role":"user","content":"Hi"}]}`, "The following tool_call_ids did not have response messages: a"},
	{studioLike, `{"messages":[{"role":"tool","content":"a","tool_call_id":"a"}]}`, "must be a response to a preceeding message"},

	{responses, `{"input":[{"type":"function_call","id":"call_1","call_id":"a"}]}`, "Invalid 'input[0].id': 'call_1'. Expected an ID that begins with 'fc'."},
	{responses, `{"input":[{"type":"function_call","call_id":"` + strings.Repeat("a", 65) + `"}]}`, "Expected a string with maximum length 64"},
	{responses, `{"input":[{"type":"function_call_output","call_id":"a"}]}`, "No tool call found for function call output with call_id a."},
	{responses, `{"input":[{"type":"function_call","call_id":"a"}]}`, "No tool output found for function call a."},
	{responses, `{"input":[{"type":"reasoning","id":"rs_1"},{"role":"user"}]}`, "Item 'rs_1' of type 'reasoning' was provided without its required following item."},
	{responses, `{"store":false,"input":[{"type":"reasoning","id":"rs_1"},{"role":"assistant"}]}`, "Item with id 'rs_1' not found. Items are not persisted"},

	{geminiWhole, `{"contents":[{"parts":[]}]}`, "contents.parts must not be empty."},
	{geminiWhole, `{"contents":[{"parts":[{}]}]}`, "contents[0].parts[0].data: required oneof field 'data' must have one initialized field"},
	{geminiWhole, `{"contents":[` + reported + `]}`, "function response turn comes immediately after a function call turn."},
	{geminiWhole, `{"contents":[` + hello + `,{"role":"model","parts":[{"functionCall":{"name":"a"}},{"functionCall":{"name":"b"}}]},` + reported + `]}`, "the number of function response parts is equal to"},
	{geminiWhole, `{"contents":[{"role":"model","parts":[{"functionCall":{"name":"a"}}]},` + reported + `]}`, "function call turn comes immediately after a user turn"},
	{gemini3, `{"contents":[` + hello + `,{"role":"model","parts":[{"functionCall":{"name":"a"}}]},` + reported + `]}`, "Function call is missing a thought_signature"},

	{ollamaChat, `{"messages":[{"role":"assistant","tool_calls":[{"function":{"name":"a","arguments":"{}"}}]}]}`, "cannot unmarshal string"},
}

// Turns of the conversations.
const (
	used     = `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"a","input":{}}]}`
	invoked  = `{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"a","arguments":"{}"}}]}`
	hello    = `{"role":"user","parts":[{"text":"Hi"}]}`
	reported = `{"role":"user","parts":[{"functionResponse":{"name":"a"}}]}`
)

// taken holds conversations that are well.
var taken = []struct{ path, body string }{
	{messages, `{"tools":[{"name":"a","input_schema":{"type":"object"}},{"type":"bash_20250124","name":"bash"}],"messages":[{"role":"user","content":"Hi"},` + used +
		`,{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"b"},{"type":"text","text":"Well?"}]},{"role":"assistant","content":[]}]}`},
	{messages, `{"max_tokens":2000,"thinking":{"type":"enabled","budget_tokens":1024},"messages":[{"role":"user","content":"Hi"},` +
		`{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"a"},{"type":"tool_use","id":"a","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}]}`},
	{completions, `{"tools":[{"function":{"name":"a"}}],"messages":[{"role":"user","content":"Hi"},` + invoked +
		`,{"role":"tool","content":"","tool_call_id":"a"},{"role":"assistant","content":"a"}]}`},
	{responses, `{"store":false,"input":[{"role":"user"},{"type":"reasoning","id":"rs_1","encrypted_content":"a"},{"type":"function_call","id":"fc_1","call_id":"a"},` +
		`{"type":"function_call_output","call_id":"a"}]}`},
	{responses, `{"input":"Hi"}`},
	{geminiWhole, `{"contents":[` + hello + `,{"role":"model","parts":[{"functionCall":{"name":"a"}}]},` + reported + `]}`},
	{gemini3, `{"contents":[` + hello + `,{"role":"model","parts":[{"functionCall":{"name":"a"},"thoughtSignature":"a"},{"functionCall":{"name":"b"}}]},` +
		`{"role":"user","parts":[{"functionResponse":{"name":"a"}},{"functionResponse":{"name":"b"}}]}]}`},
	{gemini3, `{"contents":[` + hello + `,{"role":"model","parts":[{"functionCall":{"name":"a"}}]},` + reported + `,{"role":"model","parts":[{"text":"b"}]},` + hello + `]}`},
	{ollamaChat, `{"messages":[{"role":"assistant","tool_calls":[{"function":{"name":"a","arguments":{"b":1}}}]},{"role":"tool","content":"a","tool_name":"a"}]}`},
}

// putTo asks with a model's name in the body; path may be a whole address.
func putTo(t *testing.T, p *simulator.Provider, path, body string) answer {
	t.Helper()
	if !strings.HasPrefix(path, "http") {
		path = "http://simulator" + path
	}
	return post(t.Context(), p.Client(), path, strings.Replace(strings.Replace(body, "{", `{"model":"m",`, 1), ",}", "}", 1))
}

func TestProvider_RefusesInvalidConversations(t *testing.T) {
	for _, row := range refused {
		bubble(t, simulator.Script{Replies: parse(t, "529")}, func(t *testing.T, p *simulator.Provider) {
			got := putTo(t, p, row.path, row.body)
			said := strings.NewReplacer(`\u0026`, "&", `\u003c`, "<", `\u003e`, ">").Replace(got.body)
			refused := got.status == 400 || got.status == 404 && strings.Contains(row.want, "not found. Items")
			if !refused || !strings.Contains(said, row.want) || !json.Valid([]byte(got.body)) {
				t.Errorf("%s %s:\n%d %s\nwant %s", row.path, row.body, got.status, said, row.want)
			}
		})
	}
	for _, row := range taken {
		bubble(t, simulator.Script{}, func(t *testing.T, p *simulator.Provider) {
			if got := putTo(t, p, row.path, row.body); got.status != 200 {
				t.Errorf("%s %s: got %d %s, want status 200", row.path, row.body, got.status, got.body)
			}
		})
	}
}

func TestDenial_HasTheVendorsWords(t *testing.T) {
	for _, row := range []struct {
		path  string
		words [4]string // too-long, quota, key-echo, blocked
		codes [4]int
	}{
		{messages, [4]string{"prompt is too long: 208310 tokens", "Your credit balance is too low", "invalid x-api-key: KEY", "Output blocked by content filtering policy"}, [4]int{400, 400, 401, 400}},
		{completions, [4]string{"This model's maximum context length is", `"code":"insufficient_quota"`, "Incorrect API key provided: KEY.", `"code":"invalid_prompt"`}, [4]int{400, 429, 401, 400}},
		{responses, [4]string{"Your input exceeds the context window", `"type":"insufficient_quota"`, "Incorrect API key provided: KEY.", `"code":"invalid_prompt"`}, [4]int{400, 429, 401, 400}},
		{geminiWhole, [4]string{"exceeds the maximum number of tokens allowed", "PerDayPerProjectPerModel", "API key not valid: KEY.", `"blockReason":"PROHIBITED_CONTENT"`}, [4]int{400, 429, 401, 200}},
		{ollamaChat, [4]string{"the input length exceeds the context length", "session usage limit", "unauthorized: KEY", "requires a subscription"}, [4]int{400, 429, 401, 403}},
		{studio, [4]string{"greater than the context length", "exceeded your current quota", "Incorrect API key provided: KEY.", "flagged"}, [4]int{400, 429, 401, 400}},
		{studioLike, [4]string{"greater than the context length", "exceeded your current quota", "Incorrect API key provided: KEY.", "flagged"}, [4]int{400, 429, 401, 400}},
	} {
		bubble(t, simulator.Script{Replies: parse(t, "too-long, quota, key-echo, blocked")}, func(t *testing.T, p *simulator.Provider) {
			for i := range 4 {
				got := withKey(t, p, row.path)
				said := strings.ReplaceAll(got.body, `\u003e`, ">")
				if got.status != row.codes[i] || !strings.Contains(said, row.words[i]) || !json.Valid([]byte(got.body)) {
					t.Errorf("%s: %d %s\nwant %d %s", row.path, got.status, said, row.codes[i], row.words[i])
				}
			}
			if got := outcomes(p); got != "too-long quota key-echo blocked" {
				t.Errorf("record: %s", got)
			}
		})
	}
}

// withKey asks with a key.
func withKey(t *testing.T, p *simulator.Provider, path string) answer {
	t.Helper()
	if !strings.HasPrefix(path, "http") {
		path = "http://simulator" + path
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(plain))
	if err != nil {
		t.Fatalf("new request with context: %v", err)
	}
	req.Header.Set("Authorization", "Bearer KEY")
	return do(p.Client(), req)
}

func TestDenial_KeyEchoFindsTheKey(t *testing.T) {
	bubble(t, simulator.Script{Then: simulator.KeyEcho}, func(t *testing.T, p *simulator.Provider) {
		for _, name := range []string{"x-api-key", "x-goog-api-key", "key"} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://simulator"+geminiSSE+"&key=KEY", strings.NewReader("{}"))
			if err != nil {
				t.Fatalf("new request with context: %v", err)
			}
			req.Header.Set(name, "KEY")
			if got := do(p.Client(), req); !strings.Contains(got.body, "not valid: KEY.") {
				t.Errorf("refused key in %s: got %+v, want the key in the message", name, got)
			}
		}
	})
}

func TestDenial_BlockedIsAnAnswerOfGemini(t *testing.T) {
	bubble(t, simulator.Script{Then: simulator.Blocked}, func(t *testing.T, p *simulator.Provider) {
		for path, prefix := range map[string]string{geminiWhole: "{", geminiSSE: "data: {", geminiArray: "[{"} {
			got := ask(t, p, path, "{}")
			if got.status != 200 || !strings.HasPrefix(got.body, prefix+`"promptFeedback"`) || strings.Count(got.body, "promptFeedback") != 1 {
				t.Errorf("blocked prompt at %s: got %+v, want status 200 and one promptFeedback", path, got)
			}
		}
	})
}

func TestProvider_UnknownModelIsNotFound(t *testing.T) {
	for path, want := range map[string]string{
		messages:  `{"type":"error","error":{"type":"not_found_error","message":"model: no-such-model"}`,
		responses: `"message":"The requested model 'no-such-model' does not exist.","type":"invalid_request_error","param":"model","code":"model_not_found"`,
		completions: "{\"error\":{\"message\":\"The model `no-such-model` does not exist or you do not have access to it.\"," +
			`"type":"invalid_request_error","param":null,"code":"model_not_found"}}`,
		"/v1beta/models/no-such-model:generateContent": `{"error":{"code":404,"message":"models/no-such-model is not found for API version v1beta`,
		ollamaChat: `{"error":"model 'no-such-model' not found"}`,
		studio:     `{"error":{"type":"model_not_found","message":"No models loaded.`,
		studioLike: `"param":"model","code":"model_not_found"`,
	} {
		bubble(t, simulator.Script{Replies: parse(t, "529")}, func(t *testing.T, p *simulator.Provider) {
			if !strings.HasPrefix(path, "http") {
				path = "http://simulator" + path
			}
			got := post(t.Context(), p.Client(), path, `{"model":"no-such-model","stream":true}`)
			if got.status != 404 && !strings.HasSuffix(path, responses) || got.status < 400 || !strings.Contains(strings.ReplaceAll(got.body, `\u0026`, "&"), want) {
				t.Errorf("unknown model at %s: got %d %s, want an error that says %s", path, got.status, got.body, want)
			}
			if outcomes(p) == "529" {
				t.Error("it has used up a reply")
			}
		})
	}
}

func TestProvider_LMStudioErrorsOnItsPort(t *testing.T) {
	bubble(t, simulator.Script{Replies: parse(t, "503, error-first, ok")}, func(t *testing.T, p *simulator.Provider) {
		for _, want := range []string{`{"error":"Model is unloaded."}`, "event: error\ndata: {\"error\":{\"message\":\"Model is unloaded.\"}", "[DONE]"} {
			got := post(t.Context(), p.Client(), studioLike, streamed)
			if !strings.Contains(got.body, want) || got.header.Get("x-request-id") != "" {
				t.Errorf("%+v, want %s", got, want)
			}
		}
	})
}
