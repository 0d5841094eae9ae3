package gateway_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/gateway"
)

func TestPassThrough_EarlyHintsStayBehind(t *testing.T) {
	g := newGateway(t, gateway.Config{Base: roundTrip(func(req *http.Request) (*http.Response, error) {
		hints := textproto.MIMEHeader{"Link": {"</evil.js>; rel=preload"}, "Set-Cookie": {"a=b"}}
		if err := httptrace.ContextClientTrace(req.Context()).Got1xxResponse(http.StatusEarlyHints, hints); err != nil {
			t.Errorf("103: %v", err)
		}
		return says(200, "{}", "X-Own", "yes")(req)
	})})
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "sandbox")
		g.ServeHTTP(w, r)
	}))
	defer front.Close()
	req, _ := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		Got1xxResponse: func(status int, h textproto.MIMEHeader) error {
			t.Errorf("got %d %v, want no hints", status, h)
			return nil
		},
	}), "GET", front.URL+"/v1/models", nil)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("GET: %v", err)
	}
	defer resp.Body.Close()
	for name, want := range map[string]string{"X-Own": "yes", "Content-Security-Policy": "sandbox", "Link": "", "Set-Cookie": ""} {
		if got := resp.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestPassThrough_UpgradeSetsNoCookie(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Errorf("hijack: %v", err)
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-Websocket-Accept: x\r\nSet-Cookie: a=b\r\n\r\n")
	}))
	defer upstream.Close()
	base, _ := url.Parse(upstream.URL)
	front := httptest.NewServer(newGateway(t, gateway.Config{Upstreams: []gateway.Upstream{{Name: "openai", API: "openai", Base: base}}}))
	defer front.Close()
	conn, err := net.Dial("tcp", front.Listener.Addr().String())
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "GET /v1/realtime HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("read response: %v", err)
	}
	resp.Header.Del("Date")
	want := http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Accept": {"x"}}
	if diff := cmp.Diff(want, resp.Header); diff != "" || resp.StatusCode != 101 {
		t.Errorf("upgrade: %s (-want +got):\n%s", resp.Status, diff)
	}
}
