package gateway_test

import (
	"cmp"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
)

// A daemon outlives a change of the machine's authorities, which package x509 reads once.
func TestNetwork_AuthoritiesAreReadAgain(t *testing.T) {
	switch runtime.GOOS {
	case "darwin", "windows":
		t.Skip("the system is asked for each certificate")
	}
	provider := simulator.New(simulator.Script{})
	defer provider.Close()
	server := httptest.NewUnstartedServer(provider)
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // refused handshakes are intended
	server.StartTLS()
	defer server.Close()
	its := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	base, _ := url.Parse(server.URL)

	for _, tt := range []struct {
		name, file, certs string // what SSL_CERT_FILE and SSL_CERT_DIR name
		network           gateway.Network
	}{
		{"a file", "changes.pem", "", gateway.Network{}},
		{"a directory", "none.pem", "certs", gateway.Network{}},
		{"a file beside an authority of its own", "changes.pem", "", gateway.Network{CA: strange(t)}},
	} {
		dir := t.TempDir()
		changes := filepath.Join(dir, tt.certs, "changes.pem")
		if err := os.MkdirAll(filepath.Dir(changes), 0o700); err != nil {
			t.Fatalf("MkdirAll: %v", err)
		}
		t.Setenv("SSL_CERT_FILE", filepath.Join(dir, tt.file))
		t.Setenv("SSL_CERT_DIR", filepath.Join(dir, cmp.Or(tt.certs, "none")))
		at, asked := front(t, gateway.Upstream{Base: base, Network: tt.network}), len(provider.Requests())
		for i, step := range []struct {
			authorities string
			status      int
		}{{"", 503}, {strange(t), 503}, {strange(t) + its, 200}} {
			if err := os.WriteFile(changes, []byte(step.authorities), 0o600); err != nil {
				t.Fatalf("WriteFile: %v", err)
			}
			status, text, err := post(t, at, strings.Replace(claude, "Hi", fmt.Sprint("Hi ", i), 1))
			if status != step.status || err != nil || strings.Contains(text, "certificate") != (status == 503) {
				t.Errorf("%s, step %d: got %d %q, error %v; want %d", tt.name, i, status, text, err, step.status)
			}
		}
		if n := len(provider.Requests()) - asked; n != 1 {
			t.Errorf("%s: the provider was asked %d times, want once", tt.name, n)
		}
	}
}
