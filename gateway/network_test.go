package gateway_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/binary"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/policy"
)

// front is a gateway on loopback, with an upstream for Anthropic's API.
func front(t *testing.T, u gateway.Upstream) string {
	t.Helper()
	u.Name, u.API = "anthropic", "anthropic"
	p := policy.Policy{Retries: 4, Backoff: policy.Backoff{Steps: []time.Duration{time.Millisecond}}}
	g := newGateway(t, gateway.Config{Upstreams: []gateway.Upstream{u}, Policy: p})
	server := httptest.NewServer(g)
	t.Cleanup(func() {
		g.Close()
		server.Close()
	})
	return server.URL
}

// post asks a gateway on loopback.
func post(t *testing.T, base, body string) (status int, text string, err error) {
	t.Helper()
	resp, err := http.Post(base+"/v1/messages", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatalf("Post: %v", err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

// onlyH2C serves HTTP/2 without TLS, and nothing else.
func onlyH2C(t *testing.T, h http.Handler) *url.URL {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("Listen: %v", err)
	}
	server := &http.Server{Handler: h, Protocols: new(http.Protocols), ReadHeaderTimeout: time.Minute}
	server.Protocols.SetUnencryptedHTTP2(true)
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(l) })
	t.Cleanup(func() {
		_ = server.Close()
		serving.Wait()
	})
	return &url.URL{Scheme: "http", Host: l.Addr().String()}
}

func TestNetwork_HTTP2ByPriorKnowledge(t *testing.T) {
	for _, tt := range []struct {
		script, body string
		tries        int
		want         string // of the end
	}{
		{"ok", claude, 1, messageStop},
		{"ok", whole(claude), 1, "}"},
		{"529, reset, cut:0", claude, 4, messageStop},
		{"529, reset, cut:0", whole(claude), 4, "}"},
		{"cut:2", claude, 1, "}}\n\n"},
	} {
		provider := simulator.New(simulator.Script{Replies: replies(t, tt.script)})
		defer provider.Close()
		base := front(t, gateway.Upstream{Base: onlyH2C(t, provider), Network: gateway.Network{HTTP2: true}})
		status, text, err := post(t, base, tt.body)
		broken := strings.Contains(text, "event: error")
		if status != 200 || err != nil || !strings.HasSuffix(strings.TrimSpace(text), strings.TrimSpace(tt.want)) || len(provider.Requests()) != tt.tries || broken != (tt.script == "cut:2") {
			t.Errorf("%s: %d %q, error %v after %d tries; want 200, %q at the end, %d tries", tt.script, status, text, err, len(provider.Requests()), tt.want, tt.tries)
		}
	}
}

func TestNetwork_WithoutPriorKnowledgeH2CIsRefused(t *testing.T) {
	base := front(t, gateway.Upstream{Base: onlyH2C(t, http.NotFoundHandler())})
	if status, text, _ := post(t, base, whole(claude)); status < 400 {
		t.Errorf("status %d, %q; want an error: the server speaks HTTP/2 only", status, text)
	}
}

// The frames of HTTP/2 (RFC 9113, 6).
const (
	dataFrame, headersFrame, resetFrame, settingsFrame, goAwayFrame = 0, 1, 3, 4, 7
	endStream, endHeaders                                           = 1, 4
)

func frame(kind, flags byte, stream uint32, payload ...byte) []byte {
	f := append([]byte{0, byte(len(payload) >> 8), byte(len(payload)), kind, flags}, binary.BigEndian.AppendUint32(nil, stream)...)
	return append(f, payload...)
}

// headOfAnswer is the head of a stream of events: status 200 and its type, in HPACK.
func headOfAnswer(stream uint32) []byte {
	head := append([]byte{0x88, 0x0f, 0x10, byte(len("text/event-stream"))}, "text/event-stream"...)
	return frame(headersFrame, endHeaders, stream, head...)
}

func errorCode(code byte) []byte { return []byte{0, 0, 0, code} }

// playH2C answers each request with the next frames, the last ones again and again.
func playH2C(t *testing.T, plays ...func(stream uint32) []byte) (*url.URL, *atomic.Int32) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("Listen: %v", err)
	}
	var asked atomic.Int32
	var serving sync.WaitGroup
	var open []net.Conn
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				for _, c := range open {
					_ = c.Close()
				}
				return
			}
			open = append(open, conn)
			serving.Go(func() { playConn(conn, &asked, plays) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		serving.Wait()
	})
	return &url.URL{Scheme: "http", Host: l.Addr().String()}, &asked
}

