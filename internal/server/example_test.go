package server_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/server"
	"github.com/ridethrough/ridethrough/internal/server/live"
	"github.com/ridethrough/ridethrough/policy"
)

// The feed receives the events, and the server shows it.
func Example() {
	f := live.NewFeed()
	g, err := gateway.New(gateway.Config{Policy: policy.Patient(), OnEvent: func(e gateway.Event) { f.Watch(&e) }})
	if err != nil {
		panic(err)
	}
	s := httptest.NewServer(server.New(server.Config{Gateway: g, Feed: f, Token: "let me in", Log: slog.New(slog.DiscardHandler)}))
	defer s.Close()
	for _, token := range []string{"", "let me in"} {
		req, _ := http.NewRequest("GET", s.URL+"/-/waits", nil)
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := s.Client().Do(req)
		if err != nil {
			panic(err)
		}
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		fmt.Println(resp.StatusCode, strings.TrimSpace(string(body)))
	}
	// Output:
	// 401 {"title":"Unauthorized","status":401,"code":"unauthorized","detail":"the server needs its token, in the header X-Ridethrough-Token or in place of the API key"}
	// 200 {"waits":[]}
}
