package api_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/api/openai"
)

// asked is what a model is asked for: to repeat the end of what it has said, and to continue.
type asked struct {
	said, ending, rest string
	rand               *rand.Rand
}

// behaviours are how models answer that. Each has several ways.
var behaviours = []struct {
	name  string
	exact bool // the model does as it is asked, so that the seam must be found
	ways  []func(asked) string
}{
	{"honours the anchor", true, []func(asked) string{
		func(q asked) string { return q.ending + q.rest },
		func(q asked) string { return spaced(q) + q.rest },
		func(q asked) string { return "\n" + q.ending + q.rest },
		reopened,
	}},
	{"paraphrases", false, []func(asked) string{
		func(q asked) string { return swapped(q.ending) + q.rest },
		func(q asked) string { return "Continuing where I left off: " + q.ending + q.rest },
		func(q asked) string { return strings.ToUpper(q.ending) + q.rest },
		func(q asked) string { return last(q.ending, len([]rune(q.ending))-9) + q.rest },
		func(q asked) string { return q.rest },
		func(q asked) string { return strings.TrimSpace(q.ending) },
		func(q asked) string { return "\"" + q.ending + "\"" + q.rest },
	}},
	{"refuses", false, []func(asked) string{
		func(asked) string { return "I'm sorry, but I can't continue an interrupted response." },
		func(q asked) string { return "You asked me to repeat \"" + q.ending + "\". I would rather not." },
		func(q asked) string { return "<ending>" + q.ending + "</ending>\n\nWhat would you like me to do?" },
		func(asked) string { return "" },
	}},
	{"repeats too much", false, []func(asked) string{
		func(q asked) string { return last(q.said, 120) + q.rest },
		func(q asked) string { return q.said + q.rest },
		func(q asked) string { return q.ending + "\n\n" + q.ending + q.rest },
		func(q asked) string { return q.ending + "\n\n" + q.said + q.rest },
		func(q asked) string { return last(q.said, 900) + q.rest },
	}},
	{"rejects prefill", true, []func(asked) string{
		func(q asked) string { return q.ending + q.rest },
	}},
}

// spaced is the ending with other white space, except at its end.
func spaced(q asked) string {
	core := strings.TrimRightFunc(q.ending, unicode.IsSpace)
	return strings.Join(strings.Fields(core), " ") + q.ending[len(core):]
}

// reopened opens the block of code again, as models do.
func reopened(q asked) string {
	if (strings.Count(q.said, "\n```")+strings.Count("\n"+q.said[:3], "\n```"))%2 == 1 {
		return "```go\n" + q.ending + q.rest
	}
	return q.ending + q.rest
}

// swapped is a text with two neighbours exchanged.
func swapped(s string) string {
	r := []rune(s)
	for i := len(r) / 2; i+1 < len(r); i++ {
		if r[i] != r[i+1] && !unicode.IsSpace(r[i]) && !unicode.IsSpace(r[i+1]) {
			r[i], r[i+1] = r[i+1], r[i]
			return string(r)
		}
	}
	return "x" + s
}

func last(s string, n int) string {
	r := []rune(s)
	return string(r[max(0, len(r)-n):])
}

// cuts returns where an answer breaks off: at places that are drawn, and beside white space.
func cuts(r *rand.Rand, answer string) []int {
	var all []int
	for range 9 {
		at := r.IntN(len(answer))
		for !utf8.RuneStart(answer[at]) {
			at--
		}
		all = append(all, at)
	}
	if at := strings.IndexFunc(answer[len(answer)/2:], unicode.IsSpace); at > 0 {
		all = append(all, len(answer)/2+at, len(answer)/2+at+1)
	}
	return all
}

// pieces cuts a text as a model's tokens come.
func pieces(r *rand.Rand, s string) []string {
	var all []string
	for runes := []rune(s); len(runes) > 0; {
		n := min(len(runes), 1+r.IntN(7))
		if r.IntN(40) == 0 {
			n = len(runes)
		}
		all, runes = append(all, string(runes[:n])), runes[n:]
	}
	return all
}

