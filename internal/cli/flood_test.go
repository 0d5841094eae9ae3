//go:build linux && !race

package cli_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

var flood = flag.Bool("flood", false, "flood the gateway with 60 bodies that never end, instead of 12")

// most is how much memory `serve` may take under a flood, in bytes.
const most = 300 << 20

// TestServe_MemoryIsBoundedUnderFloods measures the program with its defaults.
func TestServe_MemoryIsBoundedUnderFloods(t *testing.T) {
	if testing.Short() {
		t.Skip("sends hundreds of megabytes")
	}
	endless := 12
	if *flood {
		endless = 60
	}
	for _, f := range []struct {
		name string
		send func(flooded)
	}{
		{"100 bodies of 31 KB of gzip, 31 MiB each", func(g flooded) { g.sendZipped(100) }},
		{fmt.Sprintf("%d bodies of 31 MiB that never end", endless), func(g flooded) { g.sendEndless(endless, endlessBody) }},
		{fmt.Sprintf("%d frames of 31 MiB that never end", endless), func(g flooded) { g.sendEndless(endless, endlessFrame) }},
	} {
		t.Run(f.name, func(t *testing.T) {
			g := startFlooded(t)
			before := g.peak()
			f.send(g)
			after := g.peak()
			t.Logf("peak of the resident memory: %d MiB before, %d MiB after", before>>20, after>>20)
			if after > most {
				t.Errorf("peak of the resident memory: %d MiB, want at most %d MiB", after>>20, most>>20)
			}
			answer, err := http.Post("http://"+g.at+"/v1/messages", "application/json", strings.NewReader(`{"model":"quick","messages":[]}`))
			if err != nil {
				t.Fatalf("a request during the flood: %v", err)
			}
			defer answer.Body.Close()
			if answer.StatusCode != http.StatusOK {
				t.Errorf("a request during the flood: status %d, want 200", answer.StatusCode)
			}
		})
	}
}

// flooded is a `serve` in a process of its own. Its provider answers no request but those for the model quick.
type flooded struct {
	t   *testing.T
	pid int
	at  string // HOST:PORT

	forwarded chan struct{} // gets a value for each request that its provider does not answer
}

func startFlooded(t *testing.T) flooded {
	end, forwarded := make(chan struct{}), make(chan struct{}, 1000)
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(io.LimitReader(r.Body, 100))
		if bytes.Contains(text, []byte("quick")) {
			_, _ = io.WriteString(w, `{"type":"message","content":[{"type":"text","text":"Hi"}]}`)
			return
		}
		forwarded <- struct{}{}
		_, _ = io.Copy(io.Discard, r.Body)
		<-end
	}))
	home := t.TempDir()
	cmd := exec.Command("ridethrough", "serve", "--listen", "127.0.0.1:0", "--upstream", "anthropic="+provider.URL)
	cmd.Env = append(os.Environ(), awake, "HOME="+home, "XDG_CONFIG_HOME="+filepath.Join(home, "config"), "XDG_STATE_HOME="+home, "XDG_DATA_HOME="+home)
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatalf("stderr: %v", err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start: %v", err)
	}
	at := make(chan string, 1)
	var read sync.WaitGroup
	read.Go(func() {
		for lines := bufio.NewScanner(log); lines.Scan(); {
			var line struct{ Msg, URL string }
			if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "listening" {
				at <- strings.TrimPrefix(line.URL, "http://")
			}
		}
	})
	t.Cleanup(func() {
		close(end)
		_ = cmd.Process.Signal(syscall.SIGKILL)
		read.Wait()
		_ = cmd.Wait()
		provider.CloseClientConnections()
		provider.Close()
	})
	select {
	case address := <-at:
		return flooded{t, cmd.Process.Pid, address, forwarded}
	case <-time.After(time.Minute):
		t.Fatal("serve does not listen after a minute")
	}
	return flooded{}
}

// peak returns the peak of the resident memory so far, in bytes.
func (f flooded) peak() int64 {
	f.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", f.pid))
	if err != nil {
		f.t.Skip("it needs /proc")
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	number, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	kb, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		f.t.Fatalf("VmHWM: %v", err)
	}
	return kb << 10
}

// dial returns a connection that lasts as long as the test.
func (f flooded) dial() net.Conn {
	f.t.Helper()
	c, err := net.Dial("tcp", f.at)
	if err != nil {
		f.t.Fatalf("dial: %v", err)
	}
	f.t.Cleanup(func() { _ = c.Close() })
	return c
}

// sendZipped sends bodies of 31 MiB whose model comes last, compressed, and waits until all are forwarded.
func (f flooded) sendZipped(n int) {
	var zipped bytes.Buffer
	z, _ := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
	_, _ = io.WriteString(z, `{"messages":[{"role":"user","content":"`)
	_, _ = z.Write(bytes.Repeat([]byte("a"), 31<<20))
	_, _ = io.WriteString(z, `"}],"model":"m","stream":true}`)
	_ = z.Close()
	for range n {
		c := f.dial()
		fmt.Fprintf(c, "POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n", zipped.Len())
		if _, err := c.Write(zipped.Bytes()); err != nil {
			f.t.Fatalf("write: %v", err)
		}
	}
	for range n {
		<-f.forwarded
	}
}

// What begins a body, and a frame of a WebSocket, whose last byte never comes.
var (
	endlessBody  = fmt.Sprintf("POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n", 31<<20+1)
	endlessFrame = "GET /v1/responses HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n" +
		"\x81\xff\x00\x00\x00\x00\x01\xf0\x00\x01\x00\x00\x00\x00" // text of 31 MiB and a byte, with the mask 0
)

// sendEndless opens n connections with a beginning, and sends 31 MiB after each.
func (f flooded) sendEndless(n int, begin string) {
	noise := make([]byte, 1<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise)
	var senders sync.WaitGroup
	for range n {
		c := f.dial()
		senders.Go(func() {
			_, _ = io.WriteString(c, begin)
			for range 31 {
				if _, err := c.Write(noise); err != nil {
					return // it is refused
				}
			}
		})
	}
	senders.Wait()
}
