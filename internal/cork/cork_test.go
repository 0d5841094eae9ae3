package cork_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/internal/cork"
)

// kernel is a connection that keeps what each write has brought.
type kernel struct {
	net.Conn
	mu     sync.Mutex
	writes [][]byte
	broken error // of every write; nil: they succeed
	gate   chan struct{}
	closed bool
}

func (k *kernel) Write(p []byte) (int, error) {
	if k.gate != nil {
		<-k.gate
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.broken != nil {
		return 0, k.broken
	}
	k.writes = append(k.writes, bytes.Clone(p))
	return len(p), nil
}

func (k *kernel) SetWriteDeadline(time.Time) error { return nil }

func (k *kernel) Close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	return nil
}

// text returns all that was written.
func (k *kernel) text() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return string(bytes.Join(k.writes, nil))
}

// number returns how many writes there were.
func (k *kernel) number() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.writes)
}

// write writes to a connection, which must not fail.
func write(t *testing.T, c net.Conn, p string) {
	t.Helper()
	if n, err := io.WriteString(c, p); n != len(p) || err != nil {
		t.Fatalf("write of %d bytes: got %d, %v; want all and no error", len(p), n, err)
	}
}

func TestConn_SmallWritesGoTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &kernel{gate: make(chan struct{})}
		c := cork.BelowTLS(k)
		write(t, c, "header ")
		write(t, c, "body ")
		close(k.gate)
		synctest.Wait()
		if got := k.text(); got != "header body " || len(k.writes) > 2 {
			t.Errorf("two small writes: got %q in %d writes, want both in their order in at most 2", got, len(k.writes))
		}
		write(t, c, "later")
		synctest.Wait()
		if got := k.text(); got != "header body later" {
			t.Errorf("one more write: got %q in all, want it behind the others", got)
		}
	})
}

func TestConn_LargeWriteTakesTheSmallOnesAlong(t *testing.T) {
	large := string(bytes.Repeat([]byte("x"), 64<<10))
	synctest.Test(t, func(t *testing.T) {
		k := &kernel{}
		c := cork.BelowTLS(k)
		write(t, c, "header ")
		write(t, c, large)
		if got := k.text(); got != "header "+large {
			t.Errorf("a large write has returned: got %d bytes at the kernel, want all %d", len(got), len("header "+large))
		}
	})
}

func TestConn_RecordsOfABodyGoTogether(t *testing.T) {
	record := string(bytes.Repeat([]byte("r"), 16<<10+22))
	for _, tt := range []struct {
		name    string
		parts   []string
		want    int // writes
		waiting time.Duration
	}{
		{"four", []string{record, record, record, record}, 1, time.Millisecond},
		{"with an end that is shorter", []string{record, record, record[:8<<10]}, 1, 0},
		{"nine", slices.Repeat([]string{record}, 9), 3, time.Millisecond},
		{"one, and more than one", []string{record, record + record}, 1, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			k := &kernel{}
			c := cork.BelowTLS(k)
			for _, part := range tt.parts {
				write(t, c, part)
			}
			time.Sleep(tt.waiting)
			synctest.Wait()
			if got, want := k.text(), strings.Join(tt.parts, ""); got != want || len(k.writes) != tt.want {
				t.Errorf("%s: got %d bytes in %d writes after %v, want all %d in %d", tt.name, len(got), len(k.writes), tt.waiting, len(want), tt.want)
			}
		})
	}
}

func TestConn_RecordsTakeTheHeaderAlong(t *testing.T) {
	record := string(bytes.Repeat([]byte("r"), 16<<10))
	synctest.Test(t, func(t *testing.T) {
		k := &kernel{gate: make(chan struct{})}
		c := cork.BelowTLS(k)
		want := "header" + strings.Repeat(record, 3) + "end"
		for _, part := range []string{"header", record, record, record, "end"} {
			write(t, c, part)
		}
		close(k.gate)
		synctest.Wait()
		if got := k.text(); got != want || len(k.writes) > 2 {
			t.Errorf("a header, records and an end: got %d bytes in %d writes, want all %d in at most 2", len(got), len(k.writes), len(want))
		}
	})
}

