package config

import (
	"crypto/tls"
	"errors"
	"fmt"
	"strings"

	"github.com/ridethrough/ridethrough/internal/operation/access"
)

// secret is where a credential is stored; zero: nowhere.
type secret struct {
	_ struct{} `name:"secret" about:"Where a secret is stored. It is never in the configuration file itself." want:"{env: NAME} or {file: PATH}"`

	env  string `yaml:"env" as:"variable" doc:"The environment variable with the secret." without:"see file"`
	file string `yaml:"file" want:"a path" doc:"The file with the secret, relative to the configuration file. Surrounding space is ignored." without:"see env"`
}

// key is the credential of an upstream: a secret, or that none is sent.
type key struct {
	_ struct{} `want:"{env: NAME} or {file: PATH}, or none"`

	word   string `yaml:",text" as:"no-key"`
	secret `yaml:",inline"`
}

func (k key) none() bool { return k.word != "" }

// open returns a function that returns the current credential. path makes paths absolute.
func (s secret) open(path func(string) string, env func(string) string) (func() (string, error), error) {
	if s.file != "" {
		name := path(s.file)
		read := func(texts [][]byte) (string, error) {
			value, err := oneLine(string(texts[0]))
			if err != nil {
				err = fmt.Errorf("file %s %w", name, err)
			}
			return value, err
		}
		f, err := reload(read, func(string, error) {}, name)
		return func() (string, error) { return f.Get(), nil }, err
	}
	value, err := oneLine(env(s.env))
	if err != nil {
		err = fmt.Errorf("environment variable %s %w", s.env, err)
	}
	return func() (string, error) { return value, nil }, err
}

func oneLine(value string) (string, error) {
	value = strings.TrimSpace(value)
	switch {
	case value == "":
		return "", errors.New("is empty or not set")
	case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "", errors.New("has more than one line")
	}
	return value, nil
}

// keyPair is where a certificate and its key are stored; zero: nowhere.
type keyPair struct {
	_ struct{} `name:"tls" about:"The certificate of the gateway. A changed file is read at the next connection." want:"cert and key" missing:"tls needs the field FIELD with the path of a file"`

	cert string `yaml:"cert" want:"a path" doc:"The file with the certificate and those that it needs up to the authority's, in PEM, relative to the configuration file." required:"true"`
	key  string `yaml:"key" want:"a path" doc:"The file with its private key, in PEM." required:"true"`
}

// HasTLS reports whether the gateway serves with TLS.
func (c *Config) HasTLS() bool { return c.tls != keyPair{} }

// Unprotect removes what protects a gateway from others, its certificate and its tokens: for a gateway that only
// one program on this machine uses.
func (c *Config) Unprotect() { c.tls, c.token, c.tokens = keyPair{}, secret{}, "" }

// TLS returns the TLS configuration of the gateway, or nil. report gets each later certificate, or why the changed
// files contain no certificate: then the previous one stays.
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
	pair, err := reload(parse, report, path(c.tls.cert), path(c.tls.key))
	if err != nil {
		return nil, Errors{c.source.fault(c.at["tls"], "%v", err)}
	}
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return pair.Get(), nil },
	}, nil
}

// Tokens returns a function that returns the current tokens of the file; nil: there is no file. report gets the
// tokens of each changed file, or why it contains no tokens: then the previous ones stay.
func (c *Config) Tokens(env func(string) string, report func([]access.Token, error)) (func() []access.Token, error) {
	if c.tokens == "" {
		return nil, nil
	}
	name := c.path(env)(c.tokens)
	parse := func(texts [][]byte) ([]access.Token, error) {
		all, err := access.Parse(texts[0])
		if err != nil {
			err = fmt.Errorf("file %s, %w", name, err)
		}
		return all, err
	}
	file, err := reload(parse, report, name)
	if err != nil {
		return nil, Errors{c.source.fault(c.at["tokens"], "%v", err)}
	}
	return file.Get, nil
}
