package app_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/app"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// echoes are errors in a stream, by API; KEY is what the request was authorized with.
var echoes = map[string]string{
	"anthropic": "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"wrong key KEY\"}}\n\n",
	"openai":    "data: {\"error\":{\"type\":\"invalid_request_error\",\"message\":\"wrong key KEY\"}}\n\n",
	"gemini":    "data: {\"error\":{\"code\":400,\"status\":\"INVALID_ARGUMENT\",\"message\":\"wrong key KEY\"}}\r\n\r\n",
}

// texts are the beginnings of their streams.
var texts = map[string]string{
	"anthropic": "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[]}}\n\n" +
		"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n" +
		"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hi\"}}\n\n",
	"openai": "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Hi\"},\"finish_reason\":null}]}\n\n",
	"gemini": "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"Hi\"}]}}]}\r\n\r\n",
}

// A provider that repeats a key in an error inside a stream puts it into no record, no event and no file.
func TestStart_EchoedKeyReachesNoStore(t *testing.T) {
	const key = "sk-of-the-operator-123456"
	for kind, echo := range echoes {
		for at, begin := range map[string]string{"first": "", "behind a text": texts[kind]} {
			t.Run(kind+", "+at, func(t *testing.T) {
				provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					sent := r.Header.Get("X-Api-Key") + r.Header.Get("X-Goog-Api-Key") + strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
					w.Header().Set("Content-Type", "text/event-stream")
					_, _ = io.WriteString(w, begin+strings.Replace(echo, "KEY", sent, 1))
				}))
				defer provider.Close()
				c := parse(t, fmt.Sprintf("policy: none\nupstreams: {one: {api: %s, url: %s, key: {env: OWN_KEY}}}", kind, provider.URL))
				var mu sync.Mutex
				var seen strings.Builder // events of all kinds, and records
				note := func(format string, values ...any) {
					mu.Lock()
					defer mu.Unlock()
					fmt.Fprintf(&seen, format+"\n", values...)
				}
				dir := t.TempDir()
				agents := app.Agents{Models: modelsOf(c, "OWN_KEY="+key), Watch: func(e conversation.Event) { note("watched %+v", e) }}
				opened := openDir(dir)
				host, end := agents.Start(t.Context(), opened, slog.New(slog.DiscardHandler))
				if err := opened.Wait(t.Context()); err != nil {
					t.Fatalf("wait for the store: %v", err)
				}
				id, err := host.Create(t.Context(), "c1", conversation.Settings{Model: "one/m"})
				if err != nil {
					t.Fatalf("Create: %v", err)
				}
				events := host.Attach(t.Context(), id, 0)
				if _, err := host.Submit(t.Context(), id, "t1", "hello"); err != nil {
					t.Fatalf("Submit: %v", err)
				}
				for e, err := range events {
					if err != nil {
						t.Fatalf("Attach: %v", err)
					}
					text, _ := json.Marshal(e)
					note("event %s %+v", text, e)
					if of, ok := e.Body.(wire.Turn); ok {
						if _, failed := of.Event.(turn.Error); failed {
							break
						}
					}
				}
				for r, err := range host.Export(t.Context(), id) {
					if err != nil {
						t.Fatalf("Export: %v", err)
					}
					note("record %s %s", r.Type, r.Body)
				}
				end()
				if text := seen.String(); strings.Contains(text, key) || strings.Count(text, "wrong key "+strings.Repeat("*", len(key))) < 3 {
					t.Errorf("events and records: want the error three times and more, and no key:\n%s", text)
				}
				files, err := filepath.Glob(filepath.Join(dir, "*"))
				if err != nil || len(files) == 0 {
					t.Fatalf("files of the store: got %v, %v", files, err)
				}
				for _, file := range files {
					if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), key) {
						t.Errorf("%s has the key", filepath.Base(file))
					}
				}
			})
		}
	}
}
