package store_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"math/big"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ridethrough/ridethrough/store"
)

var long = flag.Bool("long", false, "also run what takes minutes")

// served starts a server that is none of ours, and gives its address.
func served(t *testing.T) string {
	t.Helper()
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), SyncAlways: true, NoSigs: true, NoLog: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server does not start")
	}
	return s.ClientURL()
}

// dialed uses servers until the test is over.
func dialed(t *testing.T, r store.Remote) store.Store {
	t.Helper()
	e, err := store.Dial(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close(context.WithoutCancel(t.Context())) })
	return e
}

func TestAStoreOnOthersServersConforms(t *testing.T) {
	t.Parallel()
	conform(t, func(t *testing.T, name string, c func(*testing.T, world)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c(t, world{dialed(t, store.Remote{URL: served(t), Lease: shortLease}), shortLease, shortTick})
		})
	})
}

func TestAServerThatIsTooOldIsRefused(t *testing.T) {
	for version, want := range map[string]error{
		"2.14.0": nil, "2.15.2": nil, "3.0.0-beta": nil, "2.14.0-RC.1": nil,
		"2.13.9": store.ErrVersion, "1.99.0": store.ErrVersion, "": store.ErrVersion, "new": store.ErrVersion,
	} {
		wantError(t, version, store.Recent(version), want)
	}
}

func TestWhereNobodyServesIsSaid(t *testing.T) {
	_, err := store.Dial(t.Context(), store.Remote{URL: "nats://" + ports(t, 1)[0]})
	wantError(t, "dial", err, store.ErrUnavailable)
}

// identity makes a certificate for loopback that is trusted.
func identity(t *testing.T) *tls.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AddCert(parsed)
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		RootCAs:      trusted, ClientCAs: trusted, MinVersion: tls.VersionTLS13,
	}
}

func TestNodesAndClientsTalkInPrivate(t *testing.T) {
	t.Parallel()
	configs, c := formation(t, 3), identity(t)
	for i := range configs {
		configs[i].Cluster.TLS = c
	}
	assembled := start(t, configs)
	w := world{Store: assembled.nodes[0]}
	at := add(t, w, "c1", store.Position{}, "a")
	w.Store = dialed(t, store.Remote{URL: "tls://" + nodeURL(configs[1])[len("nats://"):], TLS: c})
	add(t, w, "c1", at, "b")
	w.Store = assembled.nodes[2]
	wantLog(t, w, "c1", 0, append(numbered(1, "a"), numbered(2, "b")...)...)

	for _, r := range []store.Remote{
		{URL: nodeURL(configs[1])},                                             // trusts nobody
		{URL: "tls://" + configs[1].Cluster.Clients, TLS: c},                   // has no secret
		{URL: "tls://ridethrough:guess@" + configs[1].Cluster.Clients, TLS: c}, // has another
	} {
		if _, err := store.Dial(t.Context(), r); err == nil {
			t.Errorf("%s was let in", r.URL)
		}
	}
}

// cluster is a number of nodes on loopback.
type cluster struct {
	configs []store.Config
	nodes   []store.Store
}

const secret = "only-the-nodes-know"

// assemble starts a cluster until the test is over.
func assemble(t *testing.T, size int) *cluster {
	t.Helper()
	return start(t, formation(t, size))
}

// start starts the nodes of a cluster side by side: one alone waits for others.
func start(t *testing.T, configs []store.Config) *cluster {
	t.Helper()
	c := &cluster{configs: configs, nodes: make([]store.Store, len(configs))}
	var all sync.WaitGroup
	for i := range configs {
		all.Go(func() { c.start(t, i) })
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return c
}

// formation makes the configurations of a cluster.
func formation(t *testing.T, size int) []store.Config {
	t.Helper()
	all := make([]store.Config, size)
	routes, clients := ports(t, size), ports(t, size)
	for i := range all {
		all[i] = job{
			Dir: filepath.Join(t.TempDir(), "node"), Node: string(rune('a' + i)), Listen: routes[i], Clients: clients[i], Peers: routes,
		}.config()
	}
	return all
}

// start starts a node, again if need be.
func (c *cluster) start(t *testing.T, i int) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	e, err := store.Open(ctx, c.configs[i])
	if err != nil {
		t.Error(err)
		return
	}
	c.nodes[i] = e
	t.Cleanup(func() { _ = e.Close(context.WithoutCancel(t.Context())) })
}

// nodeURL is where clients find a node.
func nodeURL(c store.Config) string {
	return "nats://ridethrough:" + secret + "@" + c.Cluster.Clients
}

// ports gives addresses on loopback that were free a moment ago.
func ports(t *testing.T, n int) []string {
	t.Helper()
	all := make([]string, n)
	for i := range all {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		all[i] = l.Addr().String()
	}
	return all
}

// wipe takes all streams away, for the next case.
func (c *cluster) wipe(t *testing.T) {
	t.Helper()
	nc, err := nats.Connect(nodeURL(c.configs[0]))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"CONV", "TURNS", "FACTS"} {
		if err := js.DeleteStream(t.Context(), name); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
			t.Fatal(err)
		}
	}
}

// brief are the cases in which nodes could differ the most.
var brief = map[string]bool{
	"a deleted log is gone for good":                        true,
	"large records are kept whole":                          true,
	"writers that race leave every record once and no hole": true,
	"each ticket has one worker":                            true,
	"who listens hears what is published and appended":      true,
	"one of many becomes the owner":                         true,
}

// TestAClusterConforms runs all cases only where there is time: they have the
// cluster one after the other.
func TestAClusterConforms(t *testing.T) {
	t.Parallel()
	c := assemble(t, 3)
	conform(t, func(t *testing.T, name string, one func(*testing.T, world)) {
		t.Run(name, func(t *testing.T) {
			if !brief[name] && !*long {
				t.Skip("only with -long")
			}
			c.wipe(t)
			e := dialed(t, store.Remote{URL: nodeURL(c.configs[1]), Replicas: 3, Lease: shortLease})
			one(t, world{e, shortLease, shortTick})
		})
	})
}
