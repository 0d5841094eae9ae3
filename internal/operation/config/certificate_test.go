package config_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/internal/operation/config"
)

// newPair returns a certificate for a name and its key, in PEM.
func newPair(t *testing.T, name string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatalf("generate key: %v", err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{name}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatalf("create certificate: %v", err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatalf("encode key: %v", err)
	}
	block := func(kind string, b []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}))
	}
	return block("CERTIFICATE", der), block("PRIVATE KEY", encoded)
}

// parseIn parses a file in a directory.
func parseIn(t *testing.T, dir, text string) config.Config {
	t.Helper()
	c, err := config.Parse(filepath.Join(dir, "config.yaml"), []byte(text))
	if err != nil {
		t.Fatalf("Parse: got error %v, want none, of:\n%s", err, text)
	}
	return c
}

func TestTLS_FollowsReplacedCertificate(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) { // in one step, as another file
		if err := os.Rename(write(t, dir, "new", text), filepath.Join(dir, name)); err != nil {
			t.Fatalf("rename: %v", err)
		}
	}
	replace := func(cert, key string) {
		put("cert.pem", cert)
		put("key.pem", key)
	}
	oldCert, oldKey := newPair(t, "old.example")
	newCert, newKey := newPair(t, "the-new.example")
	replace(oldCert, oldKey)
	c := parseIn(t, dir, "tls: {cert: cert.pem, key: key.pem}\n")
	var failures []string
	made, err := c.TLS(func(string) string { return "" }, func(_ *tls.Certificate, err error) {
		if err != nil {
			failures = append(failures, err.Error())
		}
	})
	if err != nil || made.MinVersion != tls.VersionTLS12 {
		t.Fatalf("TLS: %v, %v", made, err)
	}
	check := func(when, want string) {
		t.Helper()
		pair, err := made.GetCertificate(nil)
		if err != nil || pair.Leaf.DNSNames[0] != want {
			t.Errorf("certificate %s: for %q, %v; want %q", when, pair.Leaf.DNSNames, err, want)
		}
	}
	check("at first", "old.example")
	put("cert.pem", newCert)
	check("without its key", "old.example")
	put("key.pem", newKey)
	check("after the change", "the-new.example")
	replace("", "")
	check("with empty files", "the-new.example")
	if len(failures) != 2 || !strings.Contains(failures[0], "private key does not match") || !strings.Contains(failures[0], "cert.pem") {
		t.Errorf("failures: %q", failures)
	}
}

func TestTLS_RefusesUnusableFiles(t *testing.T) {
	dir := t.TempDir()
	cert, key := newPair(t, "a.example")
	_, other := newPair(t, "b.example")
	write(t, dir, "cert.pem", cert)
	write(t, dir, "key.pem", key)
	write(t, dir, "other.pem", other)
	for _, tt := range []struct{ text, want string }{
		{"tls: {cert: none.pem, key: key.pem}", "none.pem: no such file"},
		{"tls: {cert: cert.pem, key: other.pem}", "private key does not match"},
		{"tls: {cert: key.pem, key: key.pem}", "certificate"},
	} {
		c := parseIn(t, dir, tt.text)
		made, err := c.TLS(func(string) string { return "" }, nil)
		if made != nil || err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "config.yaml:1:6: ") {
			t.Errorf("%s: %v, want %q", tt.text, err, tt.want)
		}
	}
	c := parseIn(t, dir, "")
	if made, err := c.TLS(nil, nil); made != nil || err != nil || c.HasTLS() {
		t.Errorf("without tls: %v, %v", made, err)
	}
}
