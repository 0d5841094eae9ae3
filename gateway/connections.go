package gateway

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// connections are those to the servers of a Network. They have net/http send a request again when a pooled connection
// was closed before the first byte of an answer. By itself net/http does so only for methods that change nothing. A
// model's answer is asked for by POST, and an upstream that restarts would cost every caller a retry.
//
// Where a certificate is refused they read the system's authorities again: a process outlives a change of them, and
// package x509 reads them once.
type connections struct {
	network Network
	connect time.Duration // the bound on the time to establish one

	current atomic.Pointer[trusting]
	mu      sync.Mutex // one goroutine reads the authorities
}

// trusting are connections to the servers that some authorities have certified.
type trusting struct {
	*http.Transport
	roots *x509.CertPool // nil: those of the Network, as package x509 has read them first
}

// RoundTrip sends a request, and once more if its server is trusted only now: none of it has been sent before.
func (t *connections) RoundTrip(req *http.Request) (*http.Response, error) {
	used := t.current.Load()
	resp, err := used.RoundTrip(req)
	if _, refused := errors.AsType[*tls.CertificateVerificationError](err); !refused {
		return resp, err
	}
	now := t.renewed(used)
	if now == used || req.Body != nil && req.GetBody == nil {
		return nil, err
	}
	again := req.WithContext(req.Context())
	if req.GetBody != nil {
		body, wrong := req.GetBody()
		if wrong != nil {
			return nil, err
		}
		again.Body = body
	}
	return now.RoundTrip(again)
}

// renewed returns connections in place of those that have refused a certificate: the same if the authorities are.
func (t *connections) renewed(used *trusting) *trusting {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := t.current.Load(); now != used {
		return now
	}
	roots := systemRoots()
	if roots == nil {
		return used
	}
	if roots.AppendCertsFromPEM([]byte(t.network.CA)); roots.Equal(cmp.Or(used.roots, t.network.roots())) {
		return used
	}
	now := &trusting{t.network.standard(t.connect, roots), roots}
	t.current.Store(now)
	used.CloseIdleConnections()
	return now
}

// CloseIdleConnections closes those that no request uses.
func (t *connections) CloseIdleConnections() { t.current.Load().CloseIdleConnections() }

// systemRoots returns the system's authorities, read as package x509 does on Linux and the BSDs, or nil if no file has
// any: other systems are asked for each certificate.
func systemRoots() *x509.CertPool {
	if strings.Contains("darwin ios windows plan9", runtime.GOOS) {
		return nil
	}
	files, dirs := rootFiles[:], rootDirs[:]
	if f := os.Getenv("SSL_CERT_FILE"); f != "" {
		files = []string{f}
	}
	if d := os.Getenv("SSL_CERT_DIR"); d != "" {
		dirs = strings.Split(d, ":")
	}
	roots, found := x509.NewCertPool(), false
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil {
			found = roots.AppendCertsFromPEM(text)
			break
		}
	}
	for _, dir := range dirs {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if text, err := os.ReadFile(filepath.Join(dir, e.Name())); err == nil && roots.AppendCertsFromPEM(text) {
				found = true
			}
		}
	}
	if !found {
		return nil
	}
	return roots
}

// rootFiles, of which the first is read, and rootDirs are where package x509 looks.
var (
	rootFiles = [...]string{
		"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/pki/tls/cacert.pem",
		"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/usr/local/etc/ssl/cert.pem", "/etc/ssl/cert.pem",
		"/usr/local/share/certs/ca-root-nss.crt", "/etc/openssl/certs/ca-certificates.crt",
	}
	rootDirs = [...]string{"/etc/ssl/certs", "/etc/pki/tls/certs", "/usr/local/share/certs", "/etc/openssl/certs"}
)

// resendObserver learns of a request that is sent again within one try. The server may have received it twice.
type resendObserver interface{ Resent() }

type resendObserverKey struct{}

// withResendObserver returns a context whose requests report to an observer.
func withResendObserver(ctx context.Context, o resendObserver) context.Context {
	return context.WithValue(ctx, resendObserverKey{}, o)
}

// RoundTrip sends a request that has an observer, and once more on another connection where a pooled one turns out to
// be closed. Other requests are left to net/http's rule: one that was carried out twice may be billed twice.
func (t *trusting) RoundTrip(req *http.Request) (*http.Response, error) {
	o, _ := req.Context().Value(resendObserverKey{}).(resendObserver)
	body := req.GetBody
	if o == nil || body == nil {
		return t.Transport.RoundTrip(req)
	}
	out := req.WithContext(req.Context())
	out.Header = maps.Clone(req.Header)
	out.Header["X-Idempotency-Key"] = nil         // repeatable, says net/http's documentation; a name without a value is not sent
	out.GetBody = func() (io.ReadCloser, error) { // net/http needs it only for a body that it has begun to send
		o.Resent()
		return body()
	}
	return t.Transport.RoundTrip(out)
}
