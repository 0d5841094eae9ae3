package api_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/api/registry"
)

// shownText is what the answers of these tests have shown.
const shownText = "The circuit opens when five tries in a row have failed, and then"

// stopped is a stream of each API that has shown shownText.
var stopped = map[string]string{
	"anthropic": "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"usage\":{\"input_tokens\":9}}}\n\n" +
		"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n" +
		"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"" + shownText + "\"}}\n\n",
	"openai-chat": "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" + shownText + "\"}}]}\n\n",
	"openai-responses": "event: response.created\ndata: {\"type\":\"response.created\",\"sequence_number\":0,\"response\":{\"id\":\"r\"}}\n\n" +
		"event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"sequence_number\":1,\"item_id\":\"i\",\"output_index\":0,\"content_index\":0,\"delta\":\"" + shownText + "\"}\n\n",
	"bedrock-converse": string(api.AWSEvent([]byte("contentBlockDelta"), []byte(`{"contentBlockIndex":0,"delta":{"text":"`+shownText+`"}}`))),
	"gemini":           "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"" + shownText + "\"}]}}],\"responseId\":\"g\"}\r\n\r\n",
	"ollama":           "{\"model\":\"m\",\"message\":{\"content\":\"" + shownText + "\"},\"done\":false}\n",
}

// Continuation returns an API by its name.
func Continuation(name string) anAPI {
	for _, a := range apis() {
		if a.name == name {
			return a
		}
	}
	panic(name)
}

// continueBehind continues an answer of an API behind what it has shown.
func continueBehind(name, shown, request string) (string, error) {
	at := Continuation(name)
	a := api.NewCompletion(at.dialect, at.form)
	a.Shown([]byte(shown))
	body, err := a.Continue([]byte(request))
	return string(body), err
}

// TestCompletion_RefusesWhatCannotBeJoined has a request for each thing that forbids to continue its answer.
func TestCompletion_RefusesWhatCannotBeJoined(t *testing.T) {
	const converseTurns = `"messages":[{"role":"user","content":[{"text":"Hi"}]}]`
	const (
		user  = `"messages":[{"role":"user","content":"Hi"}]`
		model = `"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"The"}]`
		turns = `"contents":[{"role":"user","parts":[{"text":"Hi"}]}]`
	)
	for name, requests := range map[string][]string{
		"anthropic": {
			`{` + model + `}`,
			`{"tool_choice":{"type":"any"},` + user + `}`,
			`{"tool_choice":{"type":"tool","name":"x"},` + user + `}`,
			`{"output_format":{"type":"json_schema"},` + user + `}`,
			`{"output_config":{"format":{"type":"json_schema"}},` + user + `}`,
			`{"messages":[{"role":"user","content":[{"type":"document","citations":{"enabled":true}}]}]}`,
			`{"stop_sequences":["END","then it"],` + user + `}`,
			`{"max_tokens":20,` + user + `}`,
			`{"max_tokens":1030,"thinking":{"type":"enabled","budget_tokens":1024},` + user + `}`,
			`{"max_tokens":20,` + user, `[]`, ``,
		},
		"openai-chat": {
			`{` + model + `}`,
			`{"tool_choice":"required",` + user + `}`,
			`{"tool_choice":{"type":"function"},` + user + `}`,
			`{"response_format":{"type":"json_object"},` + user + `}`,
			`{"response_format":{"type":"json_schema"},` + user + `}`,
			`{"guided_regex":"a*",` + user + `}`,
			`{"logprobs":true,` + user + `}`,
			`{"n":2,` + user + `}`,
			`{"web_search_options":{},"messages":[{"role":"user","content":"Hi"}],"web_search_options":{"x":1}}`,
			`{"web_search_options":{"search_context_size":"low"},` + user + `}`,
			`{"audio":{"voice":"x"},` + user + `}`,
			`{"modalities":["text","audio"],` + user + `}`,
			`{"stop":"n it",` + user + `}`,
			`{"stop":["x","then"],` + user + `}`,
			`{"max_tokens":20,` + user + `}`,
			`{"max_completion_tokens":20,` + user + `}`,
			`{"continue_final_message":true,` + user + `}`,
		},
		"openai-responses": {
			`{"input":"Hi"}`,
			`{"store":true,"input":"Hi"}`,
			`{"store":false,"previous_response_id":"r","input":"Hi"}`,
			`{"store":false,"conversation":"c","input":"Hi"}`,
			`{"store":false,"background":true,"input":"Hi"}`,
			`{"store":false,"text":{"format":{"type":"json_schema"}},"input":"Hi"}`,
			`{"store":false,"tool_choice":"required","input":"Hi"}`,
			`{"store":false,"top_logprobs":2,"input":"Hi"}`,
			`{"store":false,"include":["message.output_text.logprobs"],"input":"Hi"}`,
			`{"store":false,"max_output_tokens":20,"input":"Hi"}`,
		},
		"bedrock-converse": {
			`{"messages":[{"role":"assistant","content":[{"text":"The"}]}]}`,
			`{"toolConfig":{"toolChoice":{"any":{}}},` + converseTurns + `}`,
			`{"outputConfig":{"textFormat":{}},` + converseTurns + `}`,
			`{"inferenceConfig":{"maxTokens":20},` + converseTurns + `}`,
			`{"inferenceConfig":{"stopSequences":["then it"]},` + converseTurns + `}`,
			`{"inferenceConfig":{"maxTokens":900},"additionalModelRequestFields":{"thinking":{"budget_tokens":899}},` + converseTurns + `}`,
			`{"messages":[{"role":"user","content":[{"document":{"citations":{"enabled":true}}},{"text":"Hi"}]}]}`,
		},
		"gemini": {
			`{"generationConfig":{"responseMimeType":"application/json"},` + turns + `}`,
			`{"generation_config":{"response_mime_type":"application/json"},` + turns + `}`,
			`{"generationConfig":{"responseJsonSchema":{"type":"object"}},` + turns + `}`,
			`{"generationConfig":{"candidateCount":2},` + turns + `}`,
			`{"generationConfig":{"responseLogprobs":true},` + turns + `}`,
			`{"generationConfig":{"responseModalities":["TEXT","IMAGE"]},` + turns + `}`,
			`{"generationConfig":{"stopSequences":["en it"]},` + turns + `}`,
			`{"generationConfig":{"maxOutputTokens":20},` + turns + `}`,
			`{"toolConfig":{"functionCallingConfig":{"mode":"ANY"}},` + turns + `}`,
			`{"tools":[{"google_search":{}}],` + turns + `}`,
			`{"contents":[{"role":"model","parts":[{"text":"The"}]}]}`,
			`{"request":{"generationConfig":{"responseMimeType":"application/json"},` + turns + `}}`,
			`{"request":{"model":"m"}}`,
		},
		"ollama": {
			`{` + model + `}`,
			`{"format":"json",` + user + `}`,
			`{"format":{"type":"object"},` + user + `}`,
			`{"logprobs":true,` + user + `}`,
			`{"options":{"stop":["then"]},` + user + `}`,
			`{"options":{"num_predict":20},` + user + `}`,
			`{"prompt":"Hi"}`,
		},
	} {
		for _, request := range requests {
			body, err := continueBehind(name, stopped[name], request)
			if _, refused := errors.AsType[api.Obstacle](err); !refused {
				t.Errorf("%s: %s: got %s and %v, want a refusal", name, request, body, err)
			}
		}
	}
}

