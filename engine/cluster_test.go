package engine_test

import (
	"context"
	"errors"
	"flag"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ridethrough/ridethrough/engine"
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
func dialed(t *testing.T, r engine.Remote) engine.Engine {
	t.Helper()
	e, err := engine.Dial(t.Context(), r)
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
			c(t, world{dialed(t, engine.Remote{URL: served(t), Lease: shortLease}), shortLease, shortTick})
		})
	})
}

// cluster is a number of nodes on loopback.
type cluster struct {
	configs []engine.Config
	nodes   []engine.Engine
}

const secret = "only-the-nodes-know"

// assemble starts a cluster until the test is over.
func assemble(t *testing.T, size int) *cluster {
	t.Helper()
	c := &cluster{configs: make([]engine.Config, size), nodes: make([]engine.Engine, size)}
	routes, clients := ports(t, size), ports(t, size)
	for i := range size {
		c.configs[i] = engine.Config{
			Dir: filepath.Join(t.TempDir(), "node"), Lease: shortLease,
			Cluster: &engine.Cluster{
				Name: "test", Node: string(rune('a' + i)), Listen: routes[i], Peers: routes, Clients: clients[i], Secret: secret,
			},
		}
	}
	var all sync.WaitGroup
	for i := range size {
		all.Go(func() { c.start(t, i) })
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return c
}

// start starts a node, again if need be.
func (c *cluster) start(t *testing.T, i int) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	e, err := engine.Open(ctx, c.configs[i])
	if err != nil {
		t.Error(err)
		return
	}
	c.nodes[i] = e
	t.Cleanup(func() { _ = e.Close(context.WithoutCancel(t.Context())) })
}

// url is where clients find a node.
func (c *cluster) url(i int) string {
	return "nats://ridethrough:" + secret + "@" + c.configs[i].Cluster.Clients
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
	nc, err := nats.Connect(c.url(0))
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
			e := dialed(t, engine.Remote{URL: c.url(1), Replicas: 3, Lease: shortLease})
			one(t, world{e, shortLease, shortTick})
		})
	})
}
