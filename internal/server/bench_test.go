package server_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/server"
	"github.com/ridethrough/ridethrough/internal/server/conversations"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/store"
)

// null discards answers.
type null struct{ header http.Header }

func (n null) Header() http.Header         { return n.header }
func (n null) Write(p []byte) (int, error) { return len(p), nil }
func (n null) WriteHeader(int)             {}

// SetReadDeadline makes it a connection.
func (n null) SetReadDeadline(time.Time) error { return nil }

// BenchmarkServeHTTP measures what the server adds to a request to the gateway.
func BenchmarkServeHTTP(b *testing.B) {
	drain := func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }
	for _, token := range []string{"", "t0ken"} {
		b.Run(fmt.Sprintf("token %t", token != ""), func(b *testing.B) {
			s := server.New(server.Config{Gateway: &fake{serve: drain}, Token: token})
			r := httptest.NewRequest("POST", "/v1/messages", strings.NewReader(streamed))
			r.Host = "127.0.0.1:8484"
			r.Header.Set("Content-Type", "application/json")
			body, w := r.Body, null{http.Header{}}
			key, ours := []string{"sk"}, []string{"t0ken"}
			b.ReportAllocs()
			for b.Loop() {
				r.Body = body
				r.Header["X-Api-Key"] = key
				r.Header["X-Ridethrough-Token"] = ours
				s.ServeHTTP(w, r)
			}
		})
	}
}

func BenchmarkWaits_TenThousand(b *testing.B) {
	g := &fake{}
	for i := range int64(10_000) {
		g.waits = append(g.waits, gateway.Wait{Call: gateway.Call{ID: i, Upstream: "work", Model: "claude"}, Wait: policy.Wait{Fault: busy}, State: "waiting"})
	}
	s := server.New(server.Config{Gateway: g})
	r := request("GET", "/-/waits", "")
	b.ReportAllocs()
	for b.Loop() {
		s.ServeHTTP(null{http.Header{}}, r)
	}
}

// flushed is null for streams.
type flushed struct{ null }

// Flush makes it a connection.
func (flushed) Flush() {}

func BenchmarkFollowConversation_ThousandEvents(b *testing.B) {
	kept := store.Memory()
	host := conversation.New(conversation.Config{Store: kept})
	if _, err := host.Create(b.Context(), "c1", conversation.Settings{Model: "acme/large"}); err != nil {
		b.Fatalf("create: %v", err)
	}
	at, err := kept.End(b.Context(), "c1")
	if err != nil {
		b.Fatalf("end: %v", err)
	}
	for n := range 500 {
		said := store.Record{Turn: fmt.Sprint(n), Type: "input-queued", Body: fmt.Appendf(nil, `{"conversationId":"c1","turnId":"%d","text":"hello"}`, n)}
		gone := store.Record{Turn: fmt.Sprint(n), Type: "input-removed", Body: fmt.Appendf(nil, `{"conversationId":"c1","turnId":"%d"}`, n)}
		if at, err = kept.Append(b.Context(), "c1", at, said, gone); err != nil {
			b.Fatalf("append: %v", err)
		}
	}
	s := server.New(withConversations(server.Config{Gateway: &fake{}}, &conversations.API{Runner: host}))
	r := request("GET", "/-/conversations/c1/events?until=sealed", "")
	b.ReportAllocs()
	for b.Loop() {
		s.ServeHTTP(flushed{null{http.Header{}}}, r)
	}
}
