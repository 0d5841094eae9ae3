package sdk_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"google.golang.org/genai"
)

// The calls that no SDK for Go makes, over plain HTTP.
var (
	generateArray       = call{name: "streamGenerateContent without alt=sse", streams: true, ask: streamArray, busy: `"UNAVAILABLE"`}
	studioChat          = call{name: "lmstudio chat", ask: newStudio, busy: "internal_error"}
	studioChatStreaming = call{name: "lmstudio chat stream", streams: true, ask: streamStudio, busy: "internal_error"}

	// LM Studio's version 0 is OpenAI's API elsewhere.
	studioOld          = call{name: "lmstudio v0", ask: below("/api/v0", newCompletion), again: true, busy: "server_error"}
	studioOldStreaming = call{name: "lmstudio v0 stream", streams: true, ask: below("/api/v0", streamCompletion), again: true, busy: "server_error"}
)

func below(base string, ask func(context.Context, endpoint) (answer, error)) func(context.Context, endpoint) (answer, error) {
	return func(ctx context.Context, s endpoint) (answer, error) {
		s.base = base
		return ask(ctx, s)
	}
}

// plainError is an error that came as an answer.
type plainError struct {
	status int // of the response
	body   string
}

func (e *plainError) Error() string { return fmt.Sprintf("%d %s", e.status, e.body) }

// post sends a request and returns the body of the answer.
func (s endpoint) post(ctx context.Context, path, body string) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	client := s.client
	if client == nil {
		client = http.DefaultClient
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK {
		return resp.Body, nil
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return nil, errors.Join(&plainError{resp.StatusCode, string(text)}, err)
}

func streamArray(ctx context.Context, s endpoint) (a answer, err error) {
	body, err := s.post(ctx, "/v1beta/models/gemini-pro:streamGenerateContent", `{"contents":[{"parts":[{"text":"Hi"}]}]}`)
	if err != nil {
		return a, err
	}
	defer body.Close()
	elements := json.NewDecoder(body)
	if _, err := elements.Token(); err != nil {
		return a, err
	}
	for elements.More() {
		var element json.RawMessage
		if err := elements.Decode(&element); err != nil {
			return a, err
		}
		if bytes.HasPrefix(element, []byte(`{"error":`)) {
			return a, &plainError{http.StatusOK, string(element)}
		}
		var r genai.GenerateContentResponse
		if err := json.Unmarshal(element, &r); err != nil {
			return a, err
		}
		a = ofContent(a, &r)
	}
	if ctx.Err() != nil { // More has swallowed it
		return a, context.Cause(ctx)
	}
	_, err = elements.Token()
	return a, err
}

const studioHi = `{"model":"qwen","input":"Hi"`

func newStudio(ctx context.Context, s endpoint) (a answer, err error) {
	body, err := s.post(ctx, "/api/v1/chat", studioHi+"}")
	if err != nil {
		return a, err
	}
	defer body.Close()
	var r studioResult
	if err := json.NewDecoder(body).Decode(&r); err != nil {
		return a, err
	}
	return r.answer(), nil
}

// studioResult is the answer, and the last event of a stream.
type studioResult struct {
	Model  string `json:"model_instance_id"`
	ID     string `json:"response_id"`
	Output []struct{ Content string }
	Stats  struct {
		In  int64 `json:"input_tokens"`
		Out int64 `json:"total_output_tokens"`
	}
}

func (r studioResult) answer() answer {
	a := answer{ID: r.ID, Model: r.Model, Stop: "end", In: r.Stats.In, Out: r.Stats.Out}
	for _, o := range r.Output {
		a.Text += o.Content
	}
	return a
}

func streamStudio(ctx context.Context, s endpoint) (a answer, err error) {
	body, err := s.post(ctx, "/api/v1/chat", studioHi+`,"stream":true}`)
	if err != nil {
		return a, err
	}
	defer body.Close()
	lines := bufio.NewScanner(body)
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !ok {
			continue
		}
		var e struct {
			Type, Content string
			Error         json.RawMessage
			Result        studioResult
		}
		if err := json.Unmarshal(data, &e); err != nil {
			return a, err
		}
		switch e.Type {
		case "message.delta":
			a.Text += e.Content
		case "error":
			return a, &plainError{http.StatusOK, string(e.Error)}
		case "chat.end":
			said := a.Text
			if a = e.Result.answer(); a.Text != said {
				return a, errDeltas
			}
		}
	}
	return a, lines.Err()
}
