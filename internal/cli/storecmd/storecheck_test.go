package storecmd_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/internal/cli/storecmd"
	"github.com/ridethrough/ridethrough/internal/operation/doctor"
	"github.com/ridethrough/ridethrough/store"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func says(all ...doctor.Finding) string {
	var b strings.Builder
	for _, f := range all {
		fmt.Fprintf(&b, "%s %s: %s\n", f.State, f.Check, f.Text)
	}
	return b.String()
}

type patient struct {
	store.Store
	health store.Health
	err    error
	torn   string // the conversation that is damaged
}

func (p patient) Health(context.Context) (store.Health, error) { return p.health, p.err }

func (p patient) Conversations(ctx context.Context, before string) iter.Seq2[store.Head, error] {
	return func(yield func(store.Head, error) bool) {
		for head, err := range p.Store.Conversations(ctx, before) {
			if head.ID == p.torn {
				head, err = store.Head{}, &store.Damage{Conversation: p.torn, N: 7, Why: "torn"}
			}
			if !yield(head, err) || err != nil {
				return
			}
		}
	}
}

func TestStore_DescribesItsHealth(t *testing.T) {
	tests := []struct {
		health store.Health
		err    error
		want   string
	}{
		{store.Health{}, store.ErrUnavailable, "problem store: the store does not answer\n"},
		{
			store.Health{Mode: "standalone", Dir: "/data", Logs: 3, Bytes: 1_234_567, Scheduled: 2, Due: 1, FreeBytes: 56_000_000_000, SyncLatency: 400 * time.Microsecond},
			nil,
			"ok store: /data, used by one process: 3 conversations, 1.2 MB; 2 turns waiting, 1 due\n" +
				"ok disk: 56.0 GB free\nok sync: the disk takes 400µs to sync a write\n",
		},
		{
			store.Health{Mode: "standalone", Dir: "/data", SyncLatency: 9 * time.Millisecond},
			nil,
			"ok store: /data, used by one process: 0 conversations, 0 bytes; 0 turns waiting, 0 due\nok sync: the disk takes 9ms to sync a write\n",
		},
		{
			store.Health{Mode: "standalone", Dir: "/data", SyncLatency: 51 * time.Millisecond, Warnings: []string{"the disk takes 51ms"}},
			nil,
			"ok store: /data, used by one process: 0 conversations, 0 bytes; 0 turns waiting, 0 due\nwarning store: the disk takes 51ms\n",
		},
		{
			store.Health{Mode: "standalone", Dir: "/data", Full: true, FreeBytes: 1, Warnings: []string{"no room"}},
			nil,
			"ok store: /data, used by one process: 0 conversations, 0 bytes; 0 turns waiting, 0 due\nproblem store: no room\n",
		},
		{
			store.Health{Mode: "standalone", Dir: "/data", Losses: []store.Loss{{Noticed: now, First: 6, Last: 9, Messages: 2, Conversation: "c1", N: 3}}},
			nil,
			"ok store: /data, used by one process: 0 conversations, 0 bytes; 0 turns waiting, 0 due\n" +
				"problem store: 2026-11-21T12:00:00Z: 2 acknowledged messages were lost of conversation c1 from record 3 on (among numbers 6 to 9 of the stream)\n",
		},
		{
			store.Health{Mode: "remote", Server: "2.14.0", Replicas: 3, Bytes: 999},
			nil,
			"ok store: NATS servers of version 2.14.0, stored on 3 servers: 0 conversations, 999 bytes; 0 turns waiting, 0 due\n" +
				"warning sync: cannot see whether the servers have sync_interval: always; without it, a power failure loses acknowledged writes\n",
		},
		{
			store.Health{Mode: "remote", Server: "2.14.0", Replicas: 1, Warnings: []string{"everything is on one server"}},
			nil,
			"ok store: NATS servers of version 2.14.0, stored on one server: 0 conversations, 0 bytes; 0 turns waiting, 0 due\n" +
				"warning sync: cannot see whether the servers have sync_interval: always; without it, a power failure loses acknowledged writes\n" +
				"warning store: everything is on one server\n",
		},
	}
	for _, tt := range tests {
		if got := says(storecmd.CheckStore(t.Context(), patient{health: tt.health, err: tt.err})...); got != tt.want {
			t.Errorf("health %+v: got\n%swant\n%s", tt.health, got, tt.want)
		}
	}
}

func TestLogs_NamesDamagedConversations(t *testing.T) {
	e := store.Memory()
	at := now
	for _, id := range []string{"a", "b", "c", "later"} {
		if id == "later" {
			at = now.Add(time.Hour)
		}
		records := []store.Record{
			{Time: at, Type: "conversation-created", Body: json.RawMessage(`{"format":1,"model":"acme/large"}`)},
			{Time: at, Turn: "t", Type: "input-queued", Body: json.RawMessage(`{"text":"hello"}`)},
		}
		if id == "c" {
			records[1].Body = json.RawMessage(`{"text":1}`)
		}
		if _, err := e.Append(t.Context(), id, store.Position{}, records...); err != nil {
			t.Fatalf("append: %v", err)
		}
	}
	if _, err := e.Append(t.Context(), "other", store.Position{}, store.Record{Type: "x"}); err != nil {
		t.Fatalf("append: %v", err)
	}
	all := storecmd.CheckLogs(t.Context(), patient{Store: e, torn: "b"}, now)
	got, want := says(all...), []string{
		"problem logs: conversation c is damaged from record 2 on: ",
		"problem logs: conversation b is damaged from record 7 on: torn",
		"warning clock: conversation later was written at 2026-11-21T13:00:00Z, in the future",
		"ok logs: 2 conversations with 4 records intact; 2 active",
	}
	lines := strings.Split(strings.TrimSpace(got), "\n")
	for i, begins := range want {
		if i >= len(lines) || !strings.HasPrefix(lines[i], begins) {
			t.Errorf("line %d: got\n%s, want it to begin with %q", i, got, begins)
		}
	}
	if doctor.Well(all) || !doctor.Well(all[2:]) {
		t.Error("Well: want false with a problem and true with a warning")
	}
	_ = e.Close(t.Context())
	if got := says(storecmd.CheckLogs(t.Context(), e, now)...); got != "problem logs: the store is closed\n" {
		t.Errorf("logs of a closed store: %s", got)
	}
}

func TestLosses_ManyAreCounted(t *testing.T) {
	losses := make([]store.Loss, 22)
	for i := range losses {
		losses[i] = store.Loss{Noticed: now, Jobs: true, Messages: 1, Turn: "t1"}
	}
	got := strings.Split(strings.TrimSpace(says(storecmd.LossFindings(losses)...)), "\n")
	for i, want := range map[int]string{
		0:  "problem store: 2026-11-21T12:00:00Z: 1 acknowledged job was lost of turn t1",
		20: "problem store: and 2 more losses",
	} {
		if len(got) != 21 || !strings.HasPrefix(got[i], want) {
			t.Errorf("line %d of %d: want %q in\n%s", i, len(got), want, strings.Join(got, "\n"))
		}
	}
	if all := storecmd.LossFindings(nil); len(all) != 0 {
		t.Errorf("no losses: got %+v, want nothing", all)
	}
}
