//go:build unix

package conversation_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	natsgo "github.com/nats-io/nats.go"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/natstest"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/nats"
)

// How much a cluster goes through whose disks stall.
var (
	stalls       = flag.Int("stalls", 3, "stalls of a leader's disk, with -cluster: each takes up to 12 s")
	clusterTurns = flag.Int("turns", 900, "turns in the cluster whose disks stall")
)

// obey has a disk stall and resume as the input says, until it ends.
func obey(input io.Reader, disk *disk) {
	for lines := bufio.NewScanner(input); lines.Scan(); {
		switch lines.Text() {
		case "stall":
			disk.stall()
		case "resume":
			disk.resume()
		}
	}
}

// A server whose disk stalls for longer than an election takes answers as the leader that it was, beside the new one:
// without the latest records, and refusing what the new one accepts. All the same every turn is sealed once, no
// record is there twice, and no input stays without its turn.
func TestRunner_SurvivesStalledLeaders(t *testing.T) {
	if !*cluster || raced() || runtime.GOOS != "linux" {
		t.Skip("it takes two minutes: -args -cluster, on Linux, without the race detector")
	}
	nodes := natstest.Nodes(t, 3)
	url := natstest.URLs(nodes)
	var alive []*process
	for i := range nodes {
		alive = append(alive, launch(t, storeConfig{Node: nodes[i], URL: url, Stalls: true}))
	}
	for _, p := range alive {
		p.expect(t, "ready")
	}
	e, err := nats.Dial(t.Context(), remote(url))
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	t.Cleanup(func() { shut(t, e) })
	var stalled sync.WaitGroup
	all := &crowd{desk: conversation.New(conversation.Config{Store: e}), accepted: map[string][]string{}}
	stalled.Go(func() {
		stallLeaders(t, url, nodes, alive, func(i int) bool { return all.turns.Load() >= int64(i**clusterTurns / *stalls) })
	})
	began := time.Now()
	all.submit(t, *clusterTurns)
	t.Logf("accepted after %v", time.Since(began).Round(time.Second))
	stalled.Wait()
	t.Logf("stalls over after %v", time.Since(began).Round(time.Second))
	for idle := 0; idle < 10 && pause(t.Context(), 200*time.Millisecond) == nil; idle++ {
		if h, err := e.Health(t.Context()); err != nil || h.Scheduled+h.Due+h.Leased > 0 {
			idle = -1
		}
	}
	t.Logf("nothing left to do after %v", time.Since(began).Round(time.Second))
	wantEverything(t, review(t, e, all.accepted))
	for _, p := range alive {
		p.end(t)
	}
}

// stallLeaders has the disks of leaders stall, one after the other, each when it is due.
func stallLeaders(t *testing.T, url string, nodes []natstest.Node, alive []*process, due func(i int) bool) {
	nc, err := natsgo.Connect(url, natsgo.MaxReconnects(-1))
	if err != nil {
		t.Errorf("connect: %v", err)
		return
	}
	defer nc.Close()
	for done := 0; done < *stalls && pause(t.Context(), time.Duration(2000+rand.IntN(4000))*time.Millisecond) == nil; {
		if !due(done) {
			continue
		}
		stream := []string{"CONVERSATIONS", "CONVERSATIONS", "TURNS"}[rand.IntN(3)]
		i := slices.IndexFunc(nodes, func(node natstest.Node) bool { return node.Name == leaderOf(nc, stream) })
		if i < 0 {
			continue // it has no leader so far
		}
		took := time.Duration(8000+rand.IntN(4000)) * time.Millisecond
		t.Logf("the disk of %s stalls for %v, the leader of %s", nodes[i].Name, took, stream)
		fmt.Fprintln(alive[i].input, "stall")
		_ = pause(t.Context(), took)
		fmt.Fprintln(alive[i].input, "resume")
		done++
	}
}

// leaderOf returns the name of the leader of a stream; "": no leader answers.
func leaderOf(nc *natsgo.Conn, stream string) string {
	var info struct{ Cluster struct{ Leader string } }
	m, err := nc.Request("$JS.API.STREAM.INFO."+stream, nil, time.Second)
	if err != nil || json.Unmarshal(m.Data, &info) != nil {
		return ""
	}
	return info.Cluster.Leader
}

// crowd submits turns, each until it is accepted, and no faster than they are done: what waits is bounded, and the stalls
// come while there is work. Each of its users has one conversation after the other, since the tools read all of theirs.
type crowd struct {
	desk  *conversation.Runner
	turns atomic.Int64 // that were accepted

	mu       sync.Mutex
	accepted map[string][]string
}

const (
	usersAtOnce = 90
	talkTurns   = 20 // of a conversation
	talkAhead   = 3  // inputs that wait in a conversation when the next one is sent
)

// errAhead: enough inputs wait.
var errAhead = fmt.Errorf("%w: enough inputs wait", store.ErrUnavailable)

func (c *crowd) submit(t *testing.T, turns int) {
	var all sync.WaitGroup
	talks := make(chan int)
	for range usersAtOnce {
		all.Go(func() {
			for first := range talks {
				c.talk(t, fmt.Sprint("talk-", first/talkTurns), min(talkTurns, turns-first))
			}
		})
	}
	for first := 0; first < turns; first += talkTurns {
		talks <- first
	}
	close(talks)
	all.Wait()
}

// talk submits the turns of a conversation.
func (c *crowd) talk(t *testing.T, id string, turns int) {
	until(t, func(ctx context.Context) error {
		_, err := c.desk.Create(ctx, id, conversation.Settings{Title: id})
		if errors.Is(err, conversation.ErrExists) {
			return nil
		}
		return err
	})
	for i := range turns {
		turn := fmt.Sprint("turn-", i)
		until(t, func(ctx context.Context) error {
			if v, err := c.desk.Get(ctx, id); err != nil || len(v.Inputs) > talkAhead {
				return cmp.Or(err, errAhead)
			}
			_, err := c.desk.Submit(ctx, id, turn, fmt.Sprint("go on ", i))
			return err
		})
		c.mu.Lock()
		c.accepted[id] = append(c.accepted[id], turn)
		c.mu.Unlock()
		c.turns.Add(1)
	}
}

// until tries something until it succeeds.
func until(t *testing.T, do func(context.Context) error) {
	for pause(t.Context(), 0) == nil {
		err := do(t.Context())
		if err == nil {
			return
		}
		if !errors.Is(err, store.ErrUnavailable) {
			t.Logf("tried again after %v", err)
		}
		_ = pause(t.Context(), 500*time.Millisecond)
	}
}
