package nats_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"

	"github.com/ridethrough/ridethrough/internal/natstest"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/nats"
	"github.com/ridethrough/ridethrough/store/storetest"
)

// silence has the next requests on a subject go where nothing answers, as to a server that hangs. It counts them.
func silence(t *testing.T, s *server.Server, subject string, most int32) (taken *atomic.Int32) {
	t.Helper()
	nc, err := natsgo.Connect(s.ClientURL())
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(nc.Close)
	taken = &atomic.Int32{}
	to := "silent"
	if strings.HasSuffix(subject, ".>") {
		to += ".>"
	}
	_, err = nc.Subscribe(to, func(*natsgo.Msg) {
		if taken.Add(1) == most {
			s.GlobalAccount().RemoveMapping(subject)
		}
	})
	if err == nil {
		err = nc.Flush()
	}
	if err == nil {
		err = s.GlobalAccount().AddMapping(subject, to)
	}
	if err != nil {
		t.Fatalf("silence %s: %v", subject, err)
	}
	return taken
}

func TestRead_OutlastsServersThatNeverAnswer(t *testing.T) {
	t.Parallel()
	for name, subject := range map[string]string{
		"a replica":  "$JS.API.DIRECT.GET.CONVERSATIONS",
		"the leader": "$JS.API.STREAM.MSG.GET.CONVERSATIONS",
		"its state":  "$JS.API.STREAM.INFO.CONVERSATIONS",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			running := natstest.Run(t, natstest.Options(t.TempDir()))
			s := dial(t, nats.Remote{URL: running.ClientURL()})
			storetest.Append(t, s, "c1", store.Position{}, "a", "b")
			taken := silence(t, running, subject, 2)
			began := time.Now()
			storetest.WantLog(t, s, "c1", 0, storetest.Numbered(1, "a", "b")...)
			storetest.WantLog(t, s, "empty", 0)
			if _, err := s.Health(t.Context()); err != nil {
				t.Errorf("health: got error %v, want none", err)
			}
			if lasted := time.Since(began); lasted > 12*time.Second || taken.Load() != 2 {
				t.Errorf("the reads took %v, and %d requests were not answered; want about 4 s for 2", lasted, taken.Load())
			}
		})
	}
}

// Where no server answers, the caller's own limit ends a read.
func TestRead_WithoutAnAnswerEndsWithItsContext(t *testing.T) {
	t.Parallel()
	running := natstest.Run(t, natstest.Options(t.TempDir()))
	s := dial(t, nats.Remote{URL: running.ClientURL()})
	storetest.Append(t, s, "c1", store.Position{}, "a")
	silence(t, running, "$JS.API.DIRECT.GET.CONVERSATIONS", 0)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	for _, err := range s.Read(ctx, "c1", 0) {
		storetest.WantError(t, "read", err, context.DeadlineExceeded)
	}
	if lasted := time.Since(began); lasted > 5*time.Second {
		t.Errorf("the read took %v, want 100 ms", lasted)
	}
}

// A write that nothing answers is sent again soon: the server that has it may hang, and another one be elected.
func TestWrite_OutlastsAServerThatNeverAnswers(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("large ", 60<<10)
	for _, tt := range []struct {
		name, subject string
		silent        int32 // messages
		write         func(*testing.T, storetest.Subject) error
	}{
		{"append", "conversation.>", 1, func(t *testing.T, s storetest.Subject) error {
			_, err := s.Append(t.Context(), "c2", store.Position{}, storetest.Records("a")...)
			return err
		}},
		{"append of several messages", "conversation.>", 2, func(t *testing.T, s storetest.Subject) error {
			_, err := s.Append(t.Context(), "c2", store.Position{}, storetest.Records(large)...)
			return err
		}},
		{"delete", "conversation.>", 1, func(t *testing.T, s storetest.Subject) error { return s.Delete(t.Context(), "c1") }},
		{"enqueue", "due.>", 1, func(t *testing.T, s storetest.Subject) error { return s.Enqueue(t.Context(), storetest.Job("t1")) }},
		{"schedule", "scheduled.>", 1, func(t *testing.T, s storetest.Subject) error {
			return s.Schedule(t.Context(), storetest.Job("t1"), time.Now().Add(time.Hour))
		}},
		{"put", "entry.>", 1, func(t *testing.T, s storetest.Subject) error {
			_, err := s.Put(t.Context(), store.Entry{Key: "a", Value: []byte("1")}, time.Minute)
			return err
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			running := natstest.Run(t, natstest.Options(t.TempDir()))
			s := subject(dial(t, nats.Remote{URL: running.ClientURL()}))
			storetest.Append(t, s, "c1", store.Position{}, "a")
			taken := silence(t, running, tt.subject, tt.silent)
			began := time.Now()
			err := tt.write(t, s)
			if lasted := time.Since(began); err != nil || lasted > 12*time.Second || taken.Load() != tt.silent {
				t.Errorf("got %v after %v, and %d messages were not answered; want no error after about 3 s, and %d", err, lasted, taken.Load(), tt.silent)
			}
		})
	}
}
