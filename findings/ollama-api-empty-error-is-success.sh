#!/usr/bin/env bash
# Ollama's Go client (github.com/ollama/ollama/api 0.32.15) looks at the HTTP status only while it reads lines of the
# body. A 401, 404, 429 or 503 without a body, as a proxy may send it, is a success: Chat, Generate and
# Pull return nil and never call the function they were given. A model that was not pulled counts as pulled, a chat
# through a server that is down as an empty answer. Embed, which does not stream, returns an error
# for the same answer. An answer that ends cleanly in its middle is nil as well: the caller has to look for Done itself.
#
# Seen with Go 1.26 (what each call returned):
#	503 without a body: Chat <nil> Generate <nil> Pull <nil> Embed an error, parts seen: 0
#	429 without a body: Chat <nil> Generate <nil> Pull <nil> Embed an error, parts seen: 0
#	401 without a body: Chat <nil> Generate <nil> Pull <nil> Embed an error, parts seen: 0
#	503 with a body: Chat an error Generate an error Pull an error Embed an error, parts seen: 0
#	200, ends in the middle: Chat <nil> Generate <nil> Pull <nil>, parts seen: 3
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
export GOFLAGS=-mod=mod
go mod init try 2>/dev/null
go get github.com/ollama/ollama/api@v0.32.15 2>/dev/null
cat >main.go <<'END'
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"

	"github.com/ollama/ollama/api"
)

// middles are the first lines of answers that never get to their last one.
var middles = map[string]string{
	"/api/chat":     `{"model":"m","message":{"role":"assistant","content":"One "},"done":false}`,
	"/api/generate": `{"model":"m","response":"One ","done":false}`,
	"/api/pull":     `{"status":"pulling","total":1000,"completed":10}`,
}

func main() {
	ctx := context.Background()
	for _, way := range []struct {
		name   string
		status int
		body   func(path string) string
	}{
		{"503 without a body", 503, nil},
		{"429 without a body", 429, nil},
		{"401 without a body", 401, nil},
		{"503 with a body", 503, func(string) string { return "no upstream" }},
		{"200, ends in the middle", 200, func(path string) string { return middles[path] + "\n" }},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			w.WriteHeader(way.status)
			if way.body != nil {
				io.WriteString(w, way.body(r.URL.Path))
			}
		}))
		base, err := url.Parse(server.URL)
		if err != nil {
			panic(err)
		}
		client := api.NewClient(base, http.DefaultClient)
		calls := 0
		say := func(name string, err error) {
			if err != nil {
				err = errors.New("an error")
			}
			fmt.Printf(" %s %v", name, err)
		}
		fmt.Print(way.name, ":")
		say("Chat", client.Chat(ctx, &api.ChatRequest{Model: "m"}, func(api.ChatResponse) error { calls++; return nil }))
		say("Generate", client.Generate(ctx, &api.GenerateRequest{Model: "m"}, func(api.GenerateResponse) error { calls++; return nil }))
		say("Pull", client.Pull(ctx, &api.PullRequest{Model: "m"}, func(api.ProgressResponse) error { calls++; return nil }))
		if way.status != http.StatusOK {
			_, err := client.Embed(ctx, &api.EmbedRequest{Model: "m"})
			say("Embed", err)
		}
		fmt.Printf(", parts seen: %d\n", calls)
		server.Close()
	}
}
END
go run . | tee seen
diff seen - <<'END'
503 without a body: Chat <nil> Generate <nil> Pull <nil> Embed an error, parts seen: 0
429 without a body: Chat <nil> Generate <nil> Pull <nil> Embed an error, parts seen: 0
401 without a body: Chat <nil> Generate <nil> Pull <nil> Embed an error, parts seen: 0
503 with a body: Chat an error Generate an error Pull an error Embed an error, parts seen: 0
200, ends in the middle: Chat <nil> Generate <nil> Pull <nil>, parts seen: 3
END
