package nats_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/nats"
	"github.com/ridethrough/ridethrough/store/storetest"
)

// lossy is a store behind a proxy, which loses answers or delays requests, and another one on the same server.
type lossy struct {
	proxy         *proxy
	store, direct storetest.Subject
	server        *natsServer
}

func newLossy(t *testing.T) *lossy {
	t.Helper()
	n := newNATSServer(t)
	p := newProxy(t, n.url()[len("nats://"):])
	s, _ := dialLogged(t, "nats://"+p.Addr().String(), patience)
	return &lossy{proxy: p, store: subject(s), direct: subject(dial(t, nats.Remote{URL: n.url(), Lease: shortLease})), server: n}
}

func (l *lossy) restart() {
	l.server.stop()
	l.server.start()
}

// stream returns a stream of the server.
func (l *lossy) stream(t *testing.T, name string) natsjs.Stream {
	t.Helper()
	stream, err := connect(t, l.server.url()).Stream(t.Context(), name)
	if err != nil {
		t.Fatalf("find the stream %s: %v", name, err)
	}
	return stream
}

// waitStored waits until a stream has reached the sequence number last.
func waitStored(t *testing.T, stream natsjs.Stream, last uint64) {
	t.Helper()
	eventually(t, "the message in the stream", func() bool {
		info, err := stream.Info(t.Context())
		return err == nil && info.State.LastSeq >= last
	})
}

// loseAnswer runs a write whose answer is lost after it was stored. Then meanwhile happens, and the connection is lost,
// after which the client sends the write again.
func (l *lossy) loseAnswer(t *testing.T, stream string, last uint64, write func() error, meanwhile func(natsjs.Stream)) {
	t.Helper()
	l.proxy.answers.pause(true)
	ended := make(chan error, 1)
	go func() { ended <- write() }()
	at := l.stream(t, stream)
	waitStored(t, at, last)
	meanwhile(at)
	l.proxy.drop()
	if err := next(t, "end of the write", ended); err != nil {
		t.Errorf("a write that was sent again: got error %v, want none", err)
	}
}

func TestAppend_IsStoredOnceThoughItsAnswerWasLost(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"one message": "b", "several messages": strings.Repeat("large ", 60<<10)} {
		for _, followed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, followed %t", name, followed), func(t *testing.T) {
				t.Parallel()
				l := newLossy(t)
				at := storetest.Append(t, l.store, "c1", store.Position{}, "a")
				want := append(storetest.Numbered(1, "a"), storetest.Numbered(2, text)...)
				var end store.Position
				l.loseAnswer(t, "CONVERSATIONS", at.Seq+uint64((len(text)+256<<10-1)/(256<<10)), func() (err error) {
					end, err = l.store.Append(t.Context(), "c1", at, storetest.Records(text)...)
					return err
				}, func(natsjs.Stream) {
					if followed {
						now, err := l.direct.End(t.Context(), "c1")
						if err != nil {
							t.Errorf("end: %v", err)
						}
						storetest.Append(t, l.direct, "c1", now, "c")
						want = append(want, storetest.Numbered(3, "c")...)
					}
				})
				storetest.WantLog(t, l.store, "c1", 0, want...)
				if !followed {
					storetest.Append(t, l.store, "c1", end, "next")
				} else if _, err := l.store.Append(t.Context(), "c1", end, storetest.Records("next")...); err == nil {
					t.Error("append behind the own one: got no error, want a conflict with the one that follows it")
				}
			})
		}
	}
}

// A server acknowledges what is sent again as a duplicate, though it is there no longer.
func TestAppend_IsStoredThoughItWasPurgedMeanwhile(t *testing.T) {
	t.Parallel()
	l := newLossy(t)
	l.loseAnswer(t, "CONVERSATIONS", 1, func() error {
		_, err := l.store.Append(t.Context(), "c1", store.Position{}, storetest.Records("a")...)
		return err
	}, func(s natsjs.Stream) {
		if err := s.Purge(t.Context()); err != nil {
			t.Errorf("purge: %v", err)
		}
	})
	storetest.WantLog(t, l.store, "c1", 0, storetest.Numbered(1, "a")...)
}

func TestAppend_OfADeletedLogIsNotStoredAgain(t *testing.T) {
	t.Parallel()
	l := newLossy(t)
	ended := make(chan error, 1)
	l.loseAnswer(t, "CONVERSATIONS", 1, func() error {
		_, err := l.store.Append(t.Context(), "c1", store.Position{}, storetest.Records("a")...)
		ended <- err
		return nil
	}, func(natsjs.Stream) {
		if err := l.direct.Delete(t.Context(), "c1"); err != nil {
			t.Errorf("delete: %v", err)
		}
	})
	storetest.WantError(t, "append", next(t, "append", ended), store.ErrDeleted)
	for _, err := range l.store.Read(t.Context(), "c1", 0) {
		storetest.WantError(t, "read", err, store.ErrDeleted)
	}
}

