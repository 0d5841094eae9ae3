package store_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/store"
)

// ledger is what processes said before they were killed.
type ledger struct {
	mu       sync.Mutex
	accepted map[string]time.Time // by turn: when it may be sealed
	written  map[string]int64     // by diary: the last day
	odd      []string
}

func newLedger() *ledger {
	return &ledger{accepted: map[string]time.Time{}, written: map[string]int64{}}
}

// enter takes in a line.
func (l *ledger) enter(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var id string
	var n int64
	switch what, rest, _ := strings.Cut(line, " "); what {
	case "accepted":
		_, _ = fmt.Sscan(rest, &id, &n)
		l.accepted[id] = time.Unix(0, n)
	case "wrote":
		_, _ = fmt.Sscan(rest, &id, &n)
		l.written[id] = n
	case "broken", "early", "panic:":
		l.odd = append(l.odd, line)
	}
}

// victim is a process with a job.
type victim struct {
	cmd     *exec.Cmd
	started chan struct{} // closed when it has opened its store
	ended   chan struct{}
}

// hire starts a process with a job.
func (l *ledger) hire(t *testing.T, j job) *victim {
	t.Helper()
	encoded, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	v := &victim{cmd: exec.Command(os.Args[0]), started: make(chan struct{}), ended: make(chan struct{})}
	v.cmd.Env = append(os.Environ(), jobVariable+"="+string(encoded))
	out, err := v.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	v.cmd.Stderr = v.cmd.Stdout
	if err := v.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go l.listen(v, bufio.NewReader(out))
	return v
}

// listen takes in what a process says. A line that it did not finish is none.
func (l *ledger) listen(v *victim, out *bufio.Reader) {
	defer close(v.ended)
	for {
		line, err := out.ReadString('\n')
		if err != nil {
			return
		}
		if line == "started\n" {
			close(v.started)
		}
		l.enter(strings.TrimSpace(line))
	}
}

// kill lets a process work for a while and kills it.
func (v *victim) kill(t *testing.T, after time.Duration) {
	t.Helper()
	select {
	case <-v.started:
	case <-v.ended:
	case <-time.After(time.Minute):
		t.Error("it does not start")
	}
	select {
	case <-v.ended:
	case <-time.After(after):
	}
	_ = v.cmd.Process.Kill()
	<-v.ended
	_ = v.cmd.Wait()
}

// settle has the rest of the work done, and wants every turn that was accepted
// to be sealed once, not before its time, and every diary to be whole.
func (l *ledger) settle(t *testing.T, e store.Store) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	var said bytes.Buffer
	worker := &labourer{Store: e, out: &said}
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() { worker.work(ctx) })
	}
	for turn, at := range l.accepted {
		l.sealed(t, ctx, e, turn, at)
	}
	cancel()
	workers.Wait()
	for diary, days := range l.written {
		l.whole(t, e, diary, days)
	}
	if h, err := e.Health(t.Context()); err != nil || strings.Contains(strings.Join(h.Trouble, " "), "acknowledged") {
		t.Error(h.Trouble, err)
	}
	if len(l.odd) > 0 || strings.Contains(said.String(), "early") {
		t.Error(l.odd, said.String())
	}
	if len(l.accepted) == 0 || len(l.written) == 0 {
		t.Error("nothing was done")
	}
}

// sealed waits until a turn is sealed and looks at its log.
func (l *ledger) sealed(t *testing.T, ctx context.Context, e store.Store, turn string, at time.Time) {
	t.Helper()
	heard, err := e.Subscribe(ctx, turn)
	if err != nil {
		t.Fatal(err)
	}
	for {
		log, _, err := store.Load(ctx, e, turn, 0)
		if err != nil {
			t.Fatalf("%s, which was accepted: %v, %v", turn, log, err)
		}
		if len(log) > 2 || len(log) == 2 && (log[0].Type != "parked" || log[1].Type != "sealed" || log[1].Time.Before(at)) {
			t.Errorf("%s, until %v: %v", turn, at, log)
		}
		if len(log) >= 2 {
			return
		}
		<-heard
	}
}

// whole wants a diary to have every day that was written, and no other.
func (l *ledger) whole(t *testing.T, e store.Store, diary string, days int64) {
	t.Helper()
	log, end, err := store.Load(t.Context(), e, diary, 0)
	if err != nil || end.N < days {
		t.Errorf("%s: %d days were written, %d are there: %v", diary, days, end.N, err)
	}
	for _, r := range log {
		if string(r.Body) != string(records(day(r.N))[0].Body) {
			t.Errorf("%s: day %d: %.100s", diary, r.N, r.Body)
		}
	}
}

func TestNothingThatWasAcknowledgedIsLostWhenAProcessIsKilled(t *testing.T) {
	t.Parallel()
	rounds := 5
	if *long {
		rounds = 60
	}
	l, c := newLedger(), store.Config{Dir: t.TempDir(), Lease: shortLease}
	for range rounds {
		v := l.hire(t, jobFor(c, "p", 60))
		v.kill(t, time.Duration(100+rand.IntN(700))*time.Millisecond)
	}
	l.settle(t, alone(t, c))
	t.Logf("%d turns, diaries of %v days", len(l.accepted), l.written)
}

func TestASecondProcessIsToldWhoHasTheStore(t *testing.T) {
	t.Parallel()
	l, c := newLedger(), store.Config{Dir: t.TempDir()}
	v := l.hire(t, jobFor(c, "p", 0))
	<-v.started
	_, err := store.Open(t.Context(), c)
	wantError(t, "open", err, store.ErrInUse)
	if err == nil || !strings.Contains(err.Error(), fmt.Sprint("process ", v.cmd.Process.Pid)) {
		t.Error(err)
	}
	v.kill(t, 0)
	alone(t, c)
}

// TestNothingIsLostWhenNodesAreKilled kills one of three nodes at a time.
func TestNothingIsLostWhenNodesAreKilled(t *testing.T) {
	if !*long {
		t.Skip("only with -long")
	}
	l, configs := newLedger(), formation(t, 3)
	var mu sync.Mutex
	nodes := make([]*victim, len(configs))
	hire := func(i int) {
		mu.Lock()
		defer mu.Unlock()
		nodes[i] = l.hire(t, jobFor(configs[i], configs[i].Cluster.Node, 100))
	}
	for i := range nodes {
		hire(i)
	}
	for range 15 {
		i := rand.IntN(len(nodes))
		nodes[i].kill(t, time.Duration(1000+rand.IntN(5000))*time.Millisecond)
		hire(i)
	}
	e := dialed(t, store.Remote{URL: nodeURL(configs[0]) + "," + nodeURL(configs[1]), Lease: shortLease})
	for i := range nodes {
		<-nodes[i].started
	}
	l.settle(t, e)
	for _, v := range nodes {
		v.kill(t, 0)
	}
	t.Logf("%d turns, diaries of %v days", len(l.accepted), l.written)
}
