package server_test

import (
	"bytes"
	"cmp"
	"context"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/internal/server"
)

var messages = "/v1/messages"

func TestServer_RefusesOtherHosts(t *testing.T) {
	s := server.New(server.Config{Log: slog.New(slog.DiscardHandler), Gateway: &fake{}, Hosts: []string{"Gate.example", "10.1.1.1"}})
	here := &net.TCPAddr{IP: net.ParseIP("192.168.1.5"), Port: 8484}
	for host, want := range map[string]int{
		"localhost": 200, "localhost:8484": 200, "LOCALHOST": 200, "localhost.": 200,
		"127.0.0.1": 200, "127.0.0.1:8484": 200, "127.9.9.9": 200, "[::1]": 200, "[::1]:8484": 200, "[::ffff:127.0.0.1]:1": 200,
		"gate.example": 200, "GATE.example:80": 200, "10.1.1.1:8484": 200, "192.168.1.5:8484": 200,
		"192.168.1.6:8484": 421, "rebound.example": 421, "127.0.0.1.example": 421, "localhost.example": 421,
		"gate.example.evil": 421, "": 421, "[": 421, "]:": 421, ":8484": 421, "0.0.0.0": 421,
	} {
		for _, path := range []string{"/", messages, "/-/", "/-/livez", "/-/waits", "/-"} {
			r := request("GET", path, "")
			r.Host = host
			r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, here))
			if w := ask(s, r); w.Code != want && (want == 421 || path != "/-") {
				t.Errorf("Host %q at %s: %d, want %d", host, path, w.Code, want)
			}
		}
	}
}

func TestServer_TakesTokenFromAnyCredential(t *testing.T) {
	const token = "t0ken"
	tests := []struct {
		name    string
		target  string
		headers []string
		api     int    // below the API
		board   int    // below /-/
		left    string // the credentials that reach the gateway
	}{
		{"none", "", nil, 401, 401, ""},
		{"in its own header", "", []string{"X-Ridethrough-Token", token}, 200, 200, ""},
		{"beside a key", "", []string{"X-Ridethrough-Token", token, "X-Api-Key", "sk"}, 200, 200, "X-Api-Key=sk"},
		{"as a bearer", "", []string{"Authorization", "Bearer " + token}, 200, 200, ""},
		{"as a bearer in small letters", "", []string{"Authorization", "bearer  " + token}, 200, 200, ""},
		{"as Anthropic's key", "", []string{"X-Api-Key", token}, 200, 200, ""},
		{"as Azure's key", "", []string{"Api-Key", token}, 200, 200, ""},
		{"as Google's key", "", []string{"X-Goog-Api-Key", token}, 200, 200, ""},
		{"in the query", "?alt=sse&key=t0ken&x=%20", nil, 200, 200, "?alt=sse&x=%20"},
		{"everywhere", "?key=t0ke%6e", []string{"X-Ridethrough-Token", token, "X-Api-Key", token, "Authorization", "Bearer " + token}, 200, 200, ""},
		{"beside another's", "", []string{"X-Api-Key", token, "Authorization", "Bearer sk"}, 200, 200, "Authorization=Bearer sk"},
		{"wrong", "?key=t0", []string{"X-Ridethrough-Token", "t0ken2", "X-Api-Key", "sk"}, 401, 401, ""},
		{"as a password", "", []string{"Authorization", "Basic " + token}, 401, 401, ""},
		{"with another name", "?keys=t0ken&mykey=t0ken", nil, 401, 401, ""},
	}
	for _, tt := range tests {
		var left string
		var log bytes.Buffer
		g := &fake{serve: func(_ http.ResponseWriter, r *http.Request) {
			for _, name := range []string{"X-Ridethrough-Token", "X-Api-Key", "Api-Key", "X-Goog-Api-Key", "Authorization"} {
				for _, v := range r.Header[name] {
					left += name + "=" + v
				}
			}
			if r.URL.RawQuery != "" {
				left += "?" + r.URL.RawQuery
			}
			if strings.Contains(r.RequestURI, token) {
				left += " and in the URI"
			}
		}}
		s := server.New(server.Config{Gateway: g, Token: token, Log: slog.New(slog.NewTextHandler(&log, nil))})
		w := ask(s, request("POST", messages+tt.target, "{}", tt.headers...))
		if w.Code != tt.api || left != tt.left {
			t.Errorf("%s: %d and %q, want %d and %q", tt.name, w.Code, left, tt.api, tt.left)
		}
		if w.Code == 401 && (w.Header().Get("WWW-Authenticate") == "" || !strings.Contains(w.Body.String(), `"authentication_error"`)) {
			t.Errorf("%s: %q", tt.name, w.Body)
		}
		if w := ask(s, request("GET", "/-/waits"+tt.target, "", tt.headers...)); w.Code != tt.board {
			t.Errorf("%s: %d below /-/, want %d", tt.name, w.Code, tt.board)
		}
		for _, open := range []string{"/-/livez", "/-/readyz"} {
			if w := ask(s, request("GET", open, "")); w.Code != 200 {
				t.Errorf("%s: %d", open, w.Code)
			}
		}
		if strings.Contains(log.String(), "t0k") || (tt.api == 401) != strings.Contains(log.String(), "request without the token") {
			t.Errorf("%s: logged %q", tt.name, &log)
		}
	}
}

