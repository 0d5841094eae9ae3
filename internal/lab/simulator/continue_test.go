package simulator_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
)

// TestContinue_EveryWayInEveryAPI asks a model to continue an answer whose first words it has said.
func TestContinue_EveryWayInEveryAPI(t *testing.T) {
	const whole, partial, asks = "one two three four", "one two ", "Go on behind <ending>two </ending>."
	chat := func(turns ...string) string {
		return `{"model":"m","stream":false,"messages":[` + strings.Join(turns, ",") + `]}`
	}
	turn := func(role, text string) string { return fmt.Sprintf(`{"role":%q,"content":%q}`, role, text) }
	google := func(role, text string) string { return fmt.Sprintf(`{"role":%q,"parts":[{"text":%q}]}`, role, text) }
	requests := map[string]string{
		"/v1/messages":         chat(turn("user", "Hi"), turn("assistant", partial), turn("user", asks)),
		"/v1/chat/completions": chat(turn("user", "Hi"), turn("assistant", partial), turn("user", asks)),
		"/api/chat":            chat(turn("user", "Hi"), turn("assistant", partial), turn("user", asks)),
		"/v1/responses":        `{"model":"m","input":[` + turn("assistant", partial) + `,` + turn("user", asks) + `]}`,
		"/v1beta/models/gemini-2.5-pro:generateContent": `{"contents":[` + google("model", partial) + `,` + google("user", asks) + `]}`,
	}
	ways := map[simulator.Continue]string{
		"":                   "two three four",
		simulator.Exact:      "two three four",
		simulator.NoPrefill:  "two three four",
		simulator.Paraphrase: "As I was saying, two – three four",
		simulator.Decline:    "I'm sorry, but I can't go on with a response that was interrupted.",
		simulator.Repeat:     whole,
	}
	for path, body := range requests {
		for way, want := range ways {
			text, _ := json.Marshal(want)
			if status, got := answerOf(t, simulator.Say{Text: whole, Continue: way}, path, body); status != 200 || !strings.Contains(got, string(text)) {
				t.Errorf("%s, %q: got %d %s, want %s", path, way, status, got, text)
			}
		}
	}
	later := chat(turn("user", "Hi"), turn("assistant", whole), turn("user", "And now?"))
	if _, got := answerOf(t, simulator.Say{Text: whole}, "/v1/chat/completions", later); !strings.Contains(got, whole) {
		t.Errorf("the next turn of a conversation: got %s, want the whole answer", got)
	}
}

// TestContinue_Prefill asks with the beginning of the answer alone.
func TestContinue_Prefill(t *testing.T) {
	body := `{"model":%q,"max_tokens":9,"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"one "}]}`
	for _, row := range []struct {
		model  string
		reply  simulator.Reply
		status int
		want   string
	}{
		{"claude-opus-4-5", simulator.Say{Text: "one two"}, 200, `"two"`},
		{"claude-opus-4-6", simulator.Say{Text: "one two"}, 400, "does not support assistant message prefill"},
		{"claude-opus-5", simulator.Say{Text: "one two"}, 400, "does not support assistant message prefill"},
		{"m", simulator.NoPrefill, 400, "does not support assistant message prefill"},
	} {
		p := simulator.Script{Answer: "one two", Then: row.reply}
		status, got := play(t, p, "/v1/messages", fmt.Sprintf(body, row.model))
		if status != row.status || !strings.Contains(got, row.want) {
			t.Errorf("%s, %s: got %d %s, want %d with %s", row.model, row.reply, status, got, row.status, row.want)
		}
	}
}

// TestCut_AtAByte cuts a stream inside an event.
func TestCut_AtAByte(t *testing.T) {
	body := `{"model":"m","stream":true,"messages":[]}`
	_, whole := play(t, simulator.Script{}, "/v1/chat/completions", body)
	_, got := play(t, simulator.Script{Then: simulator.Cut{After: 100, Bytes: true, End: simulator.Clean}}, "/v1/chat/completions", body)
	if want := whole[:100]; len(got) != 100 || got[:20] != want[:20] {
		t.Errorf("got %q, want %q", got, want)
	}
}

func answerOf(t *testing.T, r simulator.Reply, path, body string) (status int, text string) {
	t.Helper()
	return play(t, simulator.Script{Then: r}, path, body)
}

// play sends one request.
func play(t *testing.T, s simulator.Script, path, body string) (status int, text string) {
	t.Helper()
	p := simulator.New(s)
	defer func() { _ = p.Close() }()
	resp, err := p.Client().Post("http://simulator"+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	defer func() { _ = resp.Body.Close() }()
	all, err := io.ReadAll(resp.Body)
	if err != nil && resp.StatusCode == http.StatusOK {
		t.Fatalf("%s: %v", path, err)
	}
	return resp.StatusCode, string(all)
}