// A put that is sent again meets itself, which is no conflict. Another's is one, though the first may be the own one.
func TestPut_IsNoConflictThoughItsAnswerWasLost(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		before   []string // values of the entry, "": it is deleted
		value    string
		followed bool // by another's put
	}{
		{"created", nil, "new", false},
		{"created behind a deletion", []string{"old", ""}, "new", false},
		{"replaced", []string{"old"}, "new", false},
		{"replaced by the same value", []string{"old"}, "old", false},
		{"deleted", []string{"old"}, "", false},
		{"replaced, and again by another", []string{"old"}, "new", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := newLossy(t)
			last := store.Entry{Key: "a"}
			put := func(s store.KV, value string) error {
				e, err := s.Put(t.Context(), store.Entry{Key: "a", Value: []byte(value), Revision: last.Revision}, time.Minute)
				if err == nil {
					last = e
				}
				return err
			}
			for _, value := range tt.before {
				if err := put(l.direct, value); err != nil {
					t.Fatalf("put %q: %v", value, err)
				}
			}
			l.loseAnswer(t, "ENTRIES", uint64(len(tt.before)+1), func() error {
				err := put(l.store, tt.value)
				if tt.followed {
					storetest.WantError(t, "put that another has replaced", err, store.ErrConflict)
					return nil
				}
				return err
			}, func(natsjs.Stream) {
				if !tt.followed {
					return
				}
				now, err := l.direct.Get(t.Context(), "a")
				if err == nil {
					now.Value = []byte("another")
					last, err = l.direct.Put(t.Context(), now, time.Minute)
				}
				if err != nil {
					t.Errorf("put by another: %v", err)
				}
			})
			got, err := l.direct.Get(t.Context(), "a")
			if err != nil || got.Revision != last.Revision || string(got.Value) != string(last.Value) {
				t.Errorf("get: got %+v, %v, want %+v", got, err, last)
			}
		})
	}
}

func TestEnqueue_IsStoredThoughItsAnswerWasLost(t *testing.T) {
	t.Parallel()
	for name, meanwhile := range map[string]func(*testing.T, *lossy, natsjs.Stream){
		"it waits": func(*testing.T, *lossy, natsjs.Stream) {},
		"it was lost": func(t *testing.T, _ *lossy, s natsjs.Stream) {
			if err := s.Purge(t.Context()); err != nil {
				t.Errorf("purge: %v", err)
			}
		},
		// A job that is done may be delivered again: nothing shows that it was not lost.
		"it was done": func(t *testing.T, l *lossy, _ natsjs.Stream) { take(t, l.direct) },
		// A server that starts knows the ids of the messages that it has, and has forgotten those of the others.
		"it waits through a restart":   func(_ *testing.T, l *lossy, _ natsjs.Stream) { l.restart() },
		"it was done before a restart": func(t *testing.T, l *lossy, _ natsjs.Stream) { take(t, l.direct); l.restart() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLossy(t)
			l.loseAnswer(t, "TURNS", 1, func() error { return l.store.Enqueue(t.Context(), storetest.Job("t1")) },
				func(s natsjs.Stream) { meanwhile(t, l, s) })
			take(t, l.store)
			storetest.WantNoJob(t, l.store)
		})
	}
}

// take takes the job of t1 and acknowledges it.
func take(t *testing.T, s storetest.Subject) {
	t.Helper()
	l := storetest.Take(t, s)
	if err := l.Ack(); err != nil || l.Job().Turn != "t1" {
		t.Errorf("take: got the job of %s, error %v when it was acknowledged; want that of t1", l.Job().Turn, err)
	}
}

// Servers forget the ids of what was acknowledged or purged when they start. An append is kept from being stored twice
// by its position.
func TestAppend_IsStoredOnceThroughARestart(t *testing.T) {
	t.Parallel()
	l := newLossy(t)
	l.loseAnswer(t, "CONVERSATIONS", 1, func() error {
		_, err := l.store.Append(t.Context(), "c1", store.Position{}, storetest.Records("a")...)
		return err
	}, func(natsjs.Stream) { l.restart() })
	storetest.WantLog(t, l.store, "c1", 0, storetest.Numbered(1, "a")...)
}

// Writes that timed out before they reached the server are stored when they do. By then the caller may have written
// again, or not.
func TestAppend_ArrivesLateAndIsNotDoubled(t *testing.T) {
	t.Parallel()
	for name, repeatsFirst := range map[string]bool{"after it was repeated": true, "before it is repeated": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLossy(t)
			at := storetest.Append(t, l.store, "c1", store.Position{}, "a")
			l.proxy.requests.pause(true)
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			_, err := l.store.Append(ctx, "c1", at, storetest.Records("b")...)
			storetest.WantError(t, "append that does not arrive", err, context.DeadlineExceeded)
			ctx, cancel = context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			storetest.WantError(t, "enqueue that does not arrive", l.store.Enqueue(ctx, storetest.Job("t1")), context.DeadlineExceeded)
			if repeatsFirst {
				storetest.Append(t, l.direct, "c1", at, "b")
			}
			l.proxy.requests.pause(false)
			take(t, l.direct) // it arrives after the append
			if !repeatsFirst {
				_, err := l.direct.Append(t.Context(), "c1", at, storetest.Records("b")...)
				storetest.WantError(t, "append again", err, store.ErrConflict)
			}
			storetest.WantLog(t, l.direct, "c1", 0, append(storetest.Numbered(1, "a"), storetest.Numbered(2, "b")...)...)
			storetest.WantNoJob(t, l.direct)
		})
	}
}
