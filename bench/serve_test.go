//go:build linux

package main_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"

	main "github.com/ridethrough/ridethrough/bench"
	"github.com/ridethrough/ridethrough/bench/internal/load"
	"github.com/ridethrough/ridethrough/bench/internal/peer"
	"github.com/ridethrough/ridethrough/internal/cli"
	"github.com/ridethrough/ridethrough/internal/cli/command"
)

// BenchmarkServe measures the allocations and the time of a request over sockets, with the whole `serve` as installed
// between client and upstream, and beside it the plain proxy, the sketch of a gateway, and none. All are in this
// process: what a proxy takes is the difference to "direct". One client asks, so that the figures hardly vary.
func BenchmarkServe(b *testing.B) {
	upstream, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatalf("listen: %v", err)
	}
	b.Cleanup(func() { _ = upstream.Close() })
	go func() { _ = peer.NewUpstream().Serve(upstream) }()
	to := &url.URL{Scheme: "http", Host: upstream.Addr().String()}
	answer, stream := peer.Scene{Kind: peer.Answer}.String(), peer.Scene{Kind: peer.Stream, Chunks: 50}.String()
	for _, bench := range []struct {
		name string
		ask  load.Ask
	}{
		{"1 KB", load.Ask{Scene: answer, Size: 1 << 10}},
		{"64 KB", load.Ask{Scene: answer, Size: 64 << 10}},
		{"512 KB", load.Ask{Scene: answer, Size: 512 << 10}},
		{"stream", load.Ask{Scene: stream, Size: 1 << 10, Stream: true}},
	} {
		b.Run(bench.name+"/direct", func(b *testing.B) { benchmarkAsk(b, to.Host, bench.ask) })
		b.Run(bench.name+"/ReverseProxy", func(b *testing.B) { benchmarkAsk(b, serveHandler(b, peer.Baseline(to)), bench.ask) })
		b.Run(bench.name+"/sketch", func(b *testing.B) { benchmarkAsk(b, serveHandler(b, peer.Sketch(to)), bench.ask) })
		b.Run(bench.name+"/ridethrough", func(b *testing.B) { benchmarkAsk(b, serveWhole(b, to), bench.ask) })
	}
}

// benchmarkAsk sends one request after the other.
func benchmarkAsk(b *testing.B, addr string, a load.Ask) {
	c, err := load.Dial(addr)
	if err != nil {
		b.Fatalf("dial: %v", err)
	}
	defer c.Close()
	r := load.NewBook(1).Request(addr, a)
	ask := func() {
		if got, err := c.Ask(r.Next()); err != nil || !got.Whole(a.Stream) {
			b.Fatalf("ask: got %+v, %v, want a whole answer", got, err)
		}
	}
	for range 100 {
		ask() // the pools fill
	}
	b.ReportAllocs()
	for b.Loop() {
		ask()
	}
}

// serveHandler serves a proxy and returns its address.
func serveHandler(b *testing.B, h http.Handler) string {
	s := httptest.NewServer(h)
	b.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// serveWhole runs `ridethrough serve` with its defaults and returns its address.
func serveWhole(b *testing.B, to *url.URL) string {
	addr, err := main.FreeAddress()
	if err != nil {
		b.Fatalf("free address: %v", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended, home, log := make(chan int), b.TempDir(), &listening{begun: make(chan struct{})}
	env := func(name string) string { return map[string]string{"HOME": home}[name] }
	go func() {
		ended <- cli.Run(ctx, []string{"serve", "--listen", addr, "--upstream", "openai=" + to.String() + "/v1"},
			command.Streams{Out: io.Discard, Err: log, Env: env})
	}()
	b.Cleanup(func() { stop(); <-ended })
	<-log.begun
	return addr
}

// listening is a log that waits for the line of a server that listens.
type listening struct {
	once  sync.Once
	begun chan struct{}
}

// Write implements io.Writer.
func (l *listening) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("listening")) {
		l.once.Do(func() { close(l.begun) })
	}
	return len(p), nil
}
