package simulator_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
)

// pair returns the two ends of a connection over a pipe.
func pair(t *testing.T) (client, server net.Conn) {
	t.Helper()
	pipe := simulator.NewPipe()
	defer pipe.Close()
	accepted := make(chan net.Conn)
	go func() {
		conn, err := pipe.Accept()
		if err != nil {
			t.Errorf("accept: %v", err)
		}
		accepted <- conn
	}()
	client, err := pipe.DialContext(t.Context(), "tcp", "anywhere:80")
	if err != nil {
		t.Fatalf("dial context: %v", err)
	}
	return client, <-accepted
}

func TestPipe_ClosedRefusesDials(t *testing.T) {
	pipe := simulator.NewPipe()
	if err := errors.Join(pipe.Close(), pipe.Close()); err != nil {
		t.Errorf("join: %v", err)
	}
	_, err := pipe.DialContext(t.Context(), "tcp", "anywhere:80")
	if op, ok := errors.AsType[*net.OpError](err); !ok || op.Op != "dial" || !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("dial: %v", err)
	}
	if _, err := pipe.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("accept: %v", err)
	}
}

func TestPipe_DialEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		begin := time.Now()
		_, err := simulator.NewPipe().DialContext(ctx, "tcp", "anywhere:80")
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != time.Hour {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
	})
}

func TestPipe_CloseAfterSetLingerIsAReset(t *testing.T) {
	for _, linger := range []bool{true, false} {
		client, server := pair(t)
		if linger {
			_ = server.(interface{ SetLinger(int) error }).SetLinger(0)
		}
		_ = server.Close()
		_, read := client.Read(make([]byte, 1))
		_, write := client.Write([]byte("x"))
		if got := errors.Is(read, syscall.ECONNRESET); got != linger {
			t.Errorf("read: %v", read)
		}
		if got := errors.Is(write, syscall.ECONNRESET); got != linger {
			t.Errorf("write: %v", write)
		}
		if !linger && read != io.EOF {
			t.Errorf("read: %v, want the end", read)
		}
	}
}

func TestPipe_ServesInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pipe := simulator.NewPipe()
		server := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Hour)
			_, _ = io.WriteString(w, r.Host)
		})}
		ended := make(chan error)
		go func() { ended <- server.Serve(pipe) }()
		transport := &http.Transport{DialContext: pipe.DialContext}
		got := post(t.Context(), &http.Client{Transport: transport}, "http://gateway", "")
		if got.body != "gateway" || pipe.Addr().Network() != "pipe" || pipe.Addr().String() != "pipe" {
			t.Errorf("got %+v", got)
		}
		transport.CloseIdleConnections()
		_ = server.Close()
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("serve: %v", err)
		}
	})
}
