package http1_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ridethrough/ridethrough/internal/http1"
)

// whimsical answers with the request's own number, in chunks or not, early or
// late, and now and then breaks off or closes the connection.
func whimsical(w http.ResponseWriter, r *http.Request) {
	random := rand.IntN(100)
	_ = http.NewResponseController(w).EnableFullDuplex()
	if random >= 10 {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			panic(http.ErrAbortHandler)
		}
	}
	if random < 20 {
		w.Header().Set("Connection", "close")
	}
	line := strings.Repeat(r.URL.Query().Get("n")+"\n", 100)
	if random%2 == 0 {
		w.Header().Set("Content-Length", strconv.Itoa(10*len(line)))
	}
	for i := range 10 {
		if random > 95 && i == 5 {
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, line)
		_ = http.NewResponseController(w).Flush()
	}
}

// TestTransport_ManyRequestsAtOnce sends requests of all kinds, leaves some of
// them at any moment, and wants each answer to be its own. It ends when every
// connection and every body has been closed.
func TestTransport_ManyRequestsAtOnce(t *testing.T) {
	var open sync.WaitGroup
	var whole, left, failed atomic.Int64
	addr, stop := upstream(t)
	rt := &http1.Transport{IdlePerHost: 20, Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err == nil {
			open.Add(1)
			conn = &counted{TCPConn: conn.(*net.TCPConn), open: &open}
		}
		return conn, err
	}}
	var callers sync.WaitGroup
	for caller := range 50 {
		callers.Go(func() {
			for i := range 25 {
				n := fmt.Sprintf("%d.%d", caller, i)
				switch err := visit(t, rt, &open, addr, n); {
				case err == nil:
					whole.Add(1)
				case errors.Is(err, errLeft):
					left.Add(1)
				default:
					failed.Add(1)
				}
			}
		})
	}
	callers.Wait()
	rt.CloseIdleConnections()
	stop()
	open.Wait()
	if whole.Load() == 0 || left.Load() == 0 || failed.Load() == 0 || failed.Load() > 1000 {
		t.Errorf("%d whole, %d left, %d failed", whole.Load(), left.Load(), failed.Load())
	}
}

// upstream serves whimsical on a socket.
func upstream(t *testing.T) (addr string, stop func()) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	server := http.Server{Handler: http.HandlerFunc(whimsical)}
	ended := make(chan error)
	go func() { ended <- server.Serve(l) }()
	return l.Addr().String(), func() {
		_ = server.Close()
		<-ended
	}
}

// counted is a connection that is counted while it is open.
type counted struct {
	*net.TCPConn
	once sync.Once
	open *sync.WaitGroup
}

func (c *counted) Close() error {
	c.once.Do(c.open.Done)
	return c.TCPConn.Close()
}

// tracked is a body that is counted while it is open.
type tracked struct {
	io.Reader
	open *sync.WaitGroup
}

func (b tracked) Close() error {
	b.open.Done()
	return nil
}

// visit sends one request and holds the answer against its number.
func visit(t *testing.T, rt *http1.Transport, open *sync.WaitGroup, addr, n string) error {
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	if rand.IntN(4) == 0 {
		go func() {
			for range rand.IntN(2000) {
				runtime.Gosched()
			}
			cancel(errLeft)
		}()
	}
	changes := [][]func(*http.Request){nil, {inMemory}, {streamed}, {unsized}}[rand.IntN(4)]
	body := long[:1+rand.IntN([]int{100, 5000, 100_000, len(long) - 1}[rand.IntN(4)])]
	req := request("POST", "http://"+addr+"/?n="+n, body, changes...)(ctx)
	if _, ok := req.Body.(*stored); !ok {
		open.Add(1)
		req.Body = tracked{req.Body, open}
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	lines, in := 0, bufio.NewScanner(resp.Body)
	for in.Scan() {
		if got := in.Text(); got != n && (in.Err() == nil && ctx.Err() == nil && !strings.HasPrefix(n, got)) {
			t.Errorf("%s got the answer of %s", n, got)
		}
		if lines++; rand.IntN(3000) == 0 {
			return errLeft
		}
	}
	if in.Err() == nil && lines != 1000 {
		t.Errorf("%s: %d lines, and no error", n, lines)
	}
	return in.Err()
}
