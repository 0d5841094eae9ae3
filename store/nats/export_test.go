package nats

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/ridethrough/ridethrough/store"
)

// Format is the number of the format that this version writes.
const Format = format

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

// IsDisconnected reports whether an error of an operation means that there was no connection.
var IsDisconnected = isDisconnected
