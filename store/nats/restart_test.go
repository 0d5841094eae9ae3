package nats_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/nats"
	"github.com/ridethrough/ridethrough/store/storetest"
)

func TestDial_SharingSurvivesRestartsOfTheServer(t *testing.T) {
	t.Parallel()
	n := newNATSServer(t)
	s, logged := dialLogged(t, n.url(), 10*time.Second)
	entries, _ := watchAll(t, t.Context(), s)
	at := store.Position{}
	for i, key := range []string{"first", "second", "third"} {
		putNew(t, s, key, "down")
		if e := next(t, "watch", entries); e.Key != key || string(e.Value) != "down" {
			t.Fatalf("watch: got %s %q, want %s %q", e.Key, e.Value, key, "down")
		}
		at = storetest.Append(t, s, "c1", at, key)
		n.stop()
		n.start()
		if e := next(t, "watch after restart", entries); e.Key != key || e.Value != nil {
			t.Errorf("watch after restart %d: got %s %q, want the deletion of %s", i+1, e.Key, e.Value, key)
		}
	}
	want := append(append(storetest.Numbered(1, "first"), storetest.Numbered(2, "second")...), storetest.Numbered(3, "third")...)
	storetest.WantLog(t, s, "c1", 0, want...)
	eventually(t, "three warnings", func() bool { return strings.Count(logged.String(), "stream=ENTRIES") == 3 })
	if text := logged.String(); strings.Contains(text, "CONVERSATIONS") || strings.Contains(text, "TURNS") {
		t.Errorf("log: got %s, want warnings about ENTRIES only", text)
	}
	if h, err := s.Health(t.Context()); err != nil || len(h.Warnings) != 1 || !strings.Contains(h.Warnings[0], "forgot the outages that processes share") || len(h.Losses) != 0 {
		t.Errorf("health: got warnings %q and losses %v, error %v; want a warning about shared outages", h.Warnings, h.Losses, err)
	}
}

// A large message is written in the middle of a call, so that the call ends with the error of a broken connection.
func TestDial_BrokenWriteIsALostConnection(t *testing.T) {
	broken := fmt.Errorf("append to log: %w", &net.OpError{Op: "write", Net: "tcp", Err: syscall.EPIPE})
	if !nats.IsDisconnected(broken) {
		t.Errorf("%v: got another error, want that of a lost connection, after which the operation is repeated", broken)
	}
	if nats.IsDisconnected(store.ErrConflict) {
		t.Errorf("%v: got a lost connection, want another error", store.ErrConflict)
	}
}

func TestDial_OperationsOutlastARestart(t *testing.T) {
	t.Parallel()
	n := newNATSServer(t)
	s, _ := dialLogged(t, n.url(), 10*time.Second)
	at := storetest.Append(t, s, "c1", store.Position{}, "a")
	taken := make(chan store.Lease, 1)
	go func() {
		if l, err := s.Take(t.Context()); err == nil {
			taken <- l
		}
	}()
	n.stop()
	var all sync.WaitGroup
	all.Go(func() {
		if _, err := s.Append(t.Context(), "c1", at, storetest.Records("b")...); err != nil {
			t.Errorf("append: %v", err)
		}
	})
	all.Go(func() {
		if _, err := s.Append(t.Context(), "c2", store.Position{}, storetest.Records(strings.Repeat("large", 300<<10))...); err != nil {
			t.Errorf("append in parts: %v", err)
		}
	})
	all.Go(func() {
		if _, err := s.End(t.Context(), "c1"); err != nil {
			t.Errorf("end: %v", err)
		}
	})
	all.Go(func() {
		if err := s.Enqueue(t.Context(), store.Job{Conversation: "c1", Turn: "t1"}); err != nil {
			t.Errorf("enqueue: %v", err)
		}
	})
	all.Go(func() {
		if _, err := s.Subscribe(t.Context(), "c1"); err != nil {
			t.Errorf("subscribe: %v", err)
		}
	})
	time.AfterFunc(300*time.Millisecond, func() { n.start() })
	all.Wait()
	storetest.WantLog(t, s, "c1", 0, append(storetest.Numbered(1, "a"), storetest.Numbered(2, "b")...)...)
	storetest.WantLog(t, s, "c2", 0, storetest.Numbered(1, strings.Repeat("large", 300<<10))...)
	if l := next(t, "take", taken); l.Job().Turn != "t1" || l.Ack() != nil {
		t.Errorf("take: got turn %s, want t1 and an acknowledgement", l.Job().Turn)
	}
	storetest.WantNoJob(t, subject(s))
}