// TestCompletion_RefusesWhatHasShownMoreThanText has a frame for each.
func TestCompletion_RefusesWhatHasShownMoreThanText(t *testing.T) {
	event := func(data string) string { return "data: " + data + "\n\n" }
	for name, frames := range map[string][]string{
		"anthropic": {
			event(`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"x","input":{}}}`),
			event(`{"type":"content_block_start","index":1,"content_block":{"type":"web_search_tool_result"}}`),
			event(`{"type":"content_block_start","index":1,"content_block":{"type":"thinking","thinking":""}}`),
			event(`{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{}}}`),
			event(`{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`),
		},
		"openai-chat": {
			event(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"x"}}]}}]}`),
			event(`{"choices":[{"delta":{"annotations":[{"type":"url_citation"}]}}]}`),
			event(`{"choices":[{"delta":{"refusal":"No"}}]}`),
			event(`{"choices":[{"delta":{},"finish_reason":"stop"}]}`),
			event(`{"choices":[{"delta":{"content":" it"},"logprobs":{"content":[{}]}}]}`),
		},
		"openai-responses": {
			event(`{"type":"response.output_item.added","item":{"type":"function_call","name":"x"}}`),
			event(`{"type":"response.output_item.added","item":{"type":"reasoning"}}`),
			event(`{"type":"response.output_item.added","item":{"type":"web_search_call"}}`),
			event(`{"type":"response.output_text.annotation.added"}`),
			event(`{"type":"response.refusal.delta","delta":"No"}`),
			event(`{"type":"response.completed"}`),
		},
		"gemini": {
			event(`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"x"}}]}}]}`),
			event(`{"candidates":[{"content":{"parts":[{"executableCode":{}}]}}]}`),
			event(`{"candidates":[{"groundingMetadata":{"x":1}}]}`),
			event(`{"candidates":[{"finishReason":"STOP"}]}`),
		},
		"ollama": {
			`{"message":{"content":"","tool_calls":[{"function":{"name":"x"}}]},"done":false}` + "\n",
			`{"message":{"content":""},"done":true}` + "\n",
		},
	} {
		if _, err := continueBehind(name, stopped[name], Continuation(name).request); err != nil {
			t.Errorf("%s: text alone: %v", name, err)
		}
		for _, frame := range frames {
			body, err := continueBehind(name, stopped[name]+frame, Continuation(name).request)
			if _, refused := errors.AsType[api.Obstacle](err); !refused {
				t.Errorf("%s: %s: got %s and %v, want a refusal", name, frame, body, err)
			}
		}
	}
}

// TestCompletion_FramesMayComeInParts shows a frame in any two parts, and half of one at the end.
func TestCompletion_FramesMayComeInParts(t *testing.T) {
	for name, shown := range stopped {
		at := Continuation(name)
		whole, err := continueBehind(name, shown, at.request)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for n := range shown {
			a := api.NewCompletion(at.dialect, at.form)
			a.Shown([]byte(shown[:n]))
			a.Shown([]byte(shown[n:]))
			if body, err := a.Continue([]byte(at.request)); err != nil || string(body) != whole {
				t.Fatalf("%s in parts of %d bytes and the rest: got %s and %v, want %s", name, n, body, err, whole)
			}
		}
		for _, end := range []string{"data: {\"half", "data: {\"half\n\n", "data: none\n\n", "{\"half\n"} {
			body, err := continueBehind(name, shown+end, at.request)
			if _, refused := errors.AsType[api.Obstacle](err); !refused {
				t.Errorf("%s and %q: got %s and %v, want a refusal", name, end, body, err)
			}
		}
	}
}

// TestCompletion_LimitIsDeducted compares the limits of the requests: what was shown is taken from it, and what
// is repeated is added.
func TestCompletion_LimitIsDeducted(t *testing.T) {
	for name, path := range map[string][]string{
		"anthropic": {"max_tokens"}, "openai-chat": {"max_completion_tokens"}, "openai-responses": {"max_output_tokens"},
		"gemini": {"generationConfig", "maxOutputTokens"}, "bedrock-converse": {"inferenceConfig", "maxTokens"}, "ollama": {"options", "num_predict"},
	} {
		body, err := continueBehind(name, stopped[name], Continuation(name).request)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		limit := []byte(body)
		for _, key := range path {
			limit = api.Member(limit, key)
		}
		var got int
		decode(t, limit, &got)
		if got >= 900 || got < 890 {
			t.Errorf("%s: got the limit %d, want somewhat less than 900", name, got)
		}
	}
}

// TestCompletion_RequestMayEndWithTheSystem has a request as Claude Code sends it.
func TestCompletion_RequestMayEndWithTheSystem(t *testing.T) {
	const turns = `{"messages":[{"role":"user","content":"Hi"},{"role":"system","content":"Today is Sunday."}`
	body, err := continueBehind("anthropic", stopped["anthropic"], turns+`]}`)
	if want := turns + `,{"role":"assistant","content":`; err != nil || !strings.HasPrefix(body, want) {
		t.Errorf("got %s and %v, want it to begin with %s", body, err, want)
	}
}

// TestCompletion_Prefill has servers continue the model's turn.
func TestCompletion_Prefill(t *testing.T) {
	for name, want := range map[string]string{
		"openai-chat": `{"role":"assistant","content":"` + shownText + `"}],"continue_final_message":true,"add_generation_prompt":false}`,
		"ollama":      `{"role":"assistant","content":"` + shownText + `"}]}`,
		"anthropic":   `"}]}]}`,
	} {
		at := Continuation(name)
		a := api.NewCompletion(at.dialect, at.form)
		a.Prefill = true
		a.Shown([]byte(stopped[name]))
		body, err := a.Continue([]byte(`{"messages":[{"role":"user","content":"Hi"}]}`))
		asks := strings.Contains(string(body), "ending")
		if err != nil || !strings.HasSuffix(string(body), want) || asks != (name == "anthropic") || a.Prefilled() == asks {
			t.Errorf("%s: got %s, prefilled %t, and %v, want the end %s", name, body, a.Prefilled(), err, want)
		}
	}
}

