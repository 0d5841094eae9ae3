package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/ridethrough/ridethrough/internal/cork"
	"github.com/ridethrough/ridethrough/internal/exchange"
)

const (
	headerBytes = 64 << 10
	headerTime  = 10 * time.Second
	idleTime    = 5 * time.Minute
	closeTime   = time.Second // to close connections when the grace is over

	streamsBound = 2000 // requests at a time on one connection with HTTP/2: a client's may all wait
)

// Run serves on a listener, which it closes, until ctx ends. Then it refuses new requests and ends waits at once,
// in a form that their clients may retry. Answers in progress end when the grace is over. It refuses a listener
// that other machines can reach unless there is a token.
func (s *Server) Run(ctx context.Context, l net.Listener) error {
	reachable := isReachable(l.Addr())
	if reachable && !s.needsToken() { // every client of the gateway can use its upstreams
		return errors.Join(fmt.Errorf("listen on %s: other machines can reach it and there is no token; set one, or listen on 127.0.0.1", l.Addr()), l.Close())
	}
	if s.config.TLS == nil && reachable {
		s.config.Log.Warn("clients send their token, prompts and keys unencrypted", "fix", "set tls in the configuration, or let a proxy with TLS on this machine ask 127.0.0.1")
	}
	var speaks http.Protocols // HTTP/2 without TLS too, in which the AWS SDK for JavaScript begins
	speaks.SetHTTP1(true)
	speaks.SetHTTP2(true)
	speaks.SetUnencryptedHTTP2(true)
	server := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: headerTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    headerBytes,
		TLSConfig:         s.config.TLS,
		Protocols:         &speaks,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: streamsBound},
		ConnContext:       cork.Context,
		ErrorLog:          slog.NewLogLogger(s.config.Log.Handler(), slog.LevelWarn),
	}
	ended := make(chan error, 1)
	go func() { ended <- s.serve(server, l) }()
	select {
	case err := <-ended:
		s.drain()
		s.config.Gateway.Close()
		return errors.Join(err, server.Close())
	case <-ctx.Done():
	}
	s.stop(context.WithoutCancel(ctx), server)
	<-ended
	return nil
}

func (s *Server) serve(server *http.Server, l net.Listener) error {
	if s.config.TLS != nil {
		return server.ServeTLS(exchange.Listener{Listener: l}, "", "")
	}
	return server.Serve(exchange.Listener{Listener: cork.Listener{Listener: l}})
}

func (s *Server) stop(ctx context.Context, server *http.Server) {
	s.config.Log.Info("stopping", "grace", s.config.Grace.String(), "hint", "a second signal ends everything at once")
	s.drain()
	if s.shutdown(ctx, server, s.config.Grace) != nil {
		s.config.Gateway.Close()
		_ = s.shutdown(ctx, server, closeTime)
	}
	_ = server.Close()
	ctx, cancel := context.WithTimeout(ctx, closeTime)
	defer cancel()
	s.readers.WaitSockets(ctx)
}

// shutdown waits at most d for a server's requests and the gateway's WebSockets to end.
func (s *Server) shutdown(ctx context.Context, server *http.Server, d time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return errors.Join(server.Shutdown(ctx), s.config.Gateway.WaitSockets(ctx))
}

func isReachable(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return ok && !tcp.IP.IsLoopback()
}
