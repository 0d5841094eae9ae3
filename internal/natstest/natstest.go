// Package natstest runs NATS servers for the tests of what uses them as --nats does: one, or a cluster, whose
// servers may be in processes of their own. The product starts no server that listens.
package natstest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Patience is how long tests wait for what servers do by themselves. A cluster elects its leaders in seconds, and
// begins again when a server is late, as all are under the race detector on a busy machine.
const Patience = 3 * time.Minute

const loopback = "127.0.0.1"

// Options returns the options of a server with a JetStream that syncs every write, on a port that is free when it
// starts.
func Options(dir string) *server.Options {
	return &server.Options{
		Host: loopback, Port: server.RANDOM_PORT, JetStream: true, StoreDir: dir, SyncAlways: true, NoSigs: true, NoLog: true,
	}
}

// Start starts a server and returns it when it accepts connections.
func Start(o *server.Options) (*server.Server, error) {
	s, err := server.NewServer(o)
	if err != nil {
		return nil, fmt.Errorf("make a NATS server: %w", err)
	}
	s.Start()
	if !s.ReadyForConnections(Patience) {
		Stop(s)
		return nil, fmt.Errorf("the NATS server on port %d accepts no connections after %v", o.Port, Patience)
	}
	return s, nil
}

// Stop stops a server and returns when it has stopped.
func Stop(s *server.Server) {
	s.Shutdown()
	s.WaitForShutdown()
}

// Run runs a server until the test ends.
func Run(t testing.TB, o *server.Options) *server.Server {
	t.Helper()
	s, err := Start(o)
	if err != nil {
		t.Fatalf("run a NATS server: %v", err)
	}
	t.Cleanup(func() { Stop(s) })
	return s
}

// URL returns the URL of the server on a port.
func URL(port int) string { return "nats://" + net.JoinHostPort(loopback, strconv.Itoa(port)) }

// given has the ports that this process has got from Ports.
var given sync.Map

// Ports returns ports that nothing uses. No system gives them to a connection by itself, as it might those above:
// a server finds its port free when it starts, and when it comes back.
func Ports(t testing.TB, n int) (all []int) {
	t.Helper()
	for range 1000 {
		if len(all) == n {
			return all
		}
		port := 10_000 + rand.IntN(20_000)
		if _, taken := given.LoadOrStore(port, true); taken {
			continue
		}
		if l, err := net.Listen("tcp", net.JoinHostPort(loopback, strconv.Itoa(port))); err == nil {
			_ = l.Close()
			all = append(all, port)
		}
	}
	t.Fatalf("find %d free ports: got %v", n, all)
	return nil
}

// Node is a server of a cluster. Its JSON is what another process needs to be the node.
type Node struct {
	Name, Dir string
	Client    int   // the port for clients
	Route     int   // the port for the other nodes
	Routes    []int // those of all nodes
}

// Nodes returns the nodes of a new cluster, none of which runs.
func Nodes(t testing.TB, size int) []Node {
	t.Helper()
	ports, dir := Ports(t, 2*size), t.TempDir()
	all := make([]Node, size)
	for i := range all {
		name := fmt.Sprint("node-", i)
		all[i] = Node{Name: name, Dir: filepath.Join(dir, name), Client: ports[size+i], Route: ports[i], Routes: ports[:size]}
	}
	return all
}

// Options returns the options of the node's server.
func (n Node) Options() *server.Options {
	o := Options(n.Dir)
	o.ServerName, o.Port = n.Name, n.Client
	o.Cluster = server.ClusterOpts{Name: "team", Host: loopback, Port: n.Route}
	var routes []string
	for _, port := range n.Routes {
		routes = append(routes, URL(port))
	}
	o.Routes = server.RoutesFromStr(strings.Join(routes, ","))
	return o
}

// URLs returns the URL of a cluster: those of its nodes, with commas.
func URLs(nodes []Node) string {
	all := make([]string, len(nodes))
	for i, n := range nodes {
		all[i] = URL(n.Client)
	}
	return strings.Join(all, ",")
}

// oneCluster is held while a cluster runs in this process: elections of two on a busy machine disturb each other.
var oneCluster sync.Mutex

// Cluster runs a cluster until the test ends. It returns when a leader knows all nodes.
func Cluster(t testing.TB, size int) []Node {
	t.Helper()
	oneCluster.Lock()
	t.Cleanup(oneCluster.Unlock) // after the nodes have stopped
	nodes, servers := Nodes(t, size), make([]*server.Server, size)
	for i, n := range nodes {
		o := n.Options()
		o.SyncAlways = false // nothing kills them
		servers[i] = Run(t, o)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(Patience); !complete(servers); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("a cluster of %d servers has no leader that knows all of them after %v: %s", size, Patience, state(servers))
		}
	}
	return nodes
}

// complete reports whether one of the servers is the leader and knows all of them.
func complete(servers []*server.Server) bool {
	for _, s := range servers {
		if len(s.JetStreamClusterPeers()) == len(servers) { // only a leader knows any
			return true
		}
	}
	return false
}

// state describes what each server knows of the others.
func state(servers []*server.Server) string {
	var all []string
	for _, s := range servers {
		all = append(all, fmt.Sprintf("%s has %d routes, leader %t, peers %q", s.Name(), s.NumRoutes(), s.JetStreamIsLeader(), s.JetStreamClusterPeers()))
	}
	return strings.Join(all, "; ")
}
