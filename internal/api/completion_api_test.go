package api_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/api/anthropic"
	"github.com/ridethrough/ridethrough/internal/api/bedrock"
	"github.com/ridethrough/ridethrough/internal/api/gemini"
	"github.com/ridethrough/ridethrough/internal/api/ollama"
	"github.com/ridethrough/ridethrough/internal/api/openai"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
)

// anAPI is one API with a request, and how its client reads a stream.
type anAPI struct {
	name    string
	dialect *api.API
	form    api.Form
	path    string
	request string
	read    func(t *testing.T, frames [][]byte) reading
}

// reading is what a client has read of a stream.
type reading struct {
	text  string
	calls []string // names and arguments
	id    string
	done  bool // the stream has its proper end
	out   int  // output tokens
}

func apis() []anAPI {
	const (
		messages = `"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Tell me."}]`
		contents = `{"contents":[{"role":"user","parts":[{"text":"Tell me."}]}],"generationConfig":{"maxOutputTokens":900,"thinkingConfig":{"includeThoughts":true}}}`
	)
	return []anAPI{
		{
			"anthropic", anthropic.Messages(), api.Events, "/v1/messages",
			`{"model":"claude-opus-4-6","max_tokens":900,"thinking":{"type":"adaptive"},"stream":true,"system":"Be brief.","messages":[{"role":"user","content":"Tell me."}]}`,
			readAnthropic,
		},
		{
			"bedrock-invoke", bedrock.Invoke(), api.AWSEvents, "/model/anthropic.claude-opus-4-6-v1/invoke-with-response-stream",
			`{"anthropic_version":"bedrock-2023-05-31","max_tokens":900,"thinking":{"type":"adaptive"},"system":"Be brief.","messages":[{"role":"user","content":"Tell me."}]}`,
			readBedrock,
		},
		{
			"bedrock-converse", bedrock.Converse(), api.AWSEvents, "/model/anthropic.claude-opus-4-6-v1/converse-stream",
			`{"inferenceConfig":{"maxTokens":900},"additionalModelRequestFields":{"thinking":{"type":"adaptive"}},"system":[{"text":"Be brief."}],"messages":[{"role":"user","content":[{"text":"Tell me."}]}]}`,
			readConverse,
		},
		{
			"openai-chat", openai.Chat(), api.Events, "/v1/chat/completions",
			`{"model":"m","max_completion_tokens":900,"stream":true,"stream_options":{"include_usage":true},` + messages + `}`, readChat,
		},
		{
			"openai-responses", openai.Responses(), api.Events, "/v1/responses",
			`{"model":"m","max_output_tokens":900,"store":false,"stream":true,"reasoning":{"summary":"auto"},"instructions":"Be brief.","input":"Tell me."}`,
			readResponses,
		},
		{"gemini", gemini.API(), api.Events, "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse", contents, readGemini},
		{"gemini-array", gemini.API(), api.Array, "/v1beta/models/gemini-2.5-pro:streamGenerateContent", contents, readGemini},
		{"code-assist", gemini.API(), api.Events, "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse", wrapped(contents), readCodeAssist},
		{"ollama", ollama.API(), api.Lines, "/api/chat", `{"model":"m","options":{"num_predict":900},` + messages + `}`, readOllama},
	}
}

// allWays returns the APIs, and those once more whose servers continue the model's turn.
func allWays() []anAPI {
	rows := apis()
	for _, name := range []string{"openai-chat", "ollama"} {
		at := Continuation(name)
		at.name += "-prefill"
		rows = append(rows, at)
	}
	return rows
}

// wrapped returns a request of Google's API as Code Assist has it, to which the simulator does not speak.
func wrapped(request string) string {
	return `{"model":"gemini-2.5-pro","project":"p","user_prompt_id":"u","request":` + request + `}`
}

// inCodeAssist is a chunk of Google's API, which Code Assist has in an object.
var inCodeAssist = regexp.MustCompile(`(?m)^data: (\{.*\})`)

