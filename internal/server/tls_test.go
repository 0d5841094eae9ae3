package server_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/internal/server"
)

// certified returns a server's configuration for TLS, and a client's that trusts it.
func certified(t *testing.T) (own, client *tls.Config) {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	s.Close()
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &s.TLS.Certificates[0], nil }},
		&tls.Config{RootCAs: pool, ServerName: "example.com"}
}

func TestRun_HoldsStreamsOverHTTP2(t *testing.T) {
	own, trusting := certified(t)
	synctest.Test(t, func(t *testing.T) {
		r := newGatewayServer(t, simulator.Script{Outages: []simulator.Outage{{To: 50 * time.Second}}}, server.Config{TLS: own})
		client := &http.Client{Transport: &http.Transport{DialContext: r.pipe.DialContext, TLSClientConfig: trusting, ForceAttemptHTTP2: true}}
		defer client.CloseIdleConnections()
		const calls = 300 // more than the 250 streams at a time that net/http admits by itself
		answers := make(chan string, calls)
		for range calls {
			go func() {
				req, _ := http.NewRequestWithContext(t.Context(), "POST", "https://localhost/v1/messages", strings.NewReader(streamed))
				req.Header.Set("Content-Type", "application/json")
				resp, err := client.Do(req)
				if err != nil {
					answers <- err.Error()
					return
				}
				defer resp.Body.Close()
				text, _ := io.ReadAll(resp.Body)
				answers <- resp.Proto + " " + string(text)
			}()
		}
		time.Sleep(30 * time.Second)
		req, _ := http.NewRequestWithContext(t.Context(), "GET", "https://localhost/-/waits", nil)
		resp, err := client.Do(req)
		if err != nil {
			t.Fatalf("GET /-/waits: %v", err)
		}
		waits, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if n := strings.Count(string(waits), `"id":`); n != calls {
			t.Errorf("%d calls wait, want %d", n, calls)
		}
		for range calls {
			if got := <-answers; !strings.HasPrefix(got, "HTTP/2.0 ") || !strings.Contains(got, ": ") || !strings.Contains(got, "event: message_stop") {
				t.Fatalf("answer %.200q", got)
			}
		}
	})
}

func TestRun_RefusesPlainHTTPWithTLS(t *testing.T) {
	own, _ := certified(t)
	synctest.Test(t, func(t *testing.T) {
		s := run(t, server.Config{TLS: own, Gateway: &fake{}})
		resp, err := s.client.Get("http://localhost/-/livez")
		if err != nil {
			t.Fatalf("GET: %v", err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusBadRequest {
			t.Errorf("plain HTTP: %s, want 400", resp.Status)
		}
	})
}

func TestRun_WarnsOfUnencryptedClients(t *testing.T) {
	own, _ := certified(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		ip    string
		tls   *tls.Config
		warns bool
	}{{"10.0.0.1", nil, true}, {"0.0.0.0", nil, true}, {"10.0.0.1", own, false}, {"127.0.0.1", nil, false}, {"::1", nil, false}} {
		var log bytes.Buffer
		s := server.New(server.Config{Gateway: &fake{}, Token: "t", TLS: tt.tls, Log: slog.New(slog.NewTextHandler(&log, nil))})
		if err := s.Run(ctx, &nowhere{addr: &net.TCPAddr{IP: net.ParseIP(tt.ip)}, closed: make(chan struct{})}); err != nil {
			t.Errorf("Run on %s: %v", tt.ip, err)
		}
		if got := strings.Contains(log.String(), "clients send their token, prompts and keys unencrypted"); got != tt.warns {
			t.Errorf("%s with TLS %t: warns %t, want %t", tt.ip, tt.tls != nil, got, tt.warns)
		}
	}
}

// The AWS SDK for JavaScript speaks HTTP/2 from its first byte, without asking for it and without TLS.
func TestRun_HTTP2WithoutTLS(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newGatewayServer(t, simulator.Script{Outages: []simulator.Outage{{To: 50 * time.Second}}}, server.Config{})
		transport := &http.Transport{DialContext: r.pipe.DialContext, Protocols: &http.Protocols{}}
		transport.Protocols.SetUnencryptedHTTP2(true)
		defer transport.CloseIdleConnections()
		req, err := http.NewRequestWithContext(t.Context(), "POST", "http://localhost/v1/messages", strings.NewReader(streamed))
		if err != nil {
			t.Fatalf("new request: %v", err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := transport.RoundTrip(req)
		if err != nil {
			t.Fatalf("send it: %v", err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil || resp.Proto != "HTTP/2.0" || !strings.Contains(string(text), "event: ping") || !strings.Contains(string(text), "event: message_stop") {
			t.Errorf("%s %.300q, %v; want HTTP/2.0, pings and an answer", resp.Proto, text, err)
		}
	})
}
