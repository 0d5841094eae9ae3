#!/usr/bin/env bash
# A NATS key with a time to live loses it at the first renewal: KeyTTL is an option of kv.Create alone, and kv.Update
# and kv.Put of nats.go 1.55.0 write a revision without one. The package's word that Update "also resets the TTL" reads
# like a renewal; with nats-server 2.15.3 it is the end of the limit. A lease or lock that its holder keeps alive in
# this way outlives a holder that crashes, and the next one's Create fails with "key exists". What does renew is a
# publish to the key's subject with WithMsgTTL and WithExpectLastSequencePerSubject. A fraction of a second is cut off
# without a word: a key of 1.9 s is gone before that.
#
# Seen with Go 1.26, of keys made with KeyTTL(3 s), but for the last, 8 s later:
#	left alone: gone after its time
#	Update: still there, TTL of the revision: none, Create: key exists
#	Put: still there, TTL of the revision: none, Create: key exists
#	published again with a TTL: gone after its time
#	KeyTTL(1.9 s): gone before its time
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
export GOFLAGS=-mod=mod
go mod init try 2>/dev/null
go get github.com/nats-io/nats.go@v1.55.0 github.com/nats-io/nats-server/v2@v2.15.3 2>/dev/null
cat >main.go <<'END'
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func main() {
	ctx := context.Background()
	s := must(server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: os.Args[1], NoLog: true, NoSigs: true}))
	s.Start()
	defer s.Shutdown()
	if !s.ReadyForConnections(30 * time.Second) {
		panic("no server")
	}
	js := must(jetstream.New(must(nats.Connect(s.ClientURL()))))
	kv := must(js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "leases", LimitMarkerTTL: time.Hour}))
	stream := must(js.Stream(ctx, "KV_leases"))

	type lease struct {
		what, key string
		ttl, gone time.Duration
		made      time.Time
		renew     func(key string, rev uint64) (uint64, error)
	}
	leases := []*lease{
		{what: "left alone"},
		{what: "Update", renew: func(key string, rev uint64) (uint64, error) { return kv.Update(ctx, key, nil, rev) }},
		{what: "Put", renew: func(key string, _ uint64) (uint64, error) { return kv.Put(ctx, key, nil) }},
		{what: "published again with a TTL", renew: func(key string, rev uint64) (uint64, error) {
			ack, err := js.Publish(ctx, "$KV.leases."+key, nil, jetstream.WithMsgTTL(3*time.Second), jetstream.WithExpectLastSequencePerSubject(rev))
			return ack.Sequence, err
		}},
		{what: "KeyTTL(1.9 s)", ttl: 1900 * time.Millisecond},
	}
	for i, l := range leases {
		l.key, l.ttl, l.made = fmt.Sprint(i), cmp.Or(l.ttl, 3*time.Second), time.Now()
		rev := must(kv.Create(ctx, l.key, nil, jetstream.KeyTTL(l.ttl)))
		if l.renew != nil {
			must(l.renew(l.key, rev))
		}
	}
	for end := time.Now().Add(8 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		for _, l := range leases {
			if _, err := kv.Get(ctx, l.key); l.gone == 0 && errors.Is(err, jetstream.ErrKeyNotFound) {
				l.gone = time.Since(l.made)
			}
		}
	}
	for _, l := range leases {
		switch {
		case l.gone == 0:
			last := must(stream.GetLastMsgForSubject(ctx, "$KV.leases."+l.key))
			_, err := kv.Create(ctx, l.key, nil)
			fmt.Printf("%s: still there, TTL of the revision: %s, Create: ", l.what, cmp.Or(last.Header.Get("Nats-TTL"), "none"))
			if errors.Is(err, jetstream.ErrKeyExists) {
				err = errors.New("key exists")
			}
			fmt.Println(err)
		case l.gone < l.ttl:
			fmt.Println(l.what + ": gone before its time")
		default:
			fmt.Println(l.what + ": gone after its time")
		}
	}
}
END
go run . "$dir/store" | tee seen
diff seen - <<'END'
left alone: gone after its time
Update: still there, TTL of the revision: none, Create: key exists
Put: still there, TTL of the revision: none, Create: key exists
published again with a TTL: gone after its time
KeyTTL(1.9 s): gone before its time
END
