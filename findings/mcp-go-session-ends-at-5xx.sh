#!/usr/bin/env bash
# A client session of the MCP Go SDK (github.com/modelcontextprotocol/go-sdk 1.8.0, streamable HTTP) outlives a call
# that is answered with 429, 500, 502, 503 or 504, or whose connection breaks. Any other error status tried here ends it
# for good: each later call fails as on a closed connection and is not sent at all, however healthy the server. That
# takes in the statuses of an overloaded API (529), of Cloudflare in front of a server (520 to 526) and of one call that
# is too large (413). For a status that Go has no name for, the error does not say which it was. A JSON-RPC error as the
# body of the same status keeps the session: a proxy in front of an MCP server does well to send one.
#
# Seen with Go 1.26; the status of one call, what became of the next one to the healthy server:
#	400 408 409 413 425 501 507 520 521 522 523 524 525 526 529: not sent, connection closed
#	429 500 502 503 504 reset: answered
#	529 with a JSON-RPC error: answered
#	error of the call with 408, behind the method's name: "Request Timeout"
#	error of the call with 529, behind the method's name: ""
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
export GOFLAGS=-mod=mod
go mod init try 2>/dev/null
go get github.com/modelcontextprotocol/go-sdk/mcp@v1.8.0 2>/dev/null
cat >main.go <<'END'
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// twice calls a tool two times, the first time with fail in place of an answer.
func twice(fail func(w http.ResponseWriter, id json.RawMessage)) (first error, then string) {
	ctx := context.Background()
	tools := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
	mcp.AddTool(tools, &mcp.Tool{Name: "hi"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{}, nil, nil
	})
	healthy := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return tools }, nil)
	calls := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := must(io.ReadAll(r.Body))
		var message struct {
			ID     json.RawMessage
			Method string
		}
		json.Unmarshal(body, &message)
		if message.Method == "tools/call" {
			if calls++; calls == 1 {
				fail(w, message.ID)
				return
			}
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		healthy.ServeHTTP(w, r)
	}))
	defer server.Close()
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil)
	session := must(client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: server.URL}, nil))
	defer session.Close()
	_, first = session.CallTool(ctx, &mcp.CallToolParams{Name: "hi"})
	switch _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "hi"}); {
	case err == nil:
		then = "answered"
	case errors.Is(err, mcp.ErrConnectionClosed):
		then = "connection closed"
	default:
		then = err.Error()
	}
	if calls == 1 {
		then = "not sent, " + then
	}
	return first, then
}

func main() {
	with := map[string]string{}
	var order []string
	said := map[int]error{}
	note := func(name, then string) {
		if with[then] == "" {
			order = append(order, then)
		} else {
			with[then] += " "
		}
		with[then] += name
	}
	for _, status := range []int{400, 408, 409, 413, 425, 429, 500, 501, 502, 503, 504, 507, 520, 521, 522, 523, 524, 525, 526, 529} {
		first, then := twice(func(w http.ResponseWriter, _ json.RawMessage) { w.WriteHeader(status) })
		note(fmt.Sprint(status), then)
		said[status] = first
	}
	_, then := twice(func(http.ResponseWriter, json.RawMessage) { panic(http.ErrAbortHandler) })
	note("reset", then)
	for _, then := range order {
		fmt.Printf("%s: %s\n", with[then], then)
	}
	_, then = twice(func(w http.ResponseWriter, id json.RawMessage) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(529)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"overloaded"}}`, id)
	})
	fmt.Println("529 with a JSON-RPC error:", then)
	for _, status := range []int{408, 529} {
		_, end, _ := strings.Cut(said[status].Error(), `sending "tools/call": `)
		fmt.Printf("error of the call with %d, behind the method's name: %q\n", status, end)
	}
}
END
go run . | tee seen
diff seen - <<'END'
400 408 409 413 425 501 507 520 521 522 523 524 525 526 529: not sent, connection closed
429 500 502 503 504 reset: answered
529 with a JSON-RPC error: answered
error of the call with 408, behind the method's name: "Request Timeout"
error of the call with 529, behind the method's name: ""
END
