package llmtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/provider"
)

// plain is a model behind Ollama's API, without an SDK.
type plain struct{ llmtest.Place }

func (plain) Name() llm.Name { return llm.Name{Provider: "plain", Model: "m"} }

func (m plain) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Part, error] {
	client := provider.Observe(m.Client)
	return provider.Stream(ctx, llm.Name{Provider: "plain"}, classify.Classifier{}, func(ctx context.Context, c *provider.Call) error {
		body, err := json.Marshal(m.question(r))
		if err != nil {
			return err
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.Base+"/api/chat", bytes.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", "Bearer "+m.Key)
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("status %s", resp.Status)
		}
		return listen(resp.Body, c)
	})
}

// line is a message of a conversation, or a line of an answer.
type line struct {
	Role      string   `json:"role"`
	Content   string   `json:"content"`
	Images    [][]byte `json:"images,omitzero"`
	Thinking  string   `json:"thinking,omitzero"`
	ToolCalls []call   `json:"tool_calls,omitzero"`
	ToolName  string   `json:"tool_name,omitzero"`
}

// call is a tool call.
type call struct {
	ID       string `json:"id,omitzero"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

// question returns a request in the API's form.
func (m plain) question(r llm.Request) map[string]any {
	all := []line{{Role: "system", Content: r.System}}
	for _, msg := range r.Messages {
		l := line{Role: string(msg.Role), Content: msg.Text()}
		for _, b := range msg.Content {
			switch b := b.(type) {
			case llm.Image:
				l.Images = append(l.Images, b.Data)
			case llm.ToolCall:
				c := call{ID: b.ID}
				c.Function.Name, c.Function.Arguments = b.Name, provider.ArgumentsObject(b.Arguments)
				l.ToolCalls = append(l.ToolCalls, c)
			case llm.ToolResult:
				all = append(all, line{Role: "tool", Content: b.Output, ToolName: b.Name})
			}
		}
		if msg.Role != llm.ToolRole {
			all = append(all, l)
		}
	}
	return map[string]any{
		"model": m.Model, "stream": !r.NoStream, "messages": all, "tools": r.Tools, "think": r.Effort != "",
		"options": map[string]int{"num_predict": r.MaxTokens},
	}
}

// listen yields an answer.
func listen(body io.Reader, c *provider.Call) error {
	for lines := json.NewDecoder(body); ; {
		var l struct {
			Error      json.RawMessage
			Model      string
			Message    line
			Done       bool
			DoneReason string `json:"done_reason"`
			Input      int    `json:"prompt_eval_count"`
			Output     int    `json:"eval_count"`
		}
		switch err := lines.Decode(&l); {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case l.Error != nil:
			return c.ErrorEvent([]byte(`{"error":`+string(l.Error)+`}`), nil)
		}
		parts := []llm.Part{llm.Reasoning{Text: l.Message.Thinking}, llm.Text{Text: l.Message.Content}}
		for _, call := range l.Message.ToolCalls {
			parts = append(parts, llm.ToolCall{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments})
		}
		for _, p := range parts {
			if !c.Yield(p) {
				return nil
			}
		}
		if l.Done {
			c.Usage(llm.Usage{Input: l.Input, Output: l.Output})
			c.End(llm.Reason(l.DoneReason), l.Model)
		}
	}
}

// flaw is something that a model does wrong.
type flaw struct {
	name  string
	spoil func(plain) llm.Model
	finds string // the case that finds it
}

// flawed is a model whose answers are spoilt.
type flawed struct {
	llm.Model
	stream func(context.Context, llm.Request) iter.Seq2[llm.Part, error]
}

func (m flawed) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Part, error] {
	return m.stream(ctx, r)
}

// each spoils the parts and the error of an answer one by one.
func each(change func(p llm.Part, err error, yield func(llm.Part, error) bool) bool) func(plain) llm.Model {
	return func(m plain) llm.Model {
		return flawed{m, func(ctx context.Context, r llm.Request) iter.Seq2[llm.Part, error] {
			return func(yield func(llm.Part, error) bool) {
				for p, err := range m.Stream(ctx, r) {
					if !change(p, err, yield) {
						return
					}
				}
			}
		}}
	}
}

var flaws = []flaw{
	{"it takes a break for the end", each(func(p llm.Part, err error, yield func(llm.Part, error) bool) bool {
		if f, ok := err.(*fault.Error); ok && f.Kind == fault.Truncated {
			return yield(llm.End{Reason: llm.Stop, Model: "m"}, nil)
		}
		return yield(p, err)
	}), "faults/streams/cut:2:clean"},
	{"its errors are no faults", each(func(p llm.Part, err error, yield func(llm.Part, error) bool) bool {
		if err != nil {
			err = fmt.Errorf("error %v", err)
		}
		return yield(p, err)
	}), "faults/responses/401"},
	{"it begins with usage", each(func(p llm.Part, err error, yield func(llm.Part, error) bool) bool {
		if t, ok := p.(llm.Text); ok && t.Text == "one " {
			yield(llm.Usage{Input: 1}, nil)
		}
		return yield(p, err)
	}), "answers/text"},
	{"it forgets reasoning", each(func(p llm.Part, err error, yield func(llm.Part, error) bool) bool {
		if _, ok := p.(llm.Reasoning); ok {
			return true
		}
		return yield(p, err)
	}), "answers/reasoning"},
	{"it hides why the caller has left", each(func(p llm.Part, err error, yield func(llm.Part, error) bool) bool {
		if _, ok := err.(*fault.Error); err != nil && !ok {
			err = context.Canceled
		}
		return yield(p, err)
	}), "leaving/between_two_words"},
	{"it forgets what the response says", each(func(p llm.Part, err error, yield func(llm.Part, error) bool) bool {
		if f, ok := err.(*fault.Error); ok {
			f.Wait = 0
		}
		return yield(p, err)
	}), "faults/responses/503;retry-after=7;x-note=a"},
	{"it hands on half a call", each(func(p llm.Part, err error, yield func(llm.Part, error) bool) bool {
		if f, ok := err.(*fault.Error); ok && f.Kind == fault.Truncated {
			yield(llmtest.Call("1", "read", `{"path":"a.txt`), nil)
		}
		return yield(p, err)
	}), `faults/streams/cut:2`},
	{"it tries again by itself", func(m plain) llm.Model {
		return flawed{m, func(ctx context.Context, r llm.Request) iter.Seq2[llm.Part, error] {
			for range m.Stream(ctx, r) {
				break
			}
			return m.Stream(ctx, r)
		}}
	}, "answers/text"},
	{"it leaves responses open", func(m plain) llm.Model {
		m.Client = &http.Client{Transport: unclosed{m.Client.Transport}}
		return m
	}, "leaving/by_breaking_off"},
	{"it forgets results", func(m plain) llm.Model {
		return flawed{m, func(ctx context.Context, r llm.Request) iter.Seq2[llm.Part, error] {
			if n := len(r.Messages); r.Messages[n-1].Role == llm.ToolRole {
				r.Messages = r.Messages[:n-1]
			}
			return m.Stream(ctx, r)
		}}
	}, "conversations/the_results_of_tools_go_back"},
	{"it forgets images of earlier messages", func(m plain) llm.Model {
		return flawed{m, func(ctx context.Context, r llm.Request) iter.Seq2[llm.Part, error] {
			if n := len(r.Messages); n > 1 && len(r.Messages[0].Content.Images()) > 0 {
				r.Messages[0] = llm.UserMessage(r.Messages[0].Text())
			}
			return m.Stream(ctx, r)
		}}
	}, "images/they_arrive_whole"},
}