// TestCompletion_PrefillShowsTheRestOnce has servers answer a request that ends with the model's turn, letter by letter.
func TestCompletion_PrefillShowsTheRestOnce(t *testing.T) {
	for _, row := range []struct{ name, shown, second, want string }{
		{"the rest", shownText, " it closes.", " it closes."},
		{"a text that repeats itself later", shownText, ". It closes; " + shownText, ". It closes; " + shownText},
		{"the beginning once more, which differs soon", shownText, "The circuit", "The circuit"},
		{"all that was shown, which the server echoes", shownText, shownText + " it closes.", " it closes."},
		{"a server that starts over", shownText, shownText[:50] + " while it waits.", ""},
		{"the end once more", shownText, shownText[20:] + " it closes.", ""},
		{"a template that begins another turn", shownText, "\n\nit closes.", ""},
		{"white space at the seam, shown", shownText + " \n", " \n it closes.", " it closes."},
		{"white space at the seam is another", shownText + "\n", " it closes.", ""},
		{"nothing", shownText, "", ""},
		{"a few words", "I will look", " into it.", " into it."},
		{"the same letters", "ha", "haha!", "haha!"},
	} {
		at := Continuation("openai-chat")
		a := api.NewCompletion(at.dialect, at.form)
		a.Prefill = true
		a.Shown(chatChunk("one", row.shown, ""))
		if body, turn := at.continued(t, a), strings.TrimSpace(row.shown)+`"}]`; !strings.Contains(body, turn) {
			t.Errorf("%s: got the request %s, want in it the turn %s", row.name, body, turn)
		}
		var read []byte
		frames := [][]byte{chatChunk("two", "", "")}
		for _, r := range row.second {
			frames = append(frames, chatChunk("two", string(r), ""))
		}
		for _, f := range append(frames, chatChunk("two", "", "stop")) {
			send, err := a.Add(f)
			if err != nil {
				break
			}
			read = append(read, send...)
		}
		if got := chatText(t, read); got != row.want {
			t.Errorf("%s: got %q, want %q", row.name, got, row.want)
		}
	}
}

