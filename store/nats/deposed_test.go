package nats_test

import (
	"encoding/json"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	natsgo "github.com/nats-io/nats.go"

	"github.com/ridethrough/ridethrough/internal/natstest"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/nats"
	"github.com/ridethrough/ridethrough/store/storetest"
)

// depose answers beside a server as one that was the leader of a stream does: it refuses what is sent to subjects for a
// conflict, and shows as their latest message the one with a sequence number. It stops a while after its first refusal.
func depose(t *testing.T, url, stream, subjects string, seq uint64, d time.Duration) (refused *atomic.Int32) {
	t.Helper()
	nc, err := natsgo.Connect(url)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(nc.Close)
	js, err := nc.JetStream()
	if err != nil {
		t.Fatalf("use JetStream: %v", err)
	}
	latest, err := js.GetMsg(stream, seq)
	if err != nil {
		t.Fatalf("get the latest message: %v", err)
	}
	refused = &atomic.Int32{}
	var begun sync.Once
	var end time.Time
	answer := func(subject string, body any, count *atomic.Int32) {
		data, err := json.Marshal(body)
		if err == nil {
			_, err = nc.Subscribe(subject, func(m *natsgo.Msg) {
				if begun.Do(func() { end = time.Now().Add(d) }); m.Reply != "" && time.Now().Before(end) {
					count.Add(1)
					_ = m.Respond(data)
				}
			})
		}
		if err != nil {
			t.Fatalf("subscribe %s: %v", subject, err)
		}
	}
	answer(subjects, map[string]any{"error": map[string]any{"code": 400, "err_code": 10071, "description": "wrong last sequence: 1"}}, refused)
	answer("$JS.API.STREAM.MSG.GET."+stream, map[string]any{"message": map[string]any{"subject": latest.Subject, "seq": latest.Sequence, "data": latest.Data}}, &atomic.Int32{})
	if err := nc.Flush(); err != nil {
		t.Fatalf("flush: %v", err)
	}
	return refused
}

func TestAppend_OutlastsALeaderThatIsNoneAnyMore(t *testing.T) {
	t.Parallel()
	url := natstest.Run(t, natstest.Options(t.TempDir())).ClientURL()
	s := dial(t, nats.Remote{URL: url})
	at := storetest.Append(t, s, "c1", store.Position{}, "a")
	refused := depose(t, url, "CONVERSATIONS", "conversation.>", at.Seq, time.Second)
	var err error
	end, want := at, int64(1)
	for begun := time.Now(); refused.Load() == 0 && time.Since(begun) < patience; { // the first answer counts, and may be the leader's
		want++
		if end, err = s.Append(t.Context(), "c1", end, storetest.Records("b")...); err != nil || end.N != want {
			t.Fatalf("append beside a server that refuses it: got end %+v, %v; want one at record %d", end, err, want)
		}
	}
	if refused.Load() == 0 {
		t.Error("no append was refused")
	}
	records, now, err := store.Load(t.Context(), s, "c1", 0)
	if err != nil || int64(len(records)) != want || now != end {
		t.Errorf("then: got %d records up to %+v, %v; want %d up to %+v", len(records), now, err, want, end)
	}
	if _, err := s.Append(t.Context(), "c1", at, storetest.Records("c")...); err == nil {
		t.Error("a second append at the same position: got no error, want a conflict")
	}
}

func TestPut_OutlastsALeaderThatIsNoneAnyMore(t *testing.T) {
	t.Parallel()
	url := natstest.Run(t, natstest.Options(t.TempDir())).ClientURL()
	s := dial(t, nats.Remote{URL: url})
	e, err := s.Put(t.Context(), store.Entry{Key: "a", Value: []byte("1")}, time.Minute)
	if err != nil {
		t.Fatalf("put: %v", err)
	}
	refused := depose(t, url, "ENTRIES", "entry.>", e.Revision, time.Second)
	for begun := time.Now(); refused.Load() == 0 && time.Since(begun) < patience; { // the first answer counts, and may be the leader's
		before := e.Revision
		if e, err = s.Put(t.Context(), e, time.Minute); err != nil || e.Revision <= before {
			t.Fatalf("put beside a server that refuses it: got %+v, %v; want a revision after %d", e, err, before)
		}
	}
	if refused.Load() == 0 {
		t.Error("no put was refused")
	}
}