// The last message may be the one that was missed.
func TestDial_SubscribersSeeAGapAfterARestart(t *testing.T) {
	t.Parallel()
	n := newNATSServer(t)
	s, _ := dialLogged(t, n.url(), 10*time.Second)
	messages := storetest.Subscribe(t, t.Context(), s, "c1")
	n.stop()
	n.start()
	if m := next(t, "subscription", messages); !m.Gap || m.Data != nil || m.Records != nil {
		t.Errorf("subscription: got %+v, want only a gap", m)
	}
	storetest.Append(t, s, "c1", store.Position{}, "a")
	if m := next(t, "subscription", messages); m.Gap || len(m.Records) != 1 {
		t.Errorf("subscription: got %+v, want a record and no gap", m)
	}
}

func TestDial_LostStreamsAreMadeAnewAndReported(t *testing.T) {
	t.Parallel()
	n := newNATSServer(t)
	s, logged := dialLogged(t, n.url(), 10*time.Second)
	storetest.Append(t, s, "c1", store.Position{}, "a")
	storetest.Enqueue(t, s, storetest.Job("t1"))
	n.stop()
	n.options.StoreDir = t.TempDir()
	n.start()
	var h store.Health
	eventually(t, "losses", func() (ok bool) {
		var err error
		h, err = s.Health(t.Context())
		return err == nil && len(h.Losses) == 2
	})
	for i, l := range h.Losses {
		if l.Jobs != (i == 0) || l.First != 1 || l.Last != 1 || l.Messages != 1 {
			t.Errorf("loss %d: got %+v, want message 1 of the jobs, then of the records", i, l)
		}
	}
	for _, want := range []string{
		`stream=CONVERSATIONS contents="records of conversations" first=1 last=1`,
		`stream=TURNS contents="jobs of turns" first=1 last=1`,
	} {
		if !strings.Contains(logged.String(), want) {
			t.Errorf("log: got %s, want %s", logged.String(), want)
		}
	}
	storetest.WantLog(t, s, "c1", 0)
	storetest.Append(t, s, "c2", store.Position{}, "b")
	storetest.Enqueue(t, s, storetest.Job("t2"))
	if l := storetest.Take(t, subject(s)); l.Job().Turn != "t2" {
		t.Errorf("take: got turn %s, want t2", l.Job().Turn)
	}
}

// goroutines returns how often functions of the NATS client and of this package are on stacks.
func goroutines() int {
	stacks := make([]byte, 1<<20)
	text := string(stacks[:runtime.Stack(stacks, true)])
	return strings.Count(text, "nats.(*Conn)") + strings.Count(text, "nats-io/nats.go/jetstream") + strings.Count(text, "store/nats.(")
}

func TestDial_CloseWithoutServerLeavesNothing(t *testing.T) { // not parallel: it counts goroutines
	n := newNATSServer(t)
	before := goroutines()
	s, err := nats.Dial(t.Context(), nats.Remote{URL: n.url()})
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	entries, ended := watchAll(t, ctx, s)
	putNew(t, s, "k", "v")
	next(t, "watch", entries)
	taken := make(chan error, 1)
	go func() {
		_, err := s.Take(t.Context())
		taken <- err
	}()
	messages := storetest.Subscribe(t, t.Context(), s, "c1")
	n.stop()
	n.start()
	next(t, "watch after restart", entries)
	n.stop()
	cancel()
	if err := next(t, "end of the watch", ended); !errors.Is(err, context.Canceled) {
		t.Errorf("watch: got error %v, want %v", err, context.Canceled)
	}
	began := time.Now()
	if err := s.Close(t.Context()); err != nil {
		t.Errorf("close: %v", err)
	}
	if d := time.Since(began); d > 3*time.Second {
		t.Errorf("close took %v, want at most 3 s", d)
	}
	storetest.WantError(t, "take", next(t, "end of take", taken), store.ErrClosed)
	for range messages { // until it is closed
		continue
	}
	eventually(t, "end of all goroutines", func() bool { return goroutines() <= before })
}

