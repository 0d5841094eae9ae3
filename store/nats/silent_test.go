package nats_test

import (
	"context"
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
	_, err = nc.Subscribe("silent", func(*natsgo.Msg) {
		if taken.Add(1) == most {
			s.GlobalAccount().RemoveMapping(subject)
		}
	})
	if err == nil {
		err = nc.Flush()
	}
	if err == nil {
		err = s.GlobalAccount().AddMapping(subject, "silent")
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