// readConverse reads the events of ConverseStream, whose numbers of blocks must rise by one.
func readConverse(t *testing.T, frames [][]byte) (r reading) {
	t.Helper()
	open := -1
	for stream := bytes.Join(frames, nil); len(stream) > 0; {
		n := api.AWSEvents.FrameLen(stream, 0)
		if n <= 0 {
			t.Fatalf("no event begins %q", stream)
		}
		name, data := api.Payload(api.AWSEvents, stream[:n])
		stream = stream[n:]
		var e struct {
			Index int `json:"contentBlockIndex"`
			Start struct{ ToolUse struct{ Name string } }
			Delta struct {
				Text    string
				ToolUse struct{ Input string }
			}
			Usage struct{ OutputTokens int }
		}
		decode(t, data, &e)
		switch string(name) {
		case "contentBlockStart":
			r.calls = append(r.calls, e.Start.ToolUse.Name)
		case "contentBlockDelta":
			if e.Index != open && e.Index != open+1 || r.done {
				t.Fatalf("block %d behind block %d", e.Index, open)
			}
			open = e.Index
			if r.text += e.Delta.Text; e.Delta.ToolUse.Input != "" {
				r.calls = append(r.calls, e.Delta.ToolUse.Input)
			}
		case "messageStop":
			r.done = true
		case "metadata":
			r.out = e.Usage.OutputTokens
		}
	}
	r.calls = []string{strings.Join(r.calls, "")}
	return r
}

// readBedrock reads the events of Anthropic's in those of AWS.
func readBedrock(t *testing.T, frames [][]byte) reading {
	t.Helper()
	var inner [][]byte
	stream := bytes.Join(frames, nil)
	for len(stream) > 0 {
		n := api.AWSEvents.FrameLen(stream, 0)
		if n <= 0 {
			t.Fatalf("no event begins %q", stream)
		}
		if name, data := api.Payload(api.AWSEvents, stream[:n]); string(name) == "chunk" {
			inner = append(inner, []byte("event: "+strings.Trim(string(api.Member(data, "type")), `"`)+"\ndata: "+string(data)+"\n\n"))
		}
		stream = stream[n:]
	}
	return readAnthropic(t, inner)
}

// readCodeAssist reads the chunks in the objects.
func readCodeAssist(t *testing.T, frames [][]byte) reading {
	t.Helper()
	var inner [][]byte
	for frame := range bytes.SplitAfterSeq(bytes.Join(frames, nil), []byte("\r\n\r\n")) {
		if _, data := api.Payload(api.Events, frame); len(data) > 0 {
			chunk := api.Member(data, "response")
			if chunk == nil || string(api.Member(data, "traceId")) != `"t"` {
				t.Fatalf("%q: want a chunk in an object of Code Assist's", frame)
			}
			inner = append(inner, bytes.Replace(frame, data, chunk, 1))
		}
	}
	return readGemini(t, inner)
}

// answers are distinguished by the texts, the reasoning and the calls that they have.
var answers = []simulator.Say{
	{Text: "The first line of the answer is here.\n\n| a | b |\n|---|---|\n| 😀 | 二 |\n\nAnd that is the end of it, at last."},
	{Reasoning: "Let me think about it.", Text: "What has been thought about for some time is said now, and no sooner."},
	{Text: "I will look into that file now, so please wait for a moment.", Calls: []simulator.Call{{Name: "read", Arguments: `{"path":"a file.txt"}`}}},
}

// TestCompletion_ContinuesBehindEveryFrame lets a stream of each API break off behind each of its frames. What
// the client reads in all must be the whole answer, once.
func TestCompletion_ContinuesBehindEveryFrame(t *testing.T) {
	for _, row := range allWays() {
		for i, say := range answers {
			t.Run(fmt.Sprintf("%s/%d", row.name, i), func(t *testing.T) {
				p := simulator.New(simulator.Script{Then: say})
				defer func() { _ = p.Close() }()
				whole := row.ask(t, p, row.request)
				want := row.read(t, whole)
				if want.text != say.Text || !want.done {
					t.Fatalf("the whole answer: got %+v, want the text %q", want, say.Text)
				}
				continued := 0
				for n := range whole {
					got, err := row.join(t, p, whole[:n])
					if _, refused := errors.AsType[api.Obstacle](err); refused {
						continue
					}
					if errors.Is(err, api.ErrNoSeam) && row.read(t, whole[:n]).text == say.Text {
						continue // all is said, and nothing follows that could tell
					}
					if err != nil {
						t.Errorf("cut behind frame %d, %q: %v", n, whole[n-1], err)
						continue
					}
					continued++
					checkReading(t, fmt.Sprintf("cut behind frame %d, %q", n, whole[n-1]), row.read(t, got), want)
				}
				if continued < 4 {
					t.Errorf("%d of %d cuts were continued, want 4 or more", continued, len(whole))
				}
			})
		}
	}
}

