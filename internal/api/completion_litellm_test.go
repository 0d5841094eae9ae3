package api_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
)

// The bugs for which LiteLLM took its continuation back, each in its own words.

// TestLiteLLM_PrefillOfNewerModels is its #27967: the second request ended with the model's turn, a 400 from
// Claude 4.6 on.
func TestLiteLLM_PrefillOfNewerModels(t *testing.T) {
	for _, at := range apis() {
		p := simulator.New(simulator.Script{Then: simulator.Say{Text: answers[0].Text, Continue: simulator.NoPrefill}})
		whole := at.ask(t, p, at.request)
		got, err := at.join(t, p, whole[:len(whole)/2])
		if err != nil {
			t.Errorf("%s: %v", at.name, err)
		} else if r := at.read(t, got); r.text != answers[0].Text {
			t.Errorf("%s: got %q, want %q", at.name, r.text, answers[0].Text)
		}
		_ = p.Close()
	}
}

// TestLiteLLM_SystemPromptIsOverridden is its #18229: another system prompt was added. All that a request has
// must stay as it is, byte by byte, so that the prompt's cache holds too.
func TestLiteLLM_SystemPromptIsOverridden(t *testing.T) {
	for name, members := range map[string]string{
		"anthropic": `"system":[{"type":"text","text":"You are <Lexomat>.","cache_control":{"type":"ephemeral"}}],"tools":[{"name":"x", "input_schema":{}}],` +
			`"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"x","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t"}]}]`,
		"openai-chat":      `"tools":[{"type":"function"}],"messages":[{"role":"system","content":"You are <Lexomat>."},{"role":"user","content":"Hi"}]`,
		"openai-responses": `"store":false,"instructions":"You are <Lexomat>.","tools":[{"type":"function"}],"input":[{"role":"user","content":"Hi"}]`,
		"bedrock-converse": `"system":[{"text":"You are <Lexomat>."}],"toolConfig":{"tools":[]},"messages":[{"role":"user","content":[{"text":"Hi"}]}]`,
		"gemini":           `"systemInstruction":{"parts":[{"text":"You are <Lexomat>."}]},"tools":[{"functionDeclarations":[]}],"contents":[{"role":"user","parts":[{"text":"Hi"}]}]`,
		"ollama":           `"tools":[{"type":"function"}],"messages":[{"role":"system","content":"You are <Lexomat>."},{"role":"user","content":"Hi"}]`,
	} {
		body, err := continueBehind(name, stopped[name], `{`+members+`,"temperature":0.50}`)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		before := `{` + strings.TrimSuffix(members, "]")
		if !strings.HasPrefix(body, before+",") || !strings.HasSuffix(body, `],"temperature":0.50}`) || strings.Count(body, `"system"`) != strings.Count(before, `"system"`) {
			t.Errorf("%s: got %s, want it to begin with %s", name, body, before)
		}
	}
}

// TestLiteLLM_ToolCallsAreCorrupted is its #31067: an answer that would have called a tool became prose, with
// a clean end. A call after the text must come through, and one that was shown is not repeated.
func TestLiteLLM_ToolCallsAreCorrupted(t *testing.T) {
	for _, at := range apis() {
		p := simulator.New(simulator.Script{Then: answers[2]})
		whole := at.ask(t, p, at.request)
		want := at.read(t, whole).calls
		continued := false
		for n := range whole {
			got, err := at.join(t, p, whole[:n])
			if err != nil {
				continue
			}
			continued = true
			if calls := at.read(t, got).calls; fmt.Sprint(calls) != fmt.Sprint(want) {
				t.Errorf("%s, cut behind frame %d: got the calls %v, want %v", at.name, n, calls, want)
			}
		}
		if !continued {
			t.Errorf("%s: no cut was continued", at.name)
		}
		_ = p.Close()
	}
}

// longAnswer is longer than what a second answer may repeat to find the seam.
func longAnswer() string {
	return strings.Repeat("A line that was said before, and is said again. ", 7) + answers[0].Text
}

// TestLiteLLM_ContentIsDuplicated is its #32835: what had been shown came again. A model that says anything else than
// what it has said is not shown.
func TestLiteLLM_ContentIsDuplicated(t *testing.T) {
	for _, way := range []simulator.Continue{simulator.Paraphrase, simulator.Decline} {
		for _, at := range apis() {
			p := simulator.New(simulator.Script{Then: simulator.Say{Text: longAnswer(), Continue: way}})
			whole := at.ask(t, p, at.request)
			a, shown := at.follow(whole[:len(whole)-8])
			var err error
			for _, f := range at.ask(t, p, at.continued(t, a)) {
				var send []byte
				if send, err = a.Add(f); len(send) > 0 {
					t.Errorf("%s, %s: %q was shown behind %d frames", at.name, way, send, len(shown))
				}
				if err != nil {
					break
				}
			}
			if !errors.Is(err, api.ErrNoSeam) {
				t.Errorf("%s, %s: got %v, want %v", at.name, way, err, api.ErrNoSeam)
			}
			_ = p.Close()
		}
	}
}

// A server that answers alike to the same question says all of it again: only the rest is shown.
func TestCompletion_RepetitionOfAllContinues(t *testing.T) {
	for _, at := range apis() {
		p := simulator.New(simulator.Script{Then: simulator.Say{Text: longAnswer(), Continue: simulator.Repeat}})
		whole := at.ask(t, p, at.request)
		got, err := at.join(t, p, whole[:len(whole)-8])
		if err != nil {
			t.Errorf("%s: %v, want the rest", at.name, err)
			continue
		}
		if text := at.read(t, got).text; text != longAnswer() {
			t.Errorf("%s: got %q, want %q", at.name, text, longAnswer())
		}
		_ = p.Close()
	}
}

// One byte that differs is another answer, of which nothing is shown.
func TestCompletion_AlmostARepetitionIsNone(t *testing.T) {
	for _, at := range apis() {
		p, other := simulator.New(simulator.Script{Then: simulator.Say{Text: longAnswer()}}),
			simulator.New(simulator.Script{Then: simulator.Say{Text: strings.Replace(longAnswer(), "was said", "war said", 1)}})
		whole := at.ask(t, p, at.request)
		a, _ := at.follow(whole[:len(whole)-8])
		at.continued(t, a)
		var err error
		for _, f := range at.ask(t, other, at.request) {
			var send []byte
			if send, err = a.Add(f); len(send) > 0 {
				t.Errorf("%s: %q was shown", at.name, send)
			}
			if err != nil {
				break
			}
		}
		if !errors.Is(err, api.ErrNoSeam) {
			t.Errorf("%s: got %v, want %v", at.name, err, api.ErrNoSeam)
		}
		_, _ = p.Close(), other.Close()
	}
}
