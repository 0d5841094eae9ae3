package jetstream_test

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
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/jetstream"
	"github.com/ridethrough/ridethrough/store/storetest"
)

// startNATS starts a plain NATS server and returns its URL.
func startNATS(t *testing.T) string {
	t.Helper()
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), SyncAlways: true, NoSigs: true, NoLog: true,
	})
	if err != nil {
		t.Fatalf("make a NATS server: %v", err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(patience) {
		t.Fatalf("the NATS server is not ready after %v", patience)
	}
	return s.ClientURL()
}

// dial uses servers until the test ends.
func dial(t *testing.T, r jetstream.Remote) store.Store {
	t.Helper()
	s, err := jetstream.Dial(t.Context(), r)
	if err != nil {
		t.Fatalf("dial %s: %v", r.URL, err)
	}
	t.Cleanup(func() { _ = s.Close(context.WithoutCancel(t.Context())) })
	return s
}

func TestDial_Conforms(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Subject {
		return subject(dial(t, jetstream.Remote{URL: startNATS(t), Lease: shortLease}))
	})
}

func TestDial_OldServerIsRefused(t *testing.T) {
	for version, want := range map[string]error{
		"2.14.0": nil, "2.15.2": nil, "3.0.0-beta": nil, "2.14.0-RC.1": nil,
		"2.13.9": jetstream.ErrVersion, "1.99.0": jetstream.ErrVersion, "": jetstream.ErrVersion, "new": jetstream.ErrVersion,
	} {
		storetest.WantError(t, "version "+version, jetstream.CheckVersion(version), want)
	}
}

func TestDial_NoServerIsUnavailable(t *testing.T) {
	_, err := jetstream.Dial(t.Context(), jetstream.Remote{URL: "nats://" + freeAddresses(t, 1)[0]})
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
		_, err := jetstream.Dial(t.Context(), jetstream.Remote{URL: url})
		storetest.WantError(t, "dial with format "+format, err, jetstream.ErrFormat)
		if _, err := streams.Stream(t.Context(), "CONVERSATIONS"); !errors.Is(err, natsjs.ErrStreamNotFound) {
			t.Errorf("the stream CONVERSATIONS: got error %v, want none to be created", err)
		}
	}
}

// connect returns the JetStream of servers until the test ends.
func connect(t *testing.T, url string) natsjs.JetStream {
	t.Helper()
	nc, err := nats.Connect(url)
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

func TestCluster_TLSAndSecretAreRequired(t *testing.T) {
	t.Parallel()
	configs, c := clusterConfigs(t, 3), loopbackTLS(t)
	for i := range configs {
		configs[i].Cluster.TLS = c
	}
	nodes := startCluster(t, configs)
	at := storetest.Append(t, nodes[0], "c1", store.Position{}, "a")
	client := dial(t, jetstream.Remote{URL: "tls://" + clientURL(configs[1])[len("nats://"):], TLS: c})
	storetest.Append(t, client, "c1", at, "b")
	storetest.WantLog(t, nodes[2], "c1", 0, append(storetest.Numbered(1, "a"), storetest.Numbered(2, "b")...)...)

	for name, r := range map[string]jetstream.Remote{
		"no trusted certificate": {URL: clientURL(configs[1])},
		"no secret":              {URL: "tls://" + configs[1].Cluster.Clients, TLS: c},
		"a wrong secret":         {URL: "tls://ridethrough:guess@" + configs[1].Cluster.Clients, TLS: c},
	} {
		if _, err := jetstream.Dial(t.Context(), r); err == nil {
			t.Errorf("dial with %s: got no error", name)
		}
	}
}

const secret = "only-the-nodes-know"

// oneCluster is held while a cluster runs: elections of two on a busy machine disturb each other.
var oneCluster sync.Mutex

// startCluster starts the nodes of a cluster until the test ends, concurrently: a
// single one waits for others.
func startCluster(t *testing.T, configs []jetstream.Config) []store.Store {
	t.Helper()
	oneCluster.Lock()
	t.Cleanup(oneCluster.Unlock) // after the nodes are closed
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	nodes := make([]store.Store, len(configs))
	var all sync.WaitGroup
	for i := range configs {
		all.Go(func() {
			s, err := jetstream.Open(ctx, configs[i])
			if err != nil {
				t.Errorf("open node %d: %v", i, err)
				return
			}
			nodes[i] = s
			t.Cleanup(func() { _ = s.Close(context.WithoutCancel(t.Context())) })
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return nodes
}

// clusterConfigs returns the configurations of the nodes of a cluster.
func clusterConfigs(t *testing.T, size int) []jetstream.Config {
	t.Helper()
	all := make([]jetstream.Config, size)
	routes, clients := freeAddresses(t, size), freeAddresses(t, size)
	for i := range all {
		all[i] = task{
			Dir: filepath.Join(t.TempDir(), "node"), Node: string(rune('a' + i)), Listen: routes[i], Clients: clients[i], Peers: routes,
		}.config()
	}
	return all
}

// clientURL is the URL of a node for clients.
func clientURL(c jetstream.Config) string {
	return "nats://ridethrough:" + secret + "@" + c.Cluster.Clients
}

// freeAddresses returns addresses on loopback that were free a moment ago.
func freeAddresses(t *testing.T, n int) []string {
	t.Helper()
	all := make([]string, n)
	for i := range all {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatalf("find a free port: %v", err)
		}
		defer func() { _ = l.Close() }()
		all[i] = l.Addr().String()
	}
	return all
}

// clusterCases are the cases in which nodes could differ most.
var clusterCases = map[string]bool{
	"a deleted log stays deleted":                     true,
	"large records are stored whole":                  true,
	"concurrent appends leave all records and no gap": true,
	"each job has one worker":                         true,
	"subscribers receive publications and appends":    true,
	"one of many creates an entry":                    true,
}

// TestCluster_Conforms runs the other cases only with -long: they use the cluster
// one after the other.
func TestCluster_Conforms(t *testing.T) {
	t.Parallel()
	configs, known := clusterConfigs(t, 3), map[string]bool{}
	startCluster(t, configs)
	streams := connect(t, clientURL(configs[0]))
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
			c.Test(t, subject(dial(t, jetstream.Remote{URL: clientURL(configs[1]), Replicas: 3, Lease: shortLease})))
		})
	}
	for name := range clusterCases {
		if !known[name] {
			t.Errorf("the suite has no case %q", name)
		}
	}
}
