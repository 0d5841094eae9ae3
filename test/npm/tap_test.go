package npm_test

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// tap passes an agent's connections on to the gateway, byte by byte, and notes when the agent asks for an
// answer. While the gateway is down, connections are refused as they would be without the tap.
type tap struct {
	t       *testing.T
	gateway string // its address
	address string // where the agent connects to

	mu       sync.Mutex
	listener net.Listener
	conns    map[net.Conn]bool
	asked    []time.Time
	sent     []time.Time // when something was sent to the agent
	running  sync.WaitGroup
}

// newTap returns a tap in front of a gateway.
func newTap(t *testing.T, gateway string) *tap {
	t.Helper()
	p := &tap{t: t, gateway: gateway, address: "127.0.0.1:0", conns: map[net.Conn]bool{}}
	p.listen()
	p.address = p.listener.Addr().String()
	t.Cleanup(func() {
		p.close()
		p.mu.Lock()
		for c := range p.conns {
			_ = c.Close()
		}
		p.mu.Unlock()
		p.running.Wait()
	})
	return p
}

// close refuses connections until listen.
func (p *tap) close() { _ = p.listener.Close() }

func (p *tap) listen() {
	l, err := net.Listen("tcp", p.address)
	if err != nil {
		p.t.Fatalf("listen: %v", err)
	}
	p.listener = l
	p.running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.running.Go(func() { p.serve(c) })
		}
	})
}

// serve passes one connection on.
func (p *tap) serve(client net.Conn) {
	server, err := net.Dial("tcp", p.gateway)
	if err != nil {
		_ = client.Close()
		return
	}
	p.mu.Lock()
	p.conns[client], p.conns[server] = true, true
	p.mu.Unlock()
	read, write := io.Pipe()
	var both sync.WaitGroup
	both.Go(func() { p.note(bufio.NewReader(read)) })
	both.Go(func() {
		_, _ = io.Copy(server, io.TeeReader(client, write))
		_ = write.Close()
		_ = server.Close()
	})
	_, _ = io.Copy(toAgent{client, p}, server)
	_ = client.Close()
	both.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, client)
	delete(p.conns, server)
}

// note reads what a client sends and notes its requests for answers.
func (p *tap) note(r *bufio.Reader) {
	defer func() { _, _ = io.Copy(io.Discard, r) }() // the tee must not block
	for {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		if req.Method == http.MethodPost && asks(req.URL.Path) {
			p.ask()
		}
		if _, err := io.Copy(io.Discard, req.Body); err != nil {
			return
		}
		if req.Header.Get("Upgrade") != "" {
			p.noteFrames(r)
		}
	}
}

// noteFrames counts the messages of a WebSocket's client, until something else comes: it was refused.
func (p *tap) noteFrames(r *bufio.Reader) {
	for {
		head, err := r.Peek(2)
		const final, opcode, length = 0x80, 0x0f, 0x7f
		if err != nil || head[0]&final == 0 && head[0] > 2 {
			return
		}
		size := int64(head[1] & length)
		_, _ = r.Discard(2)
		switch size {
		case 126:
			var n uint16
			_ = binary.Read(r, binary.BigEndian, &n)
			size = int64(n)
		case 127:
			_ = binary.Read(r, binary.BigEndian, &size)
		}
		if code := head[0] & opcode; code == 1 || code == 2 { // text or binary, not the rest of one
			p.ask()
		}
		if _, err := io.CopyN(io.Discard, r, 4+size); err != nil { // the mask comes first
			return
		}
	}
}

// asks reports whether a path is one that generates.
func asks(path string) bool {
	for _, part := range []string{"/chat/completions", "/messages", "/responses", "enerateContent"} {
		if strings.HasSuffix(path, part) {
			return true
		}
	}
	return false
}

func (p *tap) ask() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, time.Now())
}

// since counts the requests after a time.
func (p *tap) since(at time.Time) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, asked := range p.asked {
		if asked.After(at) {
			n++
		}
	}
	return n
}

// toAgent notes when something is sent to the agent.
type toAgent struct {
	io.Writer
	tap *tap
}

// Write implements io.Writer.
func (w toAgent) Write(b []byte) (int, error) {
	w.tap.mu.Lock()
	w.tap.sent = append(w.tap.sent, time.Now())
	w.tap.mu.Unlock()
	return w.Writer.Write(b)
}

// silence returns the longest time between two others in which nothing was sent to the agent.
func (p *tap) silence(from, to time.Time) (longest time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, at := range append(slices.Clip(p.sent), to) {
		if at.After(from) && !at.After(to) {
			longest, from = max(longest, at.Sub(from)), at
		}
	}
	return longest
}
