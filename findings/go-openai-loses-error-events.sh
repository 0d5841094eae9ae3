#!/usr/bin/env bash
# A server that fails in the middle of a stream says so by an error event. github.com/sashabaranov/go-openai 1.43.0
# reports it while every line before it was data: an SSE comment anywhere ahead, or an event line (both valid, WHATWG
# 9.2.6), turns it into "unexpected end of JSON input", which errors.As does not find as an APIError, so that no retry
# by its code starts. With another key in front of "error" it is no error at all: the documented loop ends at io.EOF
# with half an answer, as it does at a whole one. github.com/tmc/langchaingo 0.1.14 drops the event in each of these
# forms and returns the half, error nil. A proxy's comments while a model thinks, 151 of them between two words, end
# go-openai's stream as well.
#
# Seen with Go 1.26, of "One " and then an error event (or, last, of a whole answer with comments in it):
#	error event: go-openai APIError, langchaingo "One "
#	a comment before it: go-openai unexpected end of JSON input, langchaingo "One "
#	an event line: go-openai unexpected end of JSON input, langchaingo "One "
#	another key first: go-openai "One ", langchaingo "One "
#	151 comments: go-openai stream has sent too many empty messages, langchaingo "One two."
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
export GOFLAGS=-mod=mod
go mod init try 2>/dev/null
go get github.com/sashabaranov/go-openai@v1.43.0 github.com/tmc/langchaingo/llms/openai@v0.1.14 2>/dev/null
cat >main.go <<'END'
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	goopenai "github.com/sashabaranov/go-openai"
	"github.com/tmc/langchaingo/llms"
	langopenai "github.com/tmc/langchaingo/llms/openai"
)

func chunk(text, reason string) string {
	return fmt.Sprintf(`data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m",`+
		`"choices":[{"index":0,"delta":{"content":%q},"finish_reason":%s}]}`+"\n\n", text, reason)
}

// The clients return what was said, and nil where they call it whole.

func byGoOpenAI(ctx context.Context, base string) (said string, err error) {
	config := goopenai.DefaultConfig("k")
	config.BaseURL = base
	stream, err := goopenai.NewClientWithConfig(config).CreateChatCompletionStream(ctx, goopenai.ChatCompletionRequest{
		Model: "m", Messages: []goopenai.ChatCompletionMessage{{Role: "user", Content: "Count."}},
	})
	for err == nil {
		var part goopenai.ChatCompletionStreamResponse
		if part, err = stream.Recv(); len(part.Choices) > 0 {
			said += part.Choices[0].Delta.Content
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if api := new(goopenai.APIError); errors.As(err, &api) {
		err = errors.New("APIError")
	}
	return said, err
}

func byLangChain(ctx context.Context, base string) (string, error) {
	model, err := langopenai.New(langopenai.WithToken("k"), langopenai.WithBaseURL(base), langopenai.WithModel("m"))
	if err != nil {
		return "", err
	}
	return llms.GenerateFromSinglePrompt(ctx, model, "Count.",
		llms.WithStreamingFunc(func(context.Context, []byte) error { return nil }))
}

func main() {
	const (
		failed  = `{"message":"overloaded","type":"server_error","code":"server_error"}`
		event   = `data: {"error":` + failed + "}\n\n"
		comment = ": still there\n\n"
		done    = "data: [DONE]\n\n"
	)
	one, two := chunk("One ", "null"), chunk("two.", `"stop"`)
	for _, way := range []struct{ name, body string }{
		{"error event", one + event},
		{"a comment before it", comment + one + event},
		{"an event line", one + "event: error\n" + event},
		{"another key first", one + `data: {"type":"error","error":` + failed + "}\n\n"},
		{"151 comments", one + strings.Repeat(comment, 151) + two},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, way.body+done)
		}))
		fmt.Print(way.name, ":")
		for i, client := range []struct {
			name string
			ask  func(context.Context, string) (string, error)
		}{{"go-openai", byGoOpenAI}, {"langchaingo", byLangChain}} {
			said, err := client.ask(context.Background(), server.URL)
			if err == nil {
				err = fmt.Errorf("%q", said)
			}
			fmt.Print([]string{" ", ", "}[i], client.name, " ", err)
		}
		fmt.Println()
		server.Close()
	}
}
END
go run . | tee seen
diff seen - <<'END'
error event: go-openai APIError, langchaingo "One "
a comment before it: go-openai unexpected end of JSON input, langchaingo "One "
an event line: go-openai unexpected end of JSON input, langchaingo "One "
another key first: go-openai "One ", langchaingo "One "
151 comments: go-openai stream has sent too many empty messages, langchaingo "One two."
END