// playConn reads the frames of one connection.
func playConn(conn net.Conn, asked *atomic.Int32, plays []func(uint32) []byte) {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	_, _ = io.CopyN(io.Discard, conn, int64(len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")))
	_, _ = conn.Write(frame(settingsFrame, 0, 0))
	for {
		var head [9]byte
		if _, err := io.ReadFull(conn, head[:]); err != nil {
			return
		}
		size := int64(head[0])<<16 | int64(head[1])<<8 | int64(head[2])
		_, _ = io.CopyN(io.Discard, conn, size)
		if head[3] == headersFrame {
			n := int(asked.Add(1))
			_, _ = conn.Write(plays[min(n, len(plays))-1](binary.BigEndian.Uint32(head[5:])))
		}
	}
}

func TestNetwork_HTTP2FaultsAreReadAsWhatTheyAre(t *testing.T) {
	whole := func(s uint32) []byte {
		return append(headOfAnswer(s), frame(dataFrame, endStream, s, []byte(messageStart+messageHi+messageStop)...)...)
	}
	reset := func(code byte) func(uint32) []byte {
		return func(s uint32) []byte { return frame(resetFrame, 0, s, errorCode(code)...) }
	}
	goAway := func(code byte) func(uint32) []byte {
		return func(uint32) []byte { return frame(goAwayFrame, 0, 0, append(errorCode(0), errorCode(code)...)...) }
	}
	behind := func(end func(uint32) []byte, text string) func(uint32) []byte {
		return func(s uint32) []byte {
			return bytes.Join([][]byte{headOfAnswer(s), frame(dataFrame, 0, s, []byte(text)...), end(s)}, nil)
		}
	}
	const refused, internal, noError = 7, 2, 0
	for name, tt := range map[string]struct {
		fault  func(uint32) []byte
		broken bool // the answer has begun, and must end with an error
	}{
		"RST_STREAM INTERNAL_ERROR":               {reset(internal), false},
		"RST_STREAM REFUSED_STREAM":               {reset(refused), false},
		"GOAWAY before the stream":                {goAway(noError), false},
		"GOAWAY with an error":                    {goAway(internal), false},
		"RST_STREAM behind the opening":           {behind(reset(internal), messageStart), false},
		"RST_STREAM behind content":               {behind(reset(internal), messageStart+messageHi), true},
		"RST_STREAM NO_ERROR behind content":      {behind(reset(noError), messageStart+messageHi), true},
		"a clean end behind content":              {behind(func(s uint32) []byte { return frame(dataFrame, endStream, s) }, messageStart+messageHi), true},
		"GOAWAY that drops the stream, in answer": {behind(goAway(internal), messageStart+messageHi), true},
	} {
		base, asked := playH2C(t, tt.fault, whole)
		status, text, err := post(t, front(t, gateway.Upstream{Base: base, Network: gateway.Network{HTTP2: true}, Limits: &gateway.Limits{Idle: time.Second}}), claude)
		ok := strings.HasSuffix(text, messageStop) && asked.Load() == 2
		if tt.broken {
			ok = strings.HasPrefix(text, messageStart+messageHi+"event: error\n") && asked.Load() == 1
		}
		if status != 200 || err != nil || !ok {
			t.Errorf("%s: %d %q, error %v after %d requests; want broken off: %v", name, status, text, err, asked.Load(), tt.broken)
		}
	}
}

func TestNetwork_CAIsTrustedBesidesTheSystems(t *testing.T) {
	provider := simulator.New(simulator.Script{})
	defer provider.Close()
	server := httptest.NewUnstartedServer(provider)
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // refused handshakes are intended
	server.StartTLS()
	defer server.Close()
	authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	base, _ := url.Parse(server.URL)
	for _, tt := range []struct {
		ca     string
		status int
		want   string
	}{
		{authority, 200, messageStop},
		{"", 503, "name that in ca: of this upstream"},
		{strange(t), 503, "the one that ca: of this upstream names"},
	} {
		status, text, _ := post(t, front(t, gateway.Upstream{Base: base, Network: gateway.Network{CA: tt.ca}}), claude)
		if status != tt.status || !strings.Contains(text, tt.want) || strings.Contains(text, "retries") {
			t.Errorf("CA %.40q: %d %q; want %d with %q, without a retry", tt.ca, status, text, tt.status, tt.want)
		}
	}
}

// strange returns an authority that has signed nothing.
func strange(t *testing.T) string {
	t.Helper()
	public, private, _ := ed25519.GenerateKey(rand.Reader)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		t.Fatalf("CreateCertificate: %v", err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func TestNetwork_ProxyOfAnUpstream(t *testing.T) {
	var asked atomic.Pointer[string]
	provider := simulator.New(simulator.Script{})
	defer provider.Close()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to := r.URL.String()
		asked.Store(&to)
		provider.ServeHTTP(w, r)
	}))
	defer proxy.Close()
	base := &url.URL{Scheme: "http", Host: "provider.invalid"}
	status, text, err := post(t, front(t, gateway.Upstream{Base: base, Network: gateway.Network{Proxy: proxy.URL}}), claude)
	if to := asked.Load(); status != 200 || err != nil || !strings.HasSuffix(text, messageStop) || to == nil || *to != "http://provider.invalid/v1/messages" {
		t.Errorf("%d %q, error %v, the proxy was asked for %v; want an answer through the proxy", status, text, err, to)
	}
}

// refusingProxy answers CONNECT twice with a status line, and then leads to the provider.
func refusingProxy(t *testing.T, status, provider string) (*url.URL, *atomic.Int32) {
	t.Helper()
	var asked atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		if asked.Add(1) <= 2 {
			_, _ = io.WriteString(conn, "HTTP/1.1 "+status+"\r\nContent-Length: 0\r\n\r\n")
			return
		}
		to, err := net.Dial("tcp", provider)
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n")
		go func() { _, _ = io.Copy(to, conn); _ = to.Close() }()
		_, _ = io.Copy(conn, to)
	}))
	t.Cleanup(proxy.Close)
	u, _ := url.Parse(proxy.URL)
	return u, &asked
}

