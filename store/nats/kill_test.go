package nats_test

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

	"github.com/ridethrough/ridethrough/internal/natstest"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/nats"
	"github.com/ridethrough/ridethrough/store/storetest"
)

// output collects what worker processes printed before they were killed.
type output struct {
	mu         sync.Mutex
	enqueued   map[string]time.Time // by turn: when it may be sealed
	appended   map[string]int64     // by series: the last number
	unexpected []string
}

func newOutput() *output {
	return &output{enqueued: map[string]time.Time{}, appended: map[string]int64{}}
}

func (o *output) add(line string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var id string
	var n int64
	switch what, rest, _ := strings.Cut(line, " "); what {
	case "enqueued":
		_, _ = fmt.Sscan(rest, &id, &n)
		o.enqueued[id] = time.Unix(0, n)
	case "appended":
		_, _ = fmt.Sscan(rest, &id, &n)
		o.appended[id] = n
	case "broken", "early", "panic:":
		o.unexpected = append(o.unexpected, line)
	}
}

// process is a worker process.
type process struct {
	cmd     *exec.Cmd
	started chan struct{} // closed when it has opened its store
	ended   chan struct{}
}

// start starts a worker process.
func (o *output) start(t *testing.T, k task) *process {
	t.Helper()
	encoded, err := json.Marshal(k)
	if err != nil {
		t.Fatalf("encode the task: %v", err)
	}
	p := &process{cmd: exec.Command(os.Args[0]), started: make(chan struct{}), ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), taskVariable+"="+string(encoded))
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatalf("open the process's output: %v", err)
	}
	p.cmd.Stderr = p.cmd.Stdout
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("start the process: %v", err)
	}
	go o.read(p, bufio.NewReader(out))
	return p
}

// read reads the complete lines that a process prints.
func (o *output) read(p *process, out *bufio.Reader) {
	defer close(p.ended)
	for {
		line, err := out.ReadString('\n')
		if err != nil {
			return
		}
		if line == "started\n" {
			close(p.started)
		}
		o.add(strings.TrimSpace(line))
	}
}

// kill kills a process some time after it has started.
func (p *process) kill(t *testing.T, after time.Duration) {
	t.Helper()
	select {
	case <-p.started:
	case <-p.ended:
	case <-time.After(time.Minute):
		t.Error("the process did not start within a minute")
	}
	select {
	case <-p.ended:
	case <-time.After(after):
	}
	_ = p.cmd.Process.Kill()
	<-p.ended
	_ = p.cmd.Wait()
}

// check completes the work, and checks that every enqueued turn is sealed once
// and not early, and that every series is complete.
func (o *output) check(t *testing.T, s store.Store) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	var printed bytes.Buffer
	w := &worker{Store: s, out: &printed}
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() { w.work(ctx) })
	}
	for turn, at := range o.enqueued {
		wantSealed(t, ctx, s, turn, at)
	}
	cancel()
	workers.Wait()
	for id, n := range o.appended {
		wantSeries(t, s, id, n)
	}
	if h, err := s.Health(t.Context()); err != nil || len(h.Losses) > 0 {
		t.Errorf("health: got losses %v, error %v; want none", h.Losses, err)
	}
	if len(o.unexpected) > 0 || strings.Contains(printed.String(), "early") {
		t.Errorf("workers printed %q and %q", o.unexpected, printed.String())
	}
	if len(o.enqueued) == 0 || len(o.appended) == 0 {
		t.Errorf("%d turns were enqueued and %d series appended, want some", len(o.enqueued), len(o.appended))
	}
}

// wantSealed waits until a turn is sealed, and checks its log.
func wantSealed(t *testing.T, ctx context.Context, s store.Store, turn string, at time.Time) {
	t.Helper()
	messages := storetest.Subscribe(t, ctx, s, turn)
	for {
		log, _, err := store.Load(ctx, s, turn, 0)
		if err != nil {
			t.Fatalf("load enqueued turn %s: got %v, %v", turn, log, err)
		}
		if len(log) > 2 || len(log) == 2 && (log[0].Type != "scheduled" || log[1].Type != "sealed" || log[1].Time.Before(at)) {
			t.Errorf("log of %s: got %v, want scheduled and sealed not before %v", turn, log, at)
		}
		if len(log) >= 2 {
			return
		}
		<-messages
	}
}

// wantSeries checks that a series has all acknowledged numbers, and no other.
func wantSeries(t *testing.T, s store.Store, id string, n int64) {
	t.Helper()
	log, end, err := store.Load(t.Context(), s, id, 0)
	if err != nil || end.N < n {
		t.Errorf("load %s: got %d records, error %v; want %d", id, end.N, err, n)
	}
	for _, r := range log {
		if string(r.Body) != string(storetest.Records(seriesText(r.N))[0].Body) {
			t.Errorf("%s: record %d is %.100s", id, r.N, r.Body)
		}
	}
}

// TestDial_KilledNodesLoseNoAcknowledgedWrite kills one of three processes at a time, each with a node of the
// cluster and a worker.
func TestDial_KilledNodesLoseNoAcknowledgedWrite(t *testing.T) {
	if !*long {
		t.Skip("only with -long")
	}
	o, nodes := newOutput(), natstest.Nodes(t, 3)
	url, all := natstest.URLs(nodes), make([]*process, len(nodes))
	start := func(i int) { all[i] = o.start(t, task{Node: nodes[i], URL: url, Name: nodes[i].Name, Turns: 100}) }
	for i := range all {
		start(i)
	}
	for range 15 {
		i := rand.IntN(len(all))
		all[i].kill(t, time.Duration(1000+rand.IntN(5000))*time.Millisecond)
		start(i)
	}
	for i := range all {
		<-all[i].started
	}
	o.check(t, dial(t, nats.Remote{URL: url, Lease: shortLease}))
	for _, p := range all {
		p.kill(t, 0)
	}
	t.Logf("%d turns, series of %v", len(o.enqueued), o.appended)
}
