package classify_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
)

// dial makes the error of a failed dial.
func dial(err error) error {
	return &url.Error{Op: "Post", URL: "https://api.example.com/v1", Err: &net.OpError{Op: "dial", Net: "tcp", Err: err}}
}

// splitPhrases makes the error of an operation on an open connection.
func splitPhrases(op string, err error) error { return &net.OpError{Op: op, Net: "tcp", Err: err} }

func errno(call string, n syscall.Errno) error { return os.NewSyscallError(call, n) }

func TestOf_GoErrorTypes(t *testing.T) {
	_, parse := url.Parse(strings.TrimSuffix("http://[::1]/v1", "]/v1")) // the linter would know a literal for wrong
	tests := []struct {
		err  error
		want fault.Kind
	}{
		{context.Canceled, fault.Canceled},
		{fmt.Errorf("asking: %w", context.Canceled), fault.Canceled},
		{context.DeadlineExceeded, fault.Timeout},
		{splitPhrases("read", os.ErrDeadlineExceeded), fault.Timeout},
		{dial(errno("connect", syscall.ECONNREFUSED)), fault.Unavailable},
		{dial(errno("connect", syscall.EHOSTUNREACH)), fault.Unavailable},
		{dial(errno("connect", syscall.ENETUNREACH)), fault.Unavailable},
		{dial(errno("connect", syscall.EMFILE)), fault.Unavailable},
		{dial(errno("connect", syscall.ETIMEDOUT)), fault.UpstreamTimeout},
		{dial(os.ErrDeadlineExceeded), fault.UpstreamTimeout},
		{dial(&net.DNSError{Err: "no such host", Name: "api.example.com", IsNotFound: true}), fault.Unavailable},
		{dial(&net.DNSError{Err: "server misbehaving", IsTemporary: true}), fault.Unavailable},
		{dial(&net.DNSError{Err: "i/o timeout", IsTimeout: true}), fault.UpstreamTimeout},
		{dial(&net.AddrError{Err: "invalid port", Addr: "50000000"}), fault.Invalid},
		{splitPhrases("read", errno("read", syscall.ECONNRESET)), fault.Unavailable},
		{splitPhrases("read", errno("read", syscall.ETIMEDOUT)), fault.UpstreamTimeout},
		{splitPhrases("write", errno("write", syscall.EPIPE)), fault.Unavailable},
		{splitPhrases("read", net.ErrClosed), fault.Unavailable},
		{splitPhrases("read", errors.New("wsarecv: odd")), fault.Unavailable},
		{splitPhrases("remote error", errors.New("tls: handshake failure")), fault.Invalid},
		{splitPhrases("remote error", errors.New("tls: internal error")), fault.Unavailable},
		{&url.Error{Op: "Post", Err: io.EOF}, fault.Unavailable},
		{io.ErrUnexpectedEOF, fault.Unavailable},
		{parse, fault.Invalid},
		{&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, fault.Invalid},
		{x509.UnknownAuthorityError{}, fault.Invalid},
		{x509.HostnameError{Certificate: &x509.Certificate{}, Host: "h"}, fault.Invalid},
		{tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}, fault.Invalid},
		{http.ErrSchemeMismatch, fault.Invalid},
		{&http.MaxBytesError{Limit: 1}, fault.TooLong},
		{bufio.ErrTooLong, fault.Invalid},
		{&json.SyntaxError{}, fault.Unknown},
		{errors.New("something else"), fault.Unknown},
	}
	for _, tt := range tests {
		f := classify.Of(tt.err, start)
		if f.Kind != tt.want || f.Status != 0 || !errors.Is(f, tt.err) {
			t.Errorf("Of(%v): kind %v, status %d by %s; want kind %v", tt.err, f.Kind, f.Status, f.Rule, tt.want)
		}
	}
}

