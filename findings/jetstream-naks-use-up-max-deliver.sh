#!/usr/bin/env bash
# BackOff of a JetStream consumer (nats.go 1.55.0, nats-server 2.15.3) spaces out nothing that a worker refuses. A plain
# Nak brings the message back at once, so that a dependency that is down for a second uses up MaxDeliver 4 within
# milliseconds. The message then stays in a work-queue stream, and the consumer that owes it counts 0 pending and 0
# unacknowledged: no worker gets it again, and a look at the backlog shows none. nats.go's advice is NakWithDelay, and
# there BackOff takes part unasked: the server waits for the delay and also for what the step of BackOff has more than
# the first one. With steps of 1 s and 4 s a delay of 2 s is 5 s from the second time on.
#
# Seen with Go 1.26, with MaxDeliver 4 and BackOff 1 s, 4 s; seconds from the first delivery on:
#	no answer: delivered at 0 1 5 9
#	Nak: delivered at 0 0 0 0
#	NakWithDelay(2 s): delivered at 0 2 7 12
#	NakWithDelay(2 s), without BackOff: delivered at 0 2 4 6
#	after the Naks: in the stream 1, pending 0, unacknowledged 0
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
	"context"
	"fmt"
	"os"
	"sync"
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
	steps := []time.Duration{time.Second, 4 * time.Second}
	ways := []struct {
		name    string
		backOff []time.Duration
		answer  func(jetstream.Msg) error
	}{
		{"no answer", steps, func(jetstream.Msg) error { return nil }},
		{"Nak", steps, func(m jetstream.Msg) error { return m.Nak() }},
		{"NakWithDelay(2 s)", steps, func(m jetstream.Msg) error { return m.NakWithDelay(2 * time.Second) }},
		{"NakWithDelay(2 s), without BackOff", nil, func(m jetstream.Msg) error { return m.NakWithDelay(2 * time.Second) }},
	}
	said := make([]string, len(ways)+1)
	var all sync.WaitGroup
	for i, way := range ways {
		all.Go(func() {
			name := fmt.Sprint("jobs", i)
			stream := must(js.CreateStream(ctx, jetstream.StreamConfig{Name: name, Subjects: []string{name}, Retention: jetstream.WorkQueuePolicy}))
			worker := must(stream.CreateConsumer(ctx, jetstream.ConsumerConfig{Durable: "worker", MaxDeliver: 4, BackOff: way.backOff}))
			must(js.Publish(ctx, name, []byte("job")))
			said[i] = way.name + ": delivered at"
			var first time.Time
			for {
				m, err := worker.Next(jetstream.FetchMaxWait(7 * time.Second))
				if err != nil {
					break
				}
				if first.IsZero() {
					first = time.Now()
				}
				said[i] += fmt.Sprintf(" %.0f", time.Since(first).Seconds())
				if err := way.answer(m); err != nil {
					panic(err)
				}
			}
			if way.name == "Nak" {
				owed := must(worker.Info(ctx))
				said[len(ways)] = fmt.Sprintf("after the Naks: in the stream %d, pending %d, unacknowledged %d",
					must(stream.Info(ctx)).State.Msgs, owed.NumPending, owed.NumAckPending)
			}
		})
	}
	all.Wait()
	for _, line := range said {
		fmt.Println(line)
	}
}
END
go run . "$dir/store" | tee seen
diff seen - <<'END'
no answer: delivered at 0 1 5 9
Nak: delivered at 0 0 0 0
NakWithDelay(2 s): delivered at 0 2 7 12
NakWithDelay(2 s), without BackOff: delivered at 0 2 4 6
after the Naks: in the stream 1, pending 0, unacknowledged 0
END
