package server_test

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ridethrough/ridethrough/internal/server"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/store"
)

// text returns the body of an answer with this status.
func (p *conversationServer) text(status int, method, path, body string, headers ...string) string {
	p.Helper()
	resp := p.send(method, path, body, headers...)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != status {
		p.Fatalf("%s %s: got %s, %q and error %v, want %d", method, path, resp.Status, text, err, status)
	}
	return string(text)
}

func TestRecords_GiveTheSameConversationElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ndjson = "application/x-ndjson"
		p := newConversationServer(t, llmtest.Says(strings.Repeat("a long answer ", 10_000)))
		p.refused(400, "invalid-input", "GET", ".db", "") // the store is in memory
		p.create("c1")
		p.say("c1", "hello")
		synctest.Wait()
		file := p.text(200, "GET", "/c1/records", "")
		q := newConversationServerOn(t, server.Config{}, store.Memory())
		for _, want := range []string{`{"added":`, `{"added":0}`} {
			if got := q.text(200, "POST", "/c1/records", file, "Content-Type", ndjson); !strings.HasPrefix(got, want) {
				t.Errorf("import: got %s, want %s", got, want)
			}
		}
		if got, want := q.ndjson("GET", "/c1/events?until=sealed", ""), p.ndjson("GET", "/c1/events?until=sealed", ""); strings.Join(got, "") != strings.Join(want, "") {
			t.Errorf("events of the imported conversation: got %q, want %q", got, want)
		}
		q.refused(404, "not-found", "GET", "/c2/records", "")
		q.refused(415, "unsupported-media-type", "POST", "/c2/records", file)
		q.refused(400, "invalid-input", "POST", "/c2/records", file, "Content-Type", ndjson)
		q.refused(400, "invalid-input", "POST", "/c1/records", file[:len(file)-10], "Content-Type", ndjson)
		if status, _ := q.ask("POST", "", `{"id":"c3","model":"acme/small"}`); status != 201 {
			t.Fatalf("create c3: status %d", status)
		}
		q.refused(409, "exists", "POST", "/c3/records", strings.ReplaceAll(file, `"c1"`, `"c3"`), "Content-Type", ndjson)
		q.refused(413, "too-large", "POST", "/c1/records", strings.Replace(file, "\n", "\n"+strings.Repeat(" ", 40<<20), 2), "Content-Type", ndjson)
	})
}
