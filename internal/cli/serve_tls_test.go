package cli_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// certify writes a certificate for example.com and its key, and returns a client that trusts it.
func certify(t *testing.T, dir string) *http.Client {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	s.Close()
	key, err := x509.MarshalPKCS8PrivateKey(s.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatalf("encode key: %v", err)
	}
	write(t, dir, "cert.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})))
	write(t, dir, "key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})))
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "example.com"}, ForceAttemptHTTP2: true}}
	t.Cleanup(client.CloseIdleConnections)
	return client
}

func TestServe_TLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	client := certify(t, dir)
	path := write(t, dir, "c.yaml", "listen: 127.0.0.1:0\ntls: {cert: cert.pem, key: key.pem}\n")
	gateway := start(t, "serve", "--config", path)
	base := gateway.waitForLog(t, "listening")["url"].(string)
	resp, err := client.Get(base + "/-/readyz")
	if err != nil || !strings.HasPrefix(base, "https://") {
		t.Fatalf("GET from %s: %v", base, err)
	}
	resp.Body.Close()
	if resp.StatusCode != 200 || resp.ProtoMajor != 2 {
		t.Errorf("%s over %s, want 200 over HTTP/2.0", resp.Status, resp.Proto)
	}
	code, out, _ := run(t, []string{"RIDETHROUGH_LISTEN=" + strings.TrimPrefix(base, "https://")}, "config", "check", path)
	if code != 0 {
		t.Errorf("config check: exit code %d, %s", code, out)
	}
	write(t, dir, "key.pem", "")
	if code, _, errs := run(t, nil, "config", "check", path); code != 78 || !strings.Contains(errs, "certificate "+dir+"/cert.pem: ") || !strings.Contains(errs, "c.yaml:2:6:") {
		t.Errorf("config check without a key: exit code %d, %s", code, errs)
	}
	if code := gateway.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