// TestCompletion_CorpusIsJoinedExactlyOrNotAtAll continues every answer of the corpus at many places with models of
// all behaviours.
func TestCompletion_CorpusIsJoinedExactlyOrNotAtAll(t *testing.T) {
	answers := corpus()
	if len(answers) < 200 {
		t.Fatalf("corpus has %d answers, want 200 or more", len(answers))
	}
	for _, b := range behaviours {
		r := rand.New(rand.NewPCG(22, 4))
		var refused, exact, errored, wrong int
		for i, answer := range answers {
			for j, at := range cuts(r, answer) {
				if !utf8.RuneStart(answer[at]) {
					continue
				}
				joined, err := joinChat(t, r, answer[:at], answer[at:], b.ways[(i+j)%len(b.ways)])
				_, isRefusal := errors.AsType[api.Obstacle](err)
				switch {
				case isRefusal:
					refused++
				case err != nil:
					errored++
					if b.exact && testing.Verbose() && errored < 10 {
						t.Logf("%s: no seam behind %q", b.name, last(answer[:at], 60))
					}
				case joined != answer:
					if wrong++; wrong < 10 {
						t.Errorf("%s: joined behind %q: got %q, want %q", b.name, last(answer[:at], 60), cutAt(joined, at), cutAt(answer, at))
					}
				default:
					exact++
				}
			}
		}
		rate := 100 * float64(exact) / float64(max(1, exact+errored+wrong))
		t.Logf("%-18s %4d answers, asked %5d times: %5d exact (%.2f %%), %5d no seam, %d wrong; %d not asked", b.name, len(answers),
			exact+errored+wrong, exact, rate, errored, wrong, refused)
		if wrong > 0 {
			t.Errorf("%s: %d wrong seams passed, want 0", b.name, wrong)
		}
		if b.exact && rate < 99 {
			t.Errorf("%s: %.2f %% exact, want 99 or more", b.name, rate)
		}
	}
}

func cutAt(s string, at int) string {
	at = min(at, len(s))
	return s[at:min(len(s), at+80)]
}

// joinChat lets an answer of Chat Completions break off behind a text and be continued, and returns what its
// client has read in all.
func joinChat(t *testing.T, r *rand.Rand, said, rest string, model func(asked) string) (string, error) {
	t.Helper()
	a := api.NewCompletion(openai.Chat(), api.Events)
	read := ""
	for _, p := range append([]string{""}, pieces(r, said)...) {
		a.Shown(chatChunk("one", p, ""))
		read += p
	}
	body, err := a.Continue([]byte(`{"model":"m","stream":true,"messages":[{"role":"user","content":"Go on."}]}`))
	if err != nil {
		return "", err
	}
	q := asked{said: said, ending: ending(t, body), rest: rest, rand: r}
	if !strings.HasSuffix(said, q.ending) {
		t.Fatalf("asked to repeat %q, want the end of %q", q.ending, said)
	}
	frames := [][]byte{chatChunk("two", "", "")}
	for _, p := range pieces(r, model(q)) {
		frames = append(frames, chatChunk("two", p, ""))
	}
	frames = append(frames, chatChunk("two", "", "stop"), []byte("data: [DONE]\n\n"))
	for _, f := range frames {
		shown, err := a.Add(f)
		if err != nil {
			if read != said {
				t.Errorf("no seam behind %q, but %q was shown", last(said, 60), read[len(said):])
			}
			return "", err
		}
		read += chatText(t, shown)
	}
	return read, nil
}

// ending returns what a request asks the model to repeat. It must not end with a turn of the model's, which
// newer models reject.
func ending(t *testing.T, body []byte) string {
	t.Helper()
	var request struct {
		Messages []struct{ Role, Content string }
	}
	if err := json.Unmarshal(body, &request); err != nil {
		t.Fatalf("second request: %v", err)
	}
	n := len(request.Messages)
	roles := []string{request.Messages[n-2].Role, request.Messages[n-1].Role}
	if want := []string{"assistant", "user"}; !slices.Equal(roles, want) {
		t.Fatalf("last turns of the second request: got %v, want %v", roles, want)
	}
	_, after, _ := strings.Cut(request.Messages[n-1].Content, "<ending>")
	text, _, _ := strings.Cut(after, "</ending>")
	return text
}

func chatChunk(id, text, finish string) []byte {
	content, _ := json.Marshal(text)
	delta, reason := `{"content":`+string(content)+`}`, "null"
	if text == "" {
		delta = `{"role":"assistant","content":""}`
	}
	if finish != "" {
		delta, reason = "{}", `"`+finish+`"`
	}
	return fmt.Appendf(nil, `data: {"id":%q,"object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":%s,"finish_reason":%s}]}`+"\n\n", id, delta, reason)
}

// chatText returns the text that a client reads in frames. It checks that all are of the first answer.
func chatText(t *testing.T, frames []byte) (read string) {
	t.Helper()
	for frame := range strings.SplitAfterSeq(string(frames), "\n\n") {
		data, ok := strings.CutPrefix(strings.TrimSpace(frame), "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var chunk struct {
			ID      string
			Choices []struct {
				Delta struct{ Content, Role string }
			}
		}
		if err := json.Unmarshal([]byte(data), &chunk); err != nil {
			t.Fatalf("frame %q: %v", frame, err)
		}
		if chunk.ID != "one" || len(chunk.Choices) == 1 && chunk.Choices[0].Delta.Role != "" {
			t.Fatalf("frame %s: want the first answer's id and no role", data)
		}
		if len(chunk.Choices) == 1 {
			read += chunk.Choices[0].Delta.Content
		}
	}
	return read
}