func TestOf_ErrorTexts(t *testing.T) {
	tests := []struct {
		text string
		want fault.Kind
	}{
		{"stream error: stream ID 3; CANCEL; received from peer", fault.Unavailable},
		{"stream error: stream ID 3; REFUSED_STREAM; received from peer", fault.Unavailable},
		{"stream error: stream ID 9; ENHANCE_YOUR_CALM; received from peer", fault.RateLimited},
		{"stream error: stream ID 1; HTTP_1_1_REQUIRED; received from peer", fault.Invalid},
		{"http2: server sent GOAWAY and closed the connection; LastStreamID=1, ErrCode=NO_ERROR, debug=\"\"", fault.Unavailable},
		{"http2: client connection lost", fault.Unavailable},
		{"http2: timeout awaiting response headers", fault.Timeout},
		{"net/http: TLS handshake timeout", fault.UpstreamTimeout},
		{"http: server closed idle connection", fault.Unavailable},
		{"unsupported protocol scheme \"localhost\"", fault.Invalid},
		{"stopped after 10 redirects", fault.Invalid},
		{"Proxy Authentication Required", fault.Auth},
		{"Bad Gateway", fault.Unavailable},
		{"No connection could be made because the target machine actively refused it.", fault.Unavailable},
		{"TypeError: fetch failed | cause: Error: read ECONNRESET", fault.Unavailable},
		{"TimeoutError: The operation was aborted due to timeout", fault.Timeout},
		{"AbortError: This operation was aborted", fault.Canceled},
	}
	for _, tt := range tests {
		if f := classify.Of(errors.New(tt.text), start); f.Kind != tt.want {
			t.Errorf("Of(%s): kind %v by %s, want %v", tt.text, f.Kind, f.Rule, tt.want)
		}
	}
}

func TestOf_MessageOmitsURL(t *testing.T) {
	f := classify.Of(&url.Error{Op: "Post", URL: "https://h/?key=secret", Err: io.EOF}, start)
	if f.Message != "EOF" || f.Label() != "network" {
		t.Errorf("message %q, label %q; want EOF, network", f.Message, f.Label())
	}
}

// serve starts a server on the loopback and returns its address.
func serve(t *testing.T, start func(http.Handler) *httptest.Server, h http.HandlerFunc) string {
	t.Helper()
	s := start(h)
	s.Config.ErrorLog = nil
	t.Cleanup(s.Close)
	return s.URL
}

func TestOf_ErrorsOfHTTPClient(t *testing.T) {
	silent := make(chan struct{})
	defer close(silent)
	hang := func(http.ResponseWriter, *http.Request) { <-silent }
	hangUp := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	plain := serve(t, httptest.NewServer, hangUp)
	tests := []struct {
		name, url string
		client    *http.Client
		want      fault.Kind
	}{
		{"refused", "http://127.0.0.1:1", &http.Client{}, fault.Unavailable},
		{"hung up", plain, &http.Client{}, fault.Unavailable},
		{"https to a plain port", "https" + plain[len("http"):], &http.Client{}, fault.Invalid},
		{"unknown authority", serve(t, httptest.NewTLSServer, hang), &http.Client{}, fault.Invalid},
		{"no scheme", "localhost:1", &http.Client{}, fault.Invalid},
		{"bad address", "http://[::1/", &http.Client{}, fault.Invalid},
		{"client's limit", serve(t, httptest.NewServer, hang), &http.Client{Timeout: 20 * time.Millisecond}, fault.Timeout},
		{"limit on the header", serve(t, httptest.NewServer, hang), &http.Client{Transport: &http.Transport{ResponseHeaderTimeout: 20 * time.Millisecond}}, fault.Timeout},
		{"limit on the dial", "http://192.0.2.1:9", &http.Client{Transport: &http.Transport{DialContext: (&net.Dialer{Timeout: time.Nanosecond}).DialContext}}, fault.UpstreamTimeout},
	}
	for _, tt := range tests {
		_, err := tt.client.Get(tt.url)
		if f := classify.Of(err, start); f == nil || f.Kind != tt.want {
			t.Errorf("%s: %v: %v, want %v", tt.name, err, f, tt.want)
		}
	}
}

func TestOf_NetworkCodesAreTransient(t *testing.T) {
	for _, code := range []string{"ECONNREFUSED", "ENOTFOUND", "ETIMEDOUT", "ECONNRESET", "EHOSTUNREACH", "EAI_AGAIN"} {
		if f := classify.Of(errors.New("connect "+code), start); f.Class() != fault.ClassTransient {
			t.Errorf("Of(connect %s): class %s, kind %v by %s; want transient", code, f.Class(), f.Kind, f.Rule)
		}
	}
	if f := classify.Of(dial(errno("connect", syscall.ETIMEDOUT)), start); f.Class() != fault.ClassTransient {
		t.Errorf("dial with ETIMEDOUT: class %s, want transient", f.Class())
	}
}