func TestConn_ManyWritersKeepTheirBytesWhole(t *testing.T) {
	client, server := net.Pipe()
	c := cork.BelowTLS(client)
	sizes := []int{1, 100, 3000, 4096, 16_400, 20_000, 100_000}
	var writers sync.WaitGroup
	total := 0
	for i, size := range sizes {
		for range 20 {
			total += size
			writers.Go(func() { _, _ = c.Write(bytes.Repeat([]byte{byte('a' + i)}, size)) })
		}
	}
	go func() { writers.Wait(); _ = c.Close() }()
	got, err := io.ReadAll(server)
	if err != nil || len(got) != total {
		t.Fatalf("all writes: got %d bytes, error %v; want %d and none", len(got), err, total)
	}
	for i, size := range sizes {
		letter := byte('a' + i)
		if n := bytes.Count(got, []byte{letter}); n != 20*size {
			t.Errorf("writes of %d bytes: got %d bytes, want %d", size, n, 20*size)
		}
		for at := bytes.IndexByte(got, letter); at >= 0 && at < len(got); {
			end := at
			for end < len(got) && got[end] == letter {
				end++
			}
			if (end-at)%size != 0 {
				t.Fatalf("a write of %d bytes: got a row of %d, want whole ones", size, end-at)
			}
			next := bytes.IndexByte(got[end:], letter)
			if next < 0 {
				break
			}
			at = end + next
		}
	}
}

func TestListener_KeepsPiecesOfWhichAnotherFollows(t *testing.T) {
	piece := string(bytes.Repeat([]byte("x"), 4<<10))
	for _, tt := range []struct {
		name  string
		parts []string
		keep  int // the part before which KeepNext is called; -1: it is not
		want  int // writes
	}{
		{"small parts", []string{"one", "two"}, -1, 2},
		{"a part that fills the buffer", []string{piece, "rest", "end"}, -1, 2},
		{"the end of a body", []string{piece, "rest", "end"}, 1, 1},
		{"a part for which there is no room", []string{strings.Repeat(piece, 17)}, 0, 1},
	} {
		writes := 0
		for tries := 0; tries < 100 && writes != tt.want; tries++ { // a busy machine may take a kept part for one that nothing follows
			k := &kernel{}
			c := cork.BelowServer(k)
			ctx, all := cork.Context(t.Context(), c), ""
			for i, part := range tt.parts {
				if i == tt.keep {
					cork.KeepNext(ctx)
				}
				all += part
				write(t, c, part)
			}
			got := k.text()
			if writes = k.number(); got != all || writes < tt.want {
				t.Fatalf("%s: got %d bytes in %d writes, want %d in %d", tt.name, len(got), writes, len(all), tt.want)
			}
		}
		if writes != tt.want {
			t.Errorf("%s: got %d writes, want %d", tt.name, writes, tt.want)
		}
	}
}

func TestListener_WritesWhatNothingFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &kernel{}
		c := cork.BelowServer(k)
		write(t, c, string(make([]byte, 4<<10)))
		synctest.Wait()
		if got := len(k.text()); got != 4<<10 {
			t.Errorf("a part that fills the buffer, and no other: got %d bytes written, want all", got)
		}
	})
}

func TestKeepNext_WithoutAConnection(t *testing.T) {
	client, server := net.Pipe()
	defer client.Close()
	defer server.Close()
	cork.KeepNext(cork.Context(t.Context(), client)) // does not panic
}

func TestConn_ErrorIsThatOfLaterWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken pipe")
		c := cork.BelowTLS(&kernel{broken: broken})
		write(t, c, "small")
		synctest.Wait()
		for _, p := range [][]byte{[]byte("small"), make([]byte, 64<<10)} {
			if n, err := c.Write(p); n != 0 || err != broken {
				t.Errorf("write of %d bytes after one that failed: got %d, %v; want 0, %v", len(p), n, err, broken)
			}
		}
	})
}

