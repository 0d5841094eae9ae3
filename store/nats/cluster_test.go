package nats_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"net"
	"testing"
	"time"

	natsgo "github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/ridethrough/ridethrough/internal/natstest"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/nats"
	"github.com/ridethrough/ridethrough/store/storetest"
)

// startNATS runs a NATS server until the test ends, and returns its URL.
func startNATS(t *testing.T) string {
	t.Helper()
	return natstest.Run(t, natstest.Options(t.TempDir())).ClientURL()
}

// dial uses servers until the test ends.
func dial(t *testing.T, r nats.Remote) store.Store {
	t.Helper()
	s, err := nats.Dial(t.Context(), r)
	if err != nil {
		t.Fatalf("dial %s: %v", r.URL, err)
	}
	t.Cleanup(func() { _ = s.Close(context.WithoutCancel(t.Context())) })
	return s
}

func TestDial_Conforms(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Subject {
		return subject(dial(t, nats.Remote{URL: startNATS(t), Lease: shortLease}))
	})
}

func TestDial_OldServerIsRefused(t *testing.T) {
	for version, want := range map[string]error{
		"2.14.0": nil, "2.15.2": nil, "3.0.0-beta": nil, "2.14.0-RC.1": nil,
		"2.13.9": nats.ErrVersion, "1.99.0": nats.ErrVersion, "": nats.ErrVersion, "new": nats.ErrVersion,
	} {
		storetest.WantError(t, "version "+version, nats.CheckVersion(version), want)
	}
}

func TestDial_NoServerIsUnavailable(t *testing.T) {
	_, err := nats.Dial(t.Context(), nats.Remote{URL: natstest.URL(natstest.Ports(t, 1)[0])})
	storetest.WantError(t, "dial", err, store.ErrUnavailable)
}

// A stream of another program, or of another version, stays as it is.
func TestDial_StreamOfAnotherFormatIsRefused(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"", "1", "3"} {
		url := startNATS(t)
		other := natsjs.StreamConfig{Name: "TURNS", Subjects: []string{"other"}, Metadata: map[string]string{"ridethrough-format": format}}
		streams := connect(t, url)
		if _, err := streams.CreateStream(t.Context(), other); err != nil {
			t.Fatalf("create a stream: %v", err)
		}
		_, err := nats.Dial(t.Context(), nats.Remote{URL: url})
		storetest.WantError(t, "dial with format "+format, err, nats.ErrFormat)
		if _, err := streams.Stream(t.Context(), "CONVERSATIONS"); !errors.Is(err, natsjs.ErrStreamNotFound) {
			t.Errorf("the stream CONVERSATIONS: got error %v, want none to be created", err)
		}
	}
}

// connect returns the JetStream of servers until the test ends.
func connect(t *testing.T, url string) natsjs.JetStream {
	t.Helper()
	nc, err := natsgo.Connect(url)
	if err != nil {
		t.Fatalf("connect with %s: %v", url, err)
	}
	t.Cleanup(nc.Close)
	js, err := natsjs.New(nc)
	if err != nil {
		t.Fatalf("use the JetStream of %s: %v", url, err)
	}
	return js
}

// loopbackTLS returns a trusted certificate for loopback.
func loopbackTLS(t *testing.T) *tls.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatalf("generate a key: %v", err)
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, key.Public(), key)
	if err != nil {
		t.Fatalf("create a certificate: %v", err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatalf("parse the certificate: %v", err)
	}
	trusted := x509.NewCertPool()
	trusted.AddCert(parsed)
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		RootCAs:      trusted, ClientCAs: trusted, MinVersion: tls.VersionTLS13,
	}
}

func TestDial_TLSAndSecretAreRequired(t *testing.T) {
	t.Parallel()
	c, o := loopbackTLS(t), natstest.Options(t.TempDir())
	o.TLS, o.TLSConfig, o.Username, o.Password = true, c, "ridethrough", "secret"
	address := natstest.Run(t, o).Addr().String()
	s := dial(t, nats.Remote{URL: "tls://ridethrough:secret@" + address, TLS: c})
	storetest.Append(t, s, "c1", store.Position{}, "a")
	for name, r := range map[string]nats.Remote{
		"no trusted certificate": {URL: "nats://ridethrough:secret@" + address},
		"no secret":              {URL: "tls://" + address, TLS: c},
		"a wrong secret":         {URL: "tls://ridethrough:guess@" + address, TLS: c},
	} {
		if _, err := nats.Dial(t.Context(), r); err == nil {
			t.Errorf("dial with %s: got no error", name)
		}
	}
}

// clusterCases are the cases in which nodes could differ most.
var clusterCases = map[string]bool{
	"a deleted log stays deleted":                                 true,
	"a deleted log takes no append again":                         true,
	"a repeated append is stored once":                            true,
	"an append whose caller has left is repeated and stored once": true,
	"large records are stored whole":                              true,
	"concurrent appends leave all records and no gap":             true,
	"each job has one worker":                                     true,
	"subscribers receive publications and appends":                true,
	"one of many creates an entry":                                true,
}

// TestDial_ClusterConforms runs the other cases only with -long: they use the cluster
// one after the other.
func TestDial_ClusterConforms(t *testing.T) {
	t.Parallel()
	nodes, known := natstest.Cluster(t, 3), map[string]bool{}
	streams := connect(t, natstest.URL(nodes[0].Client))
	for _, c := range storetest.Cases() {
		known[c.Name] = true
		t.Run(c.Name, func(t *testing.T) {
			if !clusterCases[c.Name] && !*long {
				t.Skip("only with -long")
			}
			for _, name := range []string{"CONVERSATIONS", "TURNS", "ENTRIES"} {
				if err := streams.DeleteStream(t.Context(), name); err != nil && !errors.Is(err, natsjs.ErrStreamNotFound) {
					t.Fatalf("delete stream %s: %v", name, err)
				}
			}
			c.Test(t, subject(dial(t, nats.Remote{URL: natstest.URL(nodes[1].Client), Replicas: 3, Lease: shortLease})))
		})
	}
	for name := range clusterCases {
		if !known[name] {
			t.Errorf("the suite has no case %q", name)
		}
	}
}