// TestCompletion_SecondReasoningIsNoText has the model reason before it repeats the end, as servers name that.
func TestCompletion_SecondReasoningIsNoText(t *testing.T) {
	for _, member := range []string{"reasoning_content", "reasoning", "reasoning_text", "reasoning_details", "thinking"} {
		at := Continuation("openai-chat")
		a := api.NewCompletion(at.dialect, at.form)
		a.Shown(chatChunk("one", shownText, ""))
		at.continued(t, a)
		var read []byte
		for _, f := range [][]byte{
			[]byte(`data: {"id":"two","choices":[{"index":0,"delta":{"` + member + `":"Hm."},"finish_reason":null}]}` + "\n\n"),
			chatChunk("two", shownText[len(shownText)-30:]+" it closes.", ""), chatChunk("two", "", "stop"),
		} {
			send, err := a.Add(f)
			if err != nil {
				t.Errorf("%s: %v", member, err)
			}
			read = append(read, send...)
		}
		if got := chatText(t, read); got != " it closes." {
			t.Errorf("%s: got %q, want the rest", member, got)
		}
	}
}

// TestCompletion_OtherFormsAreNotContinued wants no Completion for an unstreamed answer, or for an API without a rule.
func TestCompletion_OtherFormsAreNotContinued(t *testing.T) {
	for _, row := range []struct {
		path string
		form api.Form
	}{
		{"/v1/messages", api.JSON},
		{"/v1/completions", api.Events},
		{"/v2/chat", api.Events},
	} {
		d := registry.Of("POST", row.path)
		if d == nil {
			t.Fatalf("%s: no API", row.path)
		}
		if a := api.NewCompletion(d, row.form); a != nil {
			t.Errorf("%s: got %v, want none", row.path, a)
		}
	}
}

// TestCompletion_RequestAsksInTheUsersVoice looks at what the model is asked: models refuse notices that look
// like instructions of another party.
func TestCompletion_RequestAsksInTheUsersVoice(t *testing.T) {
	body, err := continueBehind("openai-chat", stopped["openai-chat"], `{"messages":[{"role":"user","content":"Hi"}]}`)
	if err != nil {
		t.Fatalf("the request to go on: %v", err)
	}
	var request struct {
		Messages []struct{ Role, Content string }
	}
	if err := json.Unmarshal([]byte(body), &request); err != nil {
		t.Fatalf("the request %s: %v", body, err)
	}
	turn := request.Messages[2]
	if turn.Role != "user" || !strings.HasPrefix(turn.Content, "Your previous response was interrupted") || strings.ContainsAny(turn.Content, "[]") {
		t.Errorf("got %s: %s, want the user's words", turn.Role, turn.Content)
	}
	if got := ending(t, []byte(body)); !strings.HasSuffix(shownText, got) || len(got) < 40 {
		t.Errorf("got the ending %q, want the last 40 characters of %q", got, shownText)
	}
}
