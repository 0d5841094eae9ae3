package nats_test

import (
	"strings"
	"testing"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/ridethrough/ridethrough/internal/natstest"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/nats"
	"github.com/ridethrough/ridethrough/store/storetest"
)

// A schedule that falls due while the servers have no space stays as it is, also when there is space again. Making it
// again, as runners do that search for turns without a job, has the job delivered.
func TestSchedule_DueOnFullServersIsMadeAgain(t *testing.T) {
	t.Parallel()
	o := natstest.Options(t.TempDir())
	o.JetStreamMaxStore = 2 << 20
	url := natstest.Run(t, o).ClientURL()
	s := subject(dial(t, nats.Remote{URL: url, Lease: shortLease}))
	kept := storetest.Append(t, s, "kept", store.Position{}, "a")
	at := storetest.Schedule(t, s, storetest.Job("t1"), 10)
	var end store.Position
	var err error
	for _, size := range []int{200 << 10, 10 << 10, 1} {
		for err = nil; err == nil; {
			var next store.Position
			if next, err = s.Append(t.Context(), "filler", end, storetest.Records(strings.Repeat("l", size))...); err == nil {
				end = next
			}
		}
	}
	storetest.WantError(t, "append to a full store", err, store.ErrFull)
	storetest.WantError(t, "enqueue in a full store", s.Enqueue(t.Context(), storetest.Job("t2")), store.ErrFull)
	storetest.WantLog(t, s, "kept", 0, storetest.Numbered(1, "a")...)
	eventually(t, "the instant of the schedule", func() bool { return time.Since(at) > 2*s.Tick })
	storetest.WantNoJob(t, s)

	var stream natsjs.Stream
	stream, err = connect(t, url).Stream(t.Context(), "CONVERSATIONS")
	if err == nil {
		err = stream.Purge(t.Context(), natsjs.WithPurgeSubject("conversation.*.filler"))
	}
	if err != nil {
		t.Fatalf("make space: %v", err)
	}
	storetest.Append(t, s, "kept", kept, "b")
	if err := s.Schedule(t.Context(), storetest.Job("t1"), at); err != nil {
		t.Errorf("schedule again: got error %v, want none", err)
	}
	take(t, s)
}
