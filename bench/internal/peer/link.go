package peer

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// Link is how proxies speak to the upstream.
type Link string

// What a link can be.
const (
	Plain Link = "plain" // HTTP/1.1 without TLS
	TLS   Link = "tls"   // HTTP/1.1 over TLS
	H2    Link = "h2"    // HTTP/2 over TLS, as with almost every provider
)

// Scheme is that of the upstream's URL.
func (l Link) Scheme() string {
	if l == Plain {
		return "http"
	}
	return "https"
}

// ServeOver serves until the listener is closed, over TLS with the certificate in folder if the link is not
// plain.
func (u *Upstream) ServeOver(link Link, l net.Listener, folder string) error {
	if link == Plain {
		return u.Serve(l)
	}
	c, err := certificate(folder)
	if err != nil {
		return err
	}
	config := &tls.Config{Certificates: []tls.Certificate{c}, MinVersion: tls.VersionTLS13}
	switch link {
	case TLS:
		config.NextProtos = []string{"http/1.1"}
		return u.Serve(tls.NewListener(l, config))
	case H2:
		s := &http.Server{Handler: http.HandlerFunc(u.serveH2), TLSConfig: config, ReadHeaderTimeout: 30 * time.Second}
		return s.ServeTLS(l, "", "")
	}
	return fmt.Errorf("%q is no link", link)
}

// The files of the upstream's certificate in the folder of a run. It is self-signed, so that the first is also the
// file of authorities for the proxies.
const (
	CertificateFile = "upstream.pem"
	keyFile         = "upstream-key.pem"
)

// WriteCertificate creates a certificate for the loopback address on P-256, the curve of providers' certificates.
func WriteCertificate(folder string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	now := time.Now()
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "upstream of the benchmark"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"},
		BasicConstraintsValid: true, IsCA: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	signed, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		return err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	write := func(name, kind string, der []byte) error {
		return os.WriteFile(filepath.Join(folder, name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
	}
	return errors.Join(write(CertificateFile, "CERTIFICATE", signed), write(keyFile, "PRIVATE KEY", secret))
}

func certificate(folder string) (tls.Certificate, error) {
	return tls.LoadX509KeyPair(filepath.Join(folder, CertificateFile), filepath.Join(folder, keyFile))
}
