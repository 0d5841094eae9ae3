package jetstream

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/ridethrough/ridethrough/store"
)

// Format is the number of the format that this version writes.
const Format = format

// SyncAlways reports whether the embedded server syncs every write before it
// acknowledges it.
func SyncAlways(s store.Store) bool {
	return s.(*backend).server.server.JetStreamConfig().SyncAlways
}

// SetFreeBytes sets what the disk has free.
func SetFreeBytes(s store.Store, free int64) {
	server := s.(*backend).server
	server.capacity.freeBytes = func(string) (int64, error) { return free, nil }
	server.capacity.last.Store(nil)
}

// FailWrite makes the embedded server look like one whose disk has failed.
func FailWrite(s store.Store) {
	s.(*backend).server.log.Errorf("Critical write error: %s", "no space left")
}

// DialWithTimeout is Dial with another timeout of operations.
func DialWithTimeout(ctx context.Context, r Remote, timeout time.Duration) (store.Store, error) {
	return r.dial(ctx, timeout)
}

// The unexported functions under test.
var (
	CheckVersion = checkVersion
	EncodeEntry  = encodeEntry
	DecodeEntry  = decodeEntry
)

// JoinParts joins parts with the same data, each with its header.
func JoinParts(headers []string, data []byte) []byte {
	var j joiner
	for _, h := range headers {
		if all, complete := j.add(nats.Header{partHeader: {h}}, data); complete {
			return all
		}
	}
	return nil
}

// OpenHeads opens the heads of a new directory, and returns what notes one and what closes them.
func OpenHeads(t testing.TB, dir string) (note func(log string, last uint64, messages int), closeHeads func()) {
	t.Helper()
	h, err := openHeads(dir, nil)
	if err != nil {
		t.Fatalf("open heads: %v", err)
	}
	return h.note, func() {
		if err := errors.Join(h.failure(), h.close()); err != nil {
			t.Errorf("close heads: %v", err)
		}
	}
}

// ReadHeads returns the last sequence number and the number of messages of each log.
func ReadHeads(t testing.TB, dir string) map[string][2]uint64 {
	t.Helper()
	all, _, err := readHeads(dir)
	if err != nil {
		t.Fatalf("read heads: %v", err)
	}
	pairs := map[string][2]uint64{}
	for log, h := range all {
		pairs[log] = [2]uint64{h.last, h.messages}
	}
	return pairs
}

// IsDisconnected reports whether an error of an operation means that there was no connection.
var IsDisconnected = isDisconnected