// unclosed keeps responses from being closed.
type unclosed struct{ base http.RoundTripper }

func (u unclosed) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := u.base.RoundTrip(req)
	if err == nil {
		resp.Body = io.NopCloser(resp.Body)
	}
	return resp, err
}

// suite describes the plain model.
func suite(open func(plain) llm.Model) llmtest.Suite {
	return llmtest.Suite{
		Model: "m", Uncounted: true, Unfiltered: true,
		Open: func(p llmtest.Place) llm.Model { return open(plain{p}) },
	}
}

func TestConform_CorrectModel(t *testing.T) {
	llmtest.Conform(t, suite(func(m plain) llm.Model { return m }))
}

// flawKey names the flaw that a process of this test is to show.
const flawKey = "LLMTEST_FLAW"

func TestConform_FindsFlaws(t *testing.T) {
	if name, ok := os.LookupEnv(flawKey); ok {
		for _, f := range flaws {
			if f.name == name {
				llmtest.Conform(t, suite(f.spoil))
			}
		}
		return
	}
	for _, f := range flaws {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestConform_FindsFlaws$/"+strings.ReplaceAll("^"+f.finds+"$", "/", "$/^"))
			cmd.Env = append(os.Environ(), flawKey+"="+f.name)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL: TestConform_FindsFlaws/"+f.finds) {
				t.Errorf("suite: %v:\n%.2000s", err, out)
			}
		})
	}
}

func ExampleConform() {
	// In the test of a provider of one's own:
	_ = func(t *testing.T) {
		llmtest.Conform(t, llmtest.Suite{
			Model: "parrot-1",
			Open:  func(p llmtest.Place) llm.Model { return plain{p} },
		})
	}
	// Output:
}