func TestServer_LimitsLogOfRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := server.New(server.Config{Gateway: &fake{}, Token: "t", Log: slog.New(slog.NewTextHandler(&log, nil))})
		for range 1000 {
			ask(s, request("POST", messages, "{}", "X-Api-Key", "guess"))
		}
		time.Sleep(time.Second)
		ask(s, request("POST", messages, "{}"))
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		if len(lines) != 2 || !strings.HasSuffix(lines[0], " unlogged=0") || !strings.HasSuffix(lines[1], " unlogged=999") {
			t.Errorf("%d lines, at last %q", len(lines), lines[len(lines)-1])
		}
	})
}

func TestServer_WithoutTokenForwardsCredentials(t *testing.T) {
	g := &fake{serve: func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer " || r.Header["X-Ridethrough-Token"] != nil || r.URL.RawQuery != "key=" {
			w.WriteHeader(500)
		}
	}}
	w := ask(server.New(server.Config{Log: slog.New(slog.DiscardHandler), Gateway: g}), request("POST", messages+"?key=", "", "Authorization", "Bearer ", "X-Ridethrough-Token", "x"))
	if w.Code != 200 {
		t.Errorf("status %d", w.Code)
	}
}

func TestServer_RefusesInTheFormOfTheAPI(t *testing.T) {
	s := server.New(server.Config{Log: slog.New(slog.DiscardHandler), Gateway: &fake{}, Token: "t"})
	for _, tt := range []struct{ target, header, want string }{
		{"/v1/messages", "", `{"type":"error","error":{"type":"authentication_error","message":"`},
		{"/v1/messages/count_tokens", "", `{"type":"error","error":{"type":"authentication_error","message":"`},
		{"/v1/models", "Anthropic-Version", `{"type":"error","error":{"type":"authentication_error","message":"`},
		{"/team/v1/chat/completions", "", `{"error":{"message":"`},
		{"/v1/models", "", `{"error":{"message":"`},
		{"/v1beta/models", "", `{"error":{"code":401,"message":"`},
		{"/api/chat", "", `{"error":"`},
		{"/api/show", "", `{"error":"`},
		{"/local/api/tags", "", `{"error":"`},
		{"/api/version", "", `{"error":"`},
		{"/v2/embed", "", `{"message":"`},
		{"/-/waits", "", `{"title":"Unauthorized","status":401,"code":"unauthorized"`},
	} {
		w := ask(s, request("POST", tt.target, "{}", cmp.Or(tt.header, "X-Other"), "2023-06-01"))
		if w.Code != 401 || !strings.HasPrefix(w.Body.String(), tt.want) || !strings.Contains(w.Body.String(), "X-Ridethrough-Token") {
			t.Errorf("%s with header %q: got %d %s, want 401 and %s", tt.target, tt.header, w.Code, w.Body, tt.want)
		}
	}
}

func TestRun_RefusesReachableListenerWithoutToken(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		addr  net.Addr
		token string
		ok    bool
	}{
		{&net.TCPAddr{IP: net.IPv4zero}, "", false},
		{&net.TCPAddr{IP: net.IPv6zero}, "", false},
		{&net.TCPAddr{}, "", false},
		{&net.TCPAddr{IP: net.ParseIP("10.0.0.1")}, "", false},
		{&net.TCPAddr{IP: net.ParseIP("10.0.0.1")}, "t", true},
		{&net.TCPAddr{IP: net.ParseIP("127.0.0.1")}, "", true},
		{&net.TCPAddr{IP: net.IPv6loopback}, "", true},
		{&net.UnixAddr{Name: "/run/x"}, "", true},
	} {
		l := &nowhere{addr: c.addr, closed: make(chan struct{})}
		s := server.New(server.Config{Gateway: &fake{}, Token: c.token, Log: slog.New(slog.DiscardHandler)})
		err := s.Run(ctx, l)
		if (err == nil) != c.ok || err != nil && !strings.Contains(err.Error(), "there is no token") {
			t.Errorf("%v, token %q: %v", c.addr, c.token, err)
		}
		<-l.closed
	}
}

// nowhere is a listener without connections.
type nowhere struct {
	addr   net.Addr
	closed chan struct{}
}

func (n *nowhere) Accept() (net.Conn, error) { <-n.closed; return nil, net.ErrClosed }
func (n *nowhere) Addr() net.Addr            { return n.addr }
func (n *nowhere) Close() error {
	select {
	case <-n.closed:
	default:
		close(n.closed)
	}
	return nil
}

func FuzzHost(f *testing.F) {
	for _, host := range []string{"localhost", "[::1]:8484", "127.0.0.1:1", "[", "]:", "a:b:c", ".", "[]"} {
		f.Add(host)
	}
	s := server.New(server.Config{Log: slog.New(slog.DiscardHandler), Gateway: &fake{}})
	f.Fuzz(func(t *testing.T, host string) {
		r := request("GET", "/", "")
		r.Host = host
		if w := ask(s, r); w.Code != 200 && w.Code != 421 {
			t.Errorf("%q: %d", host, w.Code)
		}
	})
}
