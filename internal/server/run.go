package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// The bounds of a connection.
const (
	headerBytes = 64 << 10
	headerTime  = 10 * time.Second
	idleTime    = 5 * time.Minute
	farewell    = time.Second // to say goodbye when the grace is over
)

// Run serves on a listener, which it closes, until ctx ends. Then new requests
// are refused, waits end at once in a form that their clients may try again,
// and the answers that are under way when the grace is over.
//
// A listener that other machines can reach is refused unless there is a token.
func (s *Server) Run(ctx context.Context, l net.Listener) error {
	if err := s.guarded(l.Addr()); err != nil {
		return errors.Join(err, l.Close())
	}
	server := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: headerTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    headerBytes,
		ErrorLog:          slog.NewLogLogger(s.config.Log.Handler(), slog.LevelWarn),
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
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

// stop ends the server in good order.
func (s *Server) stop(ctx context.Context, server *http.Server) {
	s.config.Log.Info("stopping", "grace", s.config.Grace.String(), "do", "a second signal ends everything at once")
	s.drain()
	if shutdown(ctx, server, s.config.Grace) != nil {
		s.config.Gateway.Close()
		_ = shutdown(ctx, server, farewell)
	}
	_ = server.Close()
	ctx, cancel := context.WithTimeout(ctx, farewell)
	defer cancel()
	s.part(ctx)
}

// part waits until clients at WebSockets have been said goodbye.
func (s *Server) part(ctx context.Context) {
	parted := make(chan struct{})
	go func() { defer close(parted); s.sockets.Wait() }() // ends with the last of them
	select {
	case <-parted:
	case <-ctx.Done():
	}
}

// shutdown waits for a server's requests to end, so long at the most.
func shutdown(ctx context.Context, server *http.Server, d time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return server.Shutdown(ctx)
}

// guarded tells what is wrong with serving on an address: whoever reaches the
// gateway can use what it forwards to.
func (s *Server) guarded(addr net.Addr) error {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok || tcp.IP.IsLoopback() || s.config.Token != "" {
		return nil
	}
	return fmt.Errorf("%s is open to other machines and there is no token; set one, or listen on 127.0.0.1", addr)
}
