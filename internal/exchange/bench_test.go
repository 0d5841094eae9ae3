package exchange_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/internal/cork"
	"github.com/ridethrough/ridethrough/internal/exchange"
)

// BenchmarkListener measures a request on a kept connection, which net/http reads while the answer is made.
func BenchmarkListener(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatalf("listen: %v", err)
	}
	server := &http.Server{
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       5 * time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body := exchange.Bound(w, r, exchange.Unread())
			exchange.Bound(w, r, exchange.Default())
			_, _ = io.Copy(w, r.Body)
			body.Finish(w)
		}),
	}
	go func() { _ = server.Serve(exchange.Listener{Listener: cork.Listener{Listener: l}}) }()
	b.Cleanup(func() { _ = server.Close() })
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatalf("dial: %v", err)
	}
	defer c.Close()
	text := fmt.Appendf(nil, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
	answers := bufio.NewReader(c)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Write(text); err != nil {
			b.Fatalf("send: %v", err)
		}
		resp, err := http.ReadResponse(answers, nil)
		if err != nil {
			b.Fatalf("read the answer: %v", err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
	}
}