func TestNetwork_StatusOfARefusedConnectDecides(t *testing.T) {
	provider := simulator.New(simulator.Script{})
	defer provider.Close()
	server := httptest.NewTLSServer(provider)
	defer server.Close()
	authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	base, _ := url.Parse(server.URL)
	for _, tt := range []struct {
		refusal string
		status  int
		asked   int32
	}{
		{"503 Connect failed", 200, 3},
		{"502 Server unreachable", 200, 3},
		{"502 Proxy Error", 200, 3},
		{"504 DNS", 200, 3},
		{"407 Proxy Authentication Required", 503, 1},
		{"403 Blocked by policy", 503, 1},
	} {
		proxy, asked := refusingProxy(t, tt.refusal, server.Listener.Addr().String())
		network := gateway.Network{Proxy: proxy.String(), CA: authority}
		status, text, err := post(t, front(t, gateway.Upstream{Base: base, Network: network}), claude)
		says := "the proxy " + proxy.Host + " does not connect: " + tt.refusal
		if status != tt.status || err != nil || asked.Load() != tt.asked || strings.Contains(text, says) != (tt.status != 200) {
			t.Errorf("%s: got %d %q, error %v after %d requests at the proxy; want %d after %d", tt.refusal, status, text, err, asked.Load(), tt.status, tt.asked)
		}
	}
}

func TestNetwork_Check(t *testing.T) {
	plain, secure := &url.URL{Scheme: "http", Host: "h"}, &url.URL{Scheme: "https", Host: "h"}
	for _, tt := range []struct {
		network gateway.Network
		base    *url.URL
		want    string // of the error; "": none
	}{
		{gateway.Network{}, secure, ""},
		{gateway.Network{HTTP2: true}, plain, ""},
		{gateway.Network{Proxy: "none", HTTP2: true}, plain, ""},
		{gateway.Network{Proxy: "socks5://127.0.0.1:1080"}, secure, ""},
		{gateway.Network{HTTP2: true}, secure, "over https it is negotiated"},
		{gateway.Network{HTTP2: true, Proxy: "http://p:1"}, plain, "goes through no proxy"},
		{gateway.Network{Proxy: "p:3128"}, secure, "want a proxy such as"},
		{gateway.Network{Proxy: "http://me:secret@p:3128"}, secure, "has no user"},
		{gateway.Network{CA: "no PEM"}, secure, "CA has no certificate in PEM"},
	} {
		err := tt.network.Check(tt.base)
		if (err == nil) != (tt.want == "") || err != nil && (!strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%+v at %s: got error %v, want %q", tt.network, tt.base, err, tt.want)
		}
	}
}

func TestUpstream_ClientURLIsWhatToolsTake(t *testing.T) {
	for _, tt := range [][3]string{
		{"anthropic", "https://a.example", "https://a.example"},
		{"anthropic", "https://a.example/v1", "https://a.example"},
		{"gemini", "https://a.example/x/v1beta", "https://a.example/x"},
		{"openai", "https://a.example/v1", "https://a.example/v1"},
		{"openai", "https://a.example", "https://a.example/v1"},
		{"openai", "https://a.example/api/v3", "https://a.example/api/v3"},
		{"lmstudio", "http://127.0.0.1:1234", "http://127.0.0.1:1234/v1"},
		{"lmstudio", "http://127.0.0.1:1234/v1", "http://127.0.0.1:1234/v1"},
		{"ollama", "http://127.0.0.1:11434", "http://127.0.0.1:11434"},
		{"azure", "https://a.openai.azure.com/", "https://a.openai.azure.com/openai/v1"},
	} {
		base, _ := url.Parse(tt[1])
		u := gateway.Upstream{API: tt[0], Base: base}
		if got := u.ClientURL().String(); got != tt[2] || base.String() != tt[1] {
			t.Errorf("ClientURL of %s at %s = %s, want %s", tt[0], tt[1], got, tt[2])
		}
	}
}
