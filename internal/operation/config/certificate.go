package config

import (
	"crypto/tls"
	"fmt"

	"github.com/ridethrough/ridethrough/internal/operation/reload"
)

// keyPair is where a certificate and its key are stored; zero: nowhere.
type keyPair struct{ cert, key string }

// keyPairs is the codec of a key pair.
func keyPairs() codec[keyPair] {
	return object(
		&schema{name: "tls", about: "The certificate of the gateway. A changed file is read at the next connection.", expected: "cert and key", Type: "object", Required: []string{"cert", "key"}},
		func(r *reader, n *node, _ *keyPair) {
			for _, name := range []string{"cert", "key"} {
				if n.field(name) == nil {
					r.fail(n, "tls needs the field %s with the path of a file", name)
				}
			}
		},
		newField("cert", anyName("a path"), func(p *keyPair) *string { return &p.cert }, fieldDoc{"The file with the certificate and those that it needs up to the authority's, in PEM, relative to the configuration file.", "", "required"}),
		newField("key", anyName("a path"), func(p *keyPair) *string { return &p.key }, fieldDoc{"The file with its private key, in PEM.", "", "required"}),
	)
}

// HasTLS reports whether the gateway serves with TLS.
func (c *Config) HasTLS() bool { return c.tls != keyPair{} }

// Unprotect takes out what a gateway needs that others can reach, its certificate and its tokens: for one that only
// a program on this machine uses.
func (c *Config) Unprotect() { c.tls, c.token, c.tokens = keyPair{}, secret{}, "" }

// TLS returns how the gateway serves with TLS; nil: without. report gets each later certificate, or why the
// changed files have none: then the previous one stays.
func (c *Config) TLS(env func(string) string, report func(*tls.Certificate, error)) (*tls.Config, error) {
	if !c.HasTLS() {
		return nil, nil
	}
	path := c.path(env)
	parse := func(texts [][]byte) (*tls.Certificate, error) {
		pair, err := tls.X509KeyPair(texts[0], texts[1])
		if err != nil {
			return nil, fmt.Errorf("certificate %s: %w", path(c.tls.cert), err)
		}
		return &pair, nil
	}
	pair, err := reload.New(parse, report, path(c.tls.cert), path(c.tls.key))
	if err != nil {
		return nil, Errors{c.source.fault(c.at["tls"], "%v", err)}
	}
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return pair.Get(), nil },
	}, nil
}
