package http1_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/internal/http1"
)

// stored is a body that need not be read.
type stored struct {
	bytes.Reader
	text []byte
}

func (s *stored) Buffers(to net.Buffers) net.Buffers { return append(to, s.text) }
func (*stored) Close() error                         { return nil }

// client sends requests for a benchmark over one transport.
type client struct {
	name string
	rt   http.RoundTripper
	body func([]byte) io.ReadCloser
}

func plainBody(text []byte) io.ReadCloser  { return io.NopCloser(bytes.NewReader(text)) }
func storedBody(text []byte) io.ReadCloser { return &stored{*bytes.NewReader(text), text} }

func clients(b *testing.B) []client {
	theirs := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64}
	ours := &http1.Transport{}
	b.Cleanup(theirs.CloseIdleConnections)
	b.Cleanup(ours.CloseIdleConnections)
	return []client{{"net", theirs, plainBody}, {"ours", ours, plainBody}, {"ours-stored", ours, storedBody}}
}

// call sends one request and reads its answer as the gateway does.
func (c client) call(b *testing.B, req *http.Request, text, buf []byte) {
	req.Body = c.body(text)
	resp, err := c.rt.RoundTrip(req)
	if err != nil {
		b.Fatal(err)
	}
	for err == nil {
		_, err = resp.Body.Read(buf)
	}
	if err != io.EOF {
		b.Fatal(err)
	}
	resp.Body.Close()
}

// bare answers every request with the same bytes, in one write for each part,
// and costs no allocation: what is counted is the client's.
func bare(b *testing.B, texts ...string) (addr string) {
	parts := make([][]byte, len(texts))
	for i, text := range texts {
		parts[i] = []byte(text)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				buf := make([]byte, 128<<10)
				for swallow(conn, buf) {
					for _, part := range parts {
						_, _ = conn.Write(part)
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

// swallow reads one request; false: the connection has ended.
func swallow(conn net.Conn, buf []byte) bool {
	have, left := 0, -1
	for left != 0 {
		n, err := conn.Read(buf[have:])
		if err != nil {
			return false
		}
		if left > 0 {
			left -= n
			continue
		}
		have += n
		head := bytes.Index(buf[:have], []byte("\r\n\r\n"))
		if at := bytes.Index(buf[:have], []byte("Content-Length: ")); head > 0 && at > 0 {
			left = 0
			for _, d := range buf[at+len("Content-Length: ") : head] {
				if d == '\r' {
					break
				}
				left = 10*left + int(d-'0')
			}
			left, have = left-(have-head-4), 0
		}
	}
	return true
}

func benchmark(b *testing.B, addr string, sizes ...int) {
	for _, size := range sizes {
		text := bytes.Repeat([]byte("x"), size)
		for _, c := range clients(b) {
			b.Run(fmt.Sprintf("%dKiB/%s", size>>10, c.name), func(b *testing.B) {
				req, _ := http.NewRequestWithContext(b.Context(), "POST", "http://"+addr+"/v1/messages", bytes.NewReader(text))
				req.Header.Set("Content-Type", "application/json")
				req.Header.Set("Authorization", "Bearer none")
				req.Header.Set("User-Agent", "bench/1")
				buf := make([]byte, 16<<10)
				b.ReportAllocs()
				for b.Loop() {
					c.call(b, req, text, buf)
				}
			})
		}
	}
}

const fields = "Date: Mon, 02 Nov 2026 21:00:30 GMT\r\nServer: uvicorn\r\nrequest-id: req_0123456789\r\n"

// BenchmarkRequest holds a short answer to a request against net/http's.
func BenchmarkRequest(b *testing.B) {
	answer := strings.Repeat("y", 1<<10)
	addr := bare(b, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1024\r\n"+fields+"\r\n"+answer)
	benchmark(b, addr, 1<<10, 64<<10, 512<<10)
}

// BenchmarkStream holds an answer in 50 chunks against net/http's.
func BenchmarkStream(b *testing.B) {
	const event = "3d\r\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"words\"}}]}\n\n\r\n"
	parts := slices.Repeat([]string{event}, 51)
	parts[0] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n" + fields + "\r\n"
	benchmark(b, bare(b, append(parts, "0\r\n\r\n")...), 1<<10)
}

// BenchmarkCoalesced holds an answer whose chunks come together against
// net/http's.
func BenchmarkCoalesced(b *testing.B) {
	const event = "3d\r\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"words\"}}]}\n\n\r\n"
	head := "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n" + fields + "\r\n"
	benchmark(b, bare(b, head+strings.Repeat(event, 50)+"0\r\n\r\n"), 1<<10)
}