func TestDial_LongAbsenceFailsAtOnce(t *testing.T) {
	t.Parallel()
	n := newNATSServer(t)
	const timeout = 500 * time.Millisecond
	s, logged := dialLogged(t, n.url(), timeout)
	n.stop()
	_, err := s.End(t.Context(), "c1")
	storetest.WantError(t, "end", err, store.ErrUnavailable)
	began := time.Now()
	_, err = s.End(t.Context(), "c1")
	storetest.WantError(t, "end", err, store.ErrUnavailable)
	storetest.WantError(t, "publish", s.Publish(t.Context(), "c1", []byte("x")), store.ErrUnavailable)
	if _, err := s.Health(t.Context()); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("health: got error %v, want %v", err, store.ErrUnavailable)
	}
	if d := time.Since(began); d > timeout/2 {
		t.Errorf("three operations took %v, want an error at once", d)
	}
	n.start()
	eventually(t, "end of log", func() bool { _, err := s.End(t.Context(), "c1"); return err == nil })
	if text := logged.String(); strings.Count(text, "connection with the NATS servers lost") != 1 || strings.Count(text, "restored") != 1 {
		t.Errorf("log: got %s, want one loss and one restoration of the connection", text)
	}
}

// A server that refuses the credentials while it starts does not end the use of it.
func TestDial_RefusalsAreNotFinal(t *testing.T) {
	t.Parallel()
	n := newNATSServer(t)
	s, _ := dialLogged(t, n.url(), 10*time.Second)
	n.stop()
	n.options.Authorization = "a token that the client does not have"
	n.start()
	eventually(t, "two refusals", func() bool { return n.running.NumClients() == 0 && refusals(n.running) >= 2 })
	n.stop()
	n.options.Authorization = ""
	n.start()
	if _, err := s.End(t.Context(), "c1"); err != nil {
		t.Errorf("end: got error %v, want none", err)
	}
}

// refusals is how often a server has refused clients.
func refusals(s *server.Server) uint64 {
	v, err := s.Varz(nil)
	if err != nil {
		return 0
	}
	return v.TotalConnections
}

func TestDial_PausedServerIsUnavailable(t *testing.T) {
	t.Parallel()
	n := newNATSServer(t)
	p := newProxy(t, n.url()[len("nats://"):])
	const timeout = 1500 * time.Millisecond
	s, logged := dialLogged(t, "nats://"+p.Addr().String(), timeout)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	entries, ended := watchAll(t, ctx, s)
	putNew(t, s, "k", "v")
	next(t, "watch", entries)
	p.pause(true)
	began := time.Now()
	_, err := s.End(t.Context(), "c1")
	storetest.WantError(t, "end", err, store.ErrUnavailable)
	if d := time.Since(began); d > 2*timeout {
		t.Errorf("end took %v, want %v", d, timeout)
	}
	eventually(t, "loss of the connection", func() bool { return strings.Contains(logged.String(), "connection with the NATS servers lost") })
	cancel()
	next(t, "end of the watch", ended)
	p.pause(false)
	eventually(t, "end of log", func() bool { _, err := s.End(t.Context(), "c1"); return err == nil })
	p.pause(true)
	began = time.Now()
	if err := s.Close(t.Context()); err != nil {
		t.Errorf("close: %v", err)
	}
	if d := time.Since(began); d > 5*time.Second {
		t.Errorf("close took %v, want at most 5 s", d)
	}
}

// lineWriter adds each printed line to what was collected.
type lineWriter struct{ to *output }

func (w lineWriter) Write(p []byte) (int, error) {
	w.to.add(strings.TrimSpace(string(p)))
	return len(p), nil
}

func TestDial_RestartsLoseNoAcknowledgedWrite(t *testing.T) {
	t.Parallel()
	n := newNATSServer(t)
	s, _ := dialLogged(t, n.url(), 10*time.Second)
	o := newOutput()
	w := &worker{Store: s, out: lineWriter{o}}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { w.enqueue(ctx, task{Name: "p", Turns: 200}) })
	all.Go(func() { w.appendSeries(ctx, "series-p") })
	for range 4 {
		all.Go(func() { w.work(ctx) })
	}
	for range 5 {
		<-time.After(time.Duration(200+rand.IntN(500)) * time.Millisecond)
		n.stop()
		<-time.After(time.Duration(rand.IntN(300)) * time.Millisecond)
		n.start()
	}
	cancel()
	all.Wait()
	o.check(t, s)
	t.Logf("%d turns, series of %v", len(o.enqueued), o.appended)
}
