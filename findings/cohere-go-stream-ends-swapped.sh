#!/usr/bin/env bash
# The stream of Cohere's Go client (github.com/cohere-ai/cohere-go/v2 2.16.1, V2.ChatStream) has its two ends the wrong
# way round. By its README the stream is complete at io.EOF and broken at any other error. But a whole answer, closed by
# [DONE], which the client itself names as the terminator, ends in a JSON error, and an answer whose connection is reset
# ends in io.EOF, as does one with an event of more than 64 KB, which is lost. Who goes by the README throws the good
# answers away and keeps the halves; only the message-end event tells. An SSE comment, as a proxy sends it in a silence
# (WHATWG 9.2.6: to be ignored), is an error in the middle, and with lines that end in CR LF all of it is one event.
#
# Seen with Go 1.26, of the answer "One two.", read until the first error:
#	whole: "One two.", message-end, invalid character 'D' looking for beginning of value
#	whole, without [DONE]: "One two.", message-end, EOF
#	reset behind "One": "One ", EOF
#	clean end behind "One": "One ", EOF
#	an event of 70,000 bytes behind "One": "One ", EOF
#	a comment behind "One": "One ", unexpected end of JSON input
#	whole, with CR LF: "", invalid character '{' after top-level value
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
export GOFLAGS=-mod=mod
go mod init try 2>/dev/null
go get github.com/cohere-ai/cohere-go/v2@v2.16.1 github.com/cohere-ai/cohere-go/v2/client@v2.16.1 2>/dev/null
cat >main.go <<'END'
package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	cohere "github.com/cohere-ai/cohere-go/v2"
	"github.com/cohere-ai/cohere-go/v2/client"
	"github.com/cohere-ai/cohere-go/v2/option"
)

func event(name, data string) string {
	return fmt.Sprintf("event: %s\ndata: {\"type\":%q,%s}\n\n", name, name, data)
}

func delta(text string) string {
	return event("content-delta", `"index":0,"delta":{"message":{"content":{"text":"`+text+`"}}}`)
}

func main() {
	one := event("message-start", `"id":"m","delta":{"message":{"role":"assistant"}}`) + delta("One ")
	two := delta("two.") + event("message-end", `"id":"m","delta":{"finish_reason":"COMPLETE"}`)
	done := "data: [DONE]\n\n"
	for _, way := range []struct {
		name, body string
		reset      bool
	}{
		{name: "whole", body: one + two + done},
		{name: "whole, without [DONE]", body: one + two},
		{name: `reset behind "One"`, body: one, reset: true},
		{name: `clean end behind "One"`, body: one},
		{name: `an event of 70,000 bytes behind "One"`, body: one + delta(strings.Repeat("x", 70_000)) + two + done},
		{name: `a comment behind "One"`, body: one + ": still there\n\n" + two + done},
		{name: "whole, with CR LF", body: strings.ReplaceAll(one+two+done, "\n", "\r\n")},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, way.body)
			if way.reset {
				w.(http.Flusher).Flush()
				panic(http.ErrAbortHandler)
			}
		}))
		stream, err := client.NewClient(option.WithBaseURL(server.URL), option.WithToken("k")).V2.ChatStream(context.Background(),
			&cohere.V2ChatStreamRequest{Model: "m", Messages: cohere.ChatMessages{
				{Role: "user", User: &cohere.UserMessageV2{Content: &cohere.UserMessageV2Content{String: "Count."}}},
			}})
		said, end := "", ""
		for err == nil {
			var part cohere.V2ChatStreamResponse
			if part, err = stream.Recv(); part.ContentDelta != nil {
				said += *part.ContentDelta.Delta.Message.Content.Text
			} else if part.MessageEnd != nil {
				end = " message-end,"
			}
		}
		fmt.Printf("%s: %q,%s %v\n", way.name, said, end, err)
		server.Close()
	}
}
END
go run . | tee seen
diff seen - <<'END'
whole: "One two.", message-end, invalid character 'D' looking for beginning of value
whole, without [DONE]: "One two.", message-end, EOF
reset behind "One": "One ", EOF
clean end behind "One": "One ", EOF
an event of 70,000 bytes behind "One": "One ", EOF
a comment behind "One": "One ", unexpected end of JSON input
whole, with CR LF: "", invalid character '{' after top-level value
END
