package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/server/api"
	"github.com/ridethrough/ridethrough/internal/server/client"
	"github.com/ridethrough/ridethrough/wire"
)

// line writes an event as the server does.
func line(seq int, turnID, members string) string {
	return fmt.Sprintf(`{"v":1,"seq":%d,"ts":"2026-11-21T12:00:00Z","conversationId":"c","turnId":%q,%s}`, seq, turnID, members) + "\n"
}

// seen returns what a client sees.
func seen(t *testing.T, c client.Client) (got []string) {
	t.Helper()
	for e, err := range c.Say(t.Context(), "c", "t", "hello") {
		if err != nil {
			t.Fatalf("follow: %v", err)
		}
		got = append(got, fmt.Sprint(e.Seq, " ", wire.Type(e.Body)))
	}
	return got
}

func TestSay_ReconnectsLostConnection(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch asked.Add(1) {
		case 1:
			if r.Method != http.MethodPost || r.URL.Path != "/-/conversations/c/turns" || r.Header.Get("X-Ridethrough-Token") != "secret" {
				t.Errorf("%s %s", r.Method, r.URL)
			}
			fmt.Fprint(w, line(3, "t", `"type":"turn-start","id":"t"`)+"\n"+line(4, "t", `"type":"text-delta","text":"h"`))
		default:
			if r.URL.String() != "/-/conversations/c/events?after=4" {
				t.Errorf("asked %s", r.URL)
			}
			fmt.Fprint(w, line(4, "other", `"type":"turn-sealed","status":"done"`)+line(5, "t", `"type":"turn-sealed","status":"done"`)+line(6, "t", `"type":"usage"`))
		}
	}))
	defer server.Close()
	got := seen(t, client.Client{Base: server.URL + "/", Token: "secret"})
	if want := "3 turn-start, 4 text-delta, 5 turn-sealed"; strings.Join(got, ", ") != want {
		t.Errorf("%q", got)
	}
}

func TestClient_RefusalIsProblem(t *testing.T) {
	for body, want := range map[string]api.Problem{
		`{"status":404,"code":"not-found","detail":"no such conversation"}`: {Status: 404, Code: "not-found", Detail: "no such conversation"},
		"<html>":  {Status: 404, Detail: "<html>"},
		"":        {Status: 404},
		`{"a":1}`: {Status: 404, Detail: `{"a":1}`},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, body)
		}))
		_, err := client.Client{Base: server.URL}.Create(t.Context(), conversation.Settings{Model: "m"})
		if p, ok := errors.AsType[*api.Problem](err); !ok || *p != want || p.Error() == "" {
			t.Errorf("%q: %v", body, err)
		}
		server.Close()
	}
}

func TestWatch_CallerLeavesWithoutError(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, line(1, "t", `"type":"turn-start","id":"t"`))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got []wire.Body
	for e, err := range (client.Client{Base: server.URL}).Watch(ctx, "c", "t") {
		if err != nil {
			t.Errorf("follow: %v", err)
		}
		got = append(got, e.Body)
		cancel()
	}
	if len(got) != 1 {
		t.Errorf("%v", got)
	}
}
