package store

import "github.com/nats-io/nats.go"

// SyncAlways tells whether the server in the process has every write on the
// disk before it says so.
func SyncAlways(e Store) bool { return e.(*store).own.server.JetStreamConfig().SyncAlways }

// SetSpace says what is free on the disk.
func SetSpace(e Store, free int64) {
	h := e.(*store).own
	h.guard.space = func(string) (int64, error) { return free, nil }
	h.guard.seen.Store(nil)
}

// Break makes the server look like one whose disk has failed.
func Break(e Store) { e.(*store).own.log.Errorf("Critical write error: %s", "no space left") }

// Recent tells whether a server's version will do.
func Recent(version string) error { return recent(version) }

// Unseal reads an entry behind a position.
func Unseal(conversation string, at Position, data []byte) ([]Record, Position, error) {
	return unseal(conversation, at, data)
}

// Seal writes one.
func Seal(conversation string, at Position, records ...Record) ([]byte, Position, error) {
	return seal(conversation, at, records)
}

// Join puts parts together, each with its header.
func Join(headers []string, data []byte) []byte {
	var j joiner
	for _, h := range headers {
		if all, whole := j.add(nats.Header{partHeader: {h}}, data); whole {
			return all
		}
	}
	return nil
}