// TestCompletion_IsContinuedTwice lets the rest break off as well, behind each of its frames.
func TestCompletion_IsContinuedTwice(t *testing.T) {
	for _, row := range allWays() {
		t.Run(row.name, func(t *testing.T) {
			p := simulator.New(simulator.Script{Then: answers[0]})
			defer func() { _ = p.Close() }()
			whole := row.ask(t, p, row.request)
			want := row.read(t, whole)
			first := whole[:len(whole)/2]
			for n := 1; n < len(whole)/2; n++ {
				a, shown := row.follow(first)
				shown = append(shown, row.add(t, a, row.ask(t, p, row.continued(t, a))[:n])...)
				if row.read(t, shown).text == want.text {
					break // all is said, and nothing follows that could tell
				}
				shown = append(shown, row.rest(t, a, row.ask(t, p, row.continued(t, a)))...)
				got := row.read(t, shown)
				checkReading(t, fmt.Sprintf("the rest cut behind frame %d", n), got, want)
				if _, err := a.Continue([]byte(row.request)); err == nil {
					t.Errorf("a third continuation was not refused")
				}
			}
		})
	}
}

func checkReading(t *testing.T, where string, got, want reading) {
	t.Helper()
	if got.text != want.text || fmt.Sprint(got.calls) != fmt.Sprint(want.calls) || got.id != want.id || !got.done {
		t.Errorf("%s: got %+v, want %+v", where, got, want)
	}
	if got.out < want.out || got.out > 4*want.out+60 {
		t.Errorf("%s: output tokens: got %d, want those of both parts, more than %d", where, got.out, want.out)
	}
}

// ask sends a request and returns the frames of its answer.
func (row anAPI) ask(t *testing.T, p *simulator.Provider, body string) (frames [][]byte) {
	t.Helper()
	w := httptest.NewRecorder()
	if row.name == "code-assist" {
		body = string(api.Member([]byte(body), "request"))
	}
	p.ServeHTTP(w, httptest.NewRequest(http.MethodPost, row.path, strings.NewReader(body)))
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s\n%s", w.Code, w.Body, body)
	}
	rest := w.Body.Bytes()
	if row.name == "code-assist" {
		rest = inCodeAssist.ReplaceAll(rest, []byte(`data: {"response":$1,"traceId":"t"}`))
	}
	for len(rest) > 0 {
		n := row.form.FrameLen(rest, 0)
		if n <= 0 {
			t.Fatalf("no frame begins %q", rest)
		}
		frames, rest = append(frames, bytes.Clone(rest[:n])), rest[n:]
	}
	return frames
}

// follow returns an answer whose client has been sent some frames.
func (row anAPI) follow(frames [][]byte) (*api.Completion, [][]byte) {
	a := api.NewCompletion(row.dialect, row.form)
	a.Prefill = strings.HasSuffix(row.name, "-prefill")
	a.Shown(bytes.Join(frames, nil))
	return a, append([][]byte(nil), frames...)
}

// join continues an answer and returns all frames that its client is sent.
func (row anAPI) join(t *testing.T, p *simulator.Provider, first [][]byte) ([][]byte, error) {
	t.Helper()
	a, shown := row.follow(first)
	body, err := a.Continue([]byte(row.request))
	if err != nil {
		return nil, err
	}
	for _, f := range row.ask(t, p, string(body)) {
		send, err := a.Add(f)
		if err != nil {
			return nil, err
		}
		shown = append(shown, send)
	}
	send, err := a.End()
	return append(shown, send), err
}

func (row anAPI) continued(t *testing.T, a *api.Completion) string {
	t.Helper()
	body, err := a.Continue([]byte(row.request))
	if err != nil {
		t.Fatalf("continue: %v", err)
	}
	return string(body)
}

func (row anAPI) add(t *testing.T, a *api.Completion, frames [][]byte) (shown [][]byte) {
	t.Helper()
	for _, f := range frames {
		send, err := a.Add(f)
		if err != nil {
			t.Fatalf("frame %q: %v", f, err)
		}
		shown = append(shown, send)
	}
	return shown
}

func (row anAPI) rest(t *testing.T, a *api.Completion, frames [][]byte) [][]byte {
	t.Helper()
	shown := row.add(t, a, frames)
	send, err := a.End()
	if err != nil {
		t.Fatalf("end: %v", err)
	}
	return append(shown, send)
}