func TestConn_CloseWritesWhatIsLeft(t *testing.T) {
	k := &kernel{}
	c := cork.BelowTLS(k)
	write(t, c, "goodbye")
	if err := c.Close(); err != nil || k.text() != "goodbye" || !k.closed {
		t.Errorf("close: got %v, %q written, closed %v; want no error, all, and closed", err, k.text(), k.closed)
	}
	if _, err := io.WriteString(c, "more"); !errors.Is(err, net.ErrClosed) {
		t.Errorf("write after close: got %v, want net.ErrClosed", err)
	}
}

func TestConn_CloseDoesNotWaitForTheOtherSide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		defer server.Close()
		c := cork.BelowTLS(client)
		write(t, c, "goodbye")
		began := time.Now()
		if err := c.Close(); err != nil || time.Since(began) > time.Second {
			t.Errorf("close: got %v after %v, want no error at once", err, time.Since(began))
		}
	})
}

func TestConn_DeadlineEndsAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		defer server.Close()
		c := cork.BelowTLS(client)
		defer c.Close()
		_ = c.SetWriteDeadline(time.Now().Add(time.Second))
		if _, err := c.Write(make([]byte, 64<<10)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("write that is not read: got %v, want a deadline error", err)
		}
	})
}

func TestDial_ReturnsTheErrorOfTheOther(t *testing.T) {
	refused := errors.New("refused")
	dial := cork.Dial(func(context.Context, string, string) (net.Conn, error) { return nil, refused })
	if c, err := dial(t.Context(), "tcp", "127.0.0.1:1"); c != nil || err != refused {
		t.Errorf("dial: got %v, %v; want no connection and %v", c, err, refused)
	}
}

// BenchmarkConn writes a request as net/http does over TLS: its header, then its body.
func BenchmarkConn(b *testing.B) {
	for _, corked := range []bool{false, true} {
		name := "direct"
		if corked {
			name = "corked"
		}
		b.Run(name, func(b *testing.B) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatalf("listen: %v", err)
			}
			defer l.Close()
			c, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				b.Fatalf("dial: %v", err)
			}
			server, err := l.Accept()
			if err != nil {
				b.Fatalf("accept: %v", err)
			}
			if corked {
				c = cork.BelowTLS(c)
			}
			defer c.Close()
			header, body, got := make([]byte, 200), make([]byte, 1000), make([]byte, 1200)
			b.ReportAllocs()
			for b.Loop() {
				_, _ = c.Write(header)
				_, _ = c.Write(body)
				if _, err := io.ReadFull(server, got); err != nil {
					b.Fatalf("read: %v", err)
				}
			}
		})
	}
}

// sixteens reads at most 16 KB at once.
type sixteens struct{ io.Reader }

func (r sixteens) Read(p []byte) (int, error) { return r.Reader.Read(p[:min(len(p), 16<<10-9)]) }

func TestConn_BodyGoesOutInLargePieces(t *testing.T) {
	errRead := errors.New("the client left")
	for _, tt := range []struct {
		name   string
		ends   error // of the body
		broken error // of each write
		want   error
	}{
		{"whole", io.EOF, nil, nil},
		{"a body that breaks off", errRead, nil, errRead},
		{"a connection that is broken", io.EOF, os.ErrDeadlineExceeded, os.ErrDeadlineExceeded},
	} {
		synctest.Test(t, func(t *testing.T) {
			k := &kernel{}
			c := cork.BelowTLS(k)
			write(t, c, "header ")
			synctest.Wait()
			k.broken = tt.broken
			body := strings.Repeat("body ", 40<<10)
			n, err := c.ReadFrom(sixteens{io.MultiReader(strings.NewReader(body), iotest.ErrReader(tt.ends))})
			synctest.Wait()
			if !errors.Is(err, tt.want) || err == nil && n != int64(len(body)) {
				t.Errorf("%s: took %d of %d bytes, %v; want %v", tt.name, n, len(body), err, tt.want)
			}
			if got := k.text(); tt.broken == nil && (got != "header "+body || len(k.writes) > 5) {
				t.Errorf("%s: wrote %d of %d bytes in %d writes, want all in their order in at most 5", tt.name, len(got), 7+len(body), len(k.writes))
			}
		})
	}
}
