#!/usr/bin/env bash
# A publish to JetStream that got no answer is sent again with the same message id, for the stream keeps ids to know
# such a thing, and the answer is the first one's with Duplicate set. With an expected last sequence as well, as an
# append to a log has it, three replicas still answer so and one does not. With one replica (nats-server 2.15.3, nats.go
# 1.55.0) the sequence is looked at before the id, and the message's own first copy makes it wrong: error 10071, the
# same as for another writer's append. The writer takes its own success for a lost race, and a test on one server shows
# the opposite of the cluster. WithExpectLastMsgID, which names the message before by its id, gives the duplicate in
# both.
#
# Seen with Go 1.26, with three servers in one process, each message sent twice:
#	replicas 1, ExpectLastSequence: stored, wrong last sequence (10071)
#	replicas 1, ExpectLastSequencePerSubject: stored, wrong last sequence (10071)
#	replicas 1, ExpectLastMsgID: stored, duplicate
#	replicas 3, ExpectLastSequence: stored, duplicate
#	replicas 3, ExpectLastSequencePerSubject: stored, duplicate
#	replicas 3, ExpectLastMsgID: stored, duplicate
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
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
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

// cluster starts three servers and returns a client of theirs.
func cluster(dir string) jetstream.JetStream {
	var places []net.Listener
	var routes []*url.URL
	for range 3 {
		place := must(net.Listen("tcp", "127.0.0.1:0"))
		places = append(places, place)
		routes = append(routes, &url.URL{Scheme: "nats", Host: place.Addr().String()})
	}
	var servers []*server.Server
	for i, place := range places {
		place.Close()
		name := fmt.Sprint("s", i)
		s := must(server.NewServer(&server.Options{
			ServerName: name, Host: "127.0.0.1", Port: -1, NoLog: true, NoSigs: true,
			JetStream: true, StoreDir: filepath.Join(dir, name), Routes: routes,
			Cluster: server.ClusterOpts{Name: "three", Host: "127.0.0.1", Port: place.Addr().(*net.TCPAddr).Port},
		}))
		s.Start()
		servers = append(servers, s)
	}
	for _, s := range servers {
		if !s.ReadyForConnections(30 * time.Second) {
			panic("no server")
		}
	}
	return must(jetstream.New(must(nats.Connect(servers[0].ClientURL()))))
}

func main() {
	ctx := context.Background()
	js := cluster(os.Args[1])
	for _, replicas := range []int{1, 3} {
		name := fmt.Sprint("log", replicas)
		config := jetstream.StreamConfig{Name: name, Subjects: []string{name}, Replicas: replicas}
		_, err := js.CreateStream(ctx, config)
		for end := time.Now().Add(time.Minute); err != nil && time.Now().Before(end); _, err = js.CreateStream(ctx, config) {
			time.Sleep(200 * time.Millisecond) // until the cluster has a leader
		}
		must(0, err)
		for i, expect := range []struct {
			name   string
			option jetstream.PublishOpt
		}{
			{"ExpectLastSequence", jetstream.WithExpectLastSequence(0)},
			{"ExpectLastSequencePerSubject", jetstream.WithExpectLastSequencePerSubject(1)},
			{"ExpectLastMsgID", jetstream.WithExpectLastMsgID("id1")},
		} {
			fmt.Printf("replicas %d, %s:", replicas, expect.name)
			for try := range 2 {
				ack, err := js.Publish(ctx, name, []byte("entry"), jetstream.WithMsgID(fmt.Sprint("id", i)), expect.option)
				var refused *jetstream.APIError
				switch {
				case errors.As(err, &refused) && refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence:
					fmt.Print(" wrong last sequence (10071)")
				case err != nil:
					fmt.Print(" ", err)
				case ack.Duplicate:
					fmt.Print(" duplicate")
				default:
					fmt.Print(" stored")
				}
				fmt.Print([]string{",", "\n"}[try])
			}
		}
	}
}
END
go run . "$dir/stores" | tee seen
diff seen - <<'END'
replicas 1, ExpectLastSequence: stored, wrong last sequence (10071)
replicas 1, ExpectLastSequencePerSubject: stored, wrong last sequence (10071)
replicas 1, ExpectLastMsgID: stored, duplicate
replicas 3, ExpectLastSequence: stored, duplicate
replicas 3, ExpectLastSequencePerSubject: stored, duplicate
replicas 3, ExpectLastMsgID: stored, duplicate
END
