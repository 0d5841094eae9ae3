package spool_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/ridethrough/ridethrough/internal/spool"
)

// newSpool returns a spool with limits, whose file is in a folder of its own.
func newSpool(t *testing.T, l spool.Limits) *spool.Spool {
	if l.Dir == "" {
		l.Dir = t.TempDir()
	}
	s := new(spool.Spool)
	s.Configure(l)
	return s
}

// noise returns bytes that cannot be compressed.
func noise(size int) []byte {
	text := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{byte(size)}).Read(text)
	return text
}

// keep reads a body into a spool, which must have room for it.
func keep(t *testing.T, s *spool.Spool, text []byte) *spool.Body {
	t.Helper()
	b, err := s.Read(bytes.NewReader(text), int64(len(text)), 32<<20)
	if err != nil {
		t.Fatalf("Read of %d bytes: %v", len(text), err)
	}
	return b
}

// text returns what a reader of the body reads.
func text(t *testing.T, b *spool.Body) []byte {
	t.Helper()
	r, _ := b.Open()
	defer r.Close()
	got, err := io.ReadAll(r)
	if err != nil {
		t.Errorf("read of a body: %v", err)
	}
	return got
}

func TestSpool_BodyIsTheSameWhereverItIs(t *testing.T) {
	for name, limits := range map[string]spool.Limits{"in memory": {}, "on disk": {Memory: 1}, "in part on disk": {Memory: 200 << 10}} {
		for _, size := range []int{0, 1, 8 << 10, 8<<10 + 1, 64<<10 - 1, 64 << 10, 64<<10 + 1, 300_000, 3 << 20} {
			for how, read := range map[string]func(io.Reader) io.Reader{"": func(r io.Reader) io.Reader { return r }, "in halves": iotest.HalfReader, "with the end": iotest.DataErrReader} {
				for _, known := range []bool{true, false} {
					s, want, announced := newSpool(t, limits), noise(size), int64(size)
					if !known {
						announced = -1
					}
					b, err := s.Read(read(bytes.NewReader(want)), announced, 32<<20)
					if err != nil {
						t.Fatalf("%s, %d bytes %s: Read: %v", name, size, how, err)
					}
					for _, state := range []string{"received", "compressed"} {
						if got := text(t, b); !bytes.Equal(got, want) || b.Size() != size {
							t.Errorf("%s, %d bytes %s, known %v, %s: %d bytes, size %d, same content %v", name, size, how, known, state, len(got), b.Size(), bytes.Equal(got, want))
						}
						b.Compress()
					}
					b.Release()
					if memory, disk := s.Used(); memory+disk != 0 {
						t.Errorf("%s, %d bytes %s: %d bytes in memory and %d on disk are left", name, size, how, memory, disk)
					}
				}
			}
		}
	}
}

func TestSpool_AllBodiesStayWithinTheBudget(t *testing.T) {
	const bound = 8 << 20
	s := newSpool(t, spool.Limits{Memory: bound})
	var readers sync.WaitGroup
	bodies := make([]*spool.Body, 20)
	for i := range bodies {
		readers.Go(func() { bodies[i] = keep(t, s, noise(2<<20+i)) })
	}
	readers.Wait()
	memory, disk := s.Used()
	if memory > bound || disk < 30<<20 {
		t.Errorf("40 MiB of bodies take %d bytes of memory and %d of the disk; want at most %d of memory", memory, disk, bound)
	}
	for i, b := range bodies {
		if !bytes.Equal(text(t, b), noise(2<<20+i)) {
			t.Errorf("body %d is another", i)
		}
		b.Release()
	}
}

func TestSpool_DefaultIsAQuarterOfALowMemoryLimit(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(40 << 20))
	s := newSpool(t, spool.Limits{})
	defer keep(t, s, noise(20<<20)).Release()
	if memory, disk := s.Used(); memory > 10<<20 || disk == 0 {
		t.Errorf("%d bytes in memory and %d on disk, want at most a quarter of 40 MiB in memory", memory, disk)
	}
}

func TestSpool_BodyThatAnnouncesMuchTakesLittle(t *testing.T) {
	s := newSpool(t, spool.Limits{})
	r, w := io.Pipe()
	done := make(chan error)
	go func() {
		_, err := s.Read(r, 32<<20, 32<<20)
		done <- err
	}()
	_, _ = w.Write([]byte("{"))
	if memory, _ := s.Used(); memory > 8<<10 {
		t.Errorf("one byte of an announced body takes %d bytes", memory)
	}
	gone := errors.New("gone")
	w.CloseWithError(gone)
	if err := <-done; !errors.Is(err, gone) {
		t.Errorf("Read = %v, want %v", err, gone)
	}
	if memory, disk := s.Used(); memory+disk != 0 {
		t.Errorf("%d bytes in memory and %d on disk are left", memory, disk)
	}
}

// watched is a reader that notes how much memory a spool takes while it is read.
type watched struct {
	io.Reader
	spool *spool.Spool
	most  int64
}

func (w *watched) Read(p []byte) (int, error) {
	memory, _ := w.spool.Used()
	w.most = max(w.most, memory)
	return w.Reader.Read(p)
}

func TestSpool_BodyReadForWaitTakesOneBlock(t *testing.T) {
	prose := bytes.Repeat([]byte("the provider is well again, and the answer goes on. "), 10_000)
	for _, size := range []int{100, 8 << 10, 64 << 10, 64<<10 + 1, len(prose)} {
		s := newSpool(t, spool.Limits{})
		src := &watched{Reader: bytes.NewReader(prose[:size]), spool: s}
		b, err := s.ReadForWait(src, int64(size), 32<<20)
		if err != nil {
			t.Fatalf("ReadForWait of %d bytes = %v", size, err)
		}
		if got := text(t, b); !bytes.Equal(got, prose[:size]) {
			t.Errorf("%d bytes: got %d, want the body", size, len(got))
		}
		if after, _ := s.Used(); src.most > 80<<10 || size >= 8<<10 && after > int64(size)/3 {
			t.Errorf("%d bytes took %d bytes while they came and %d after it, want a block and what is left of it", size, src.most, after)
		}
		b.Release()
		if memory, disk := s.Used(); memory+disk != 0 {
			t.Errorf("%d bytes in memory and %d on disk are left", memory, disk)
		}
	}
}

func TestSpool_RefusesWhatHasNoRoom(t *testing.T) {
	for name, c := range map[string]struct {
		limits spool.Limits
		size   int
		want   string
	}{
		"no folder":              {spool.Limits{Memory: 1, Dir: "/dev/null/nowhere"}, 100 << 10, "not a directory"},
		"the bound of the disk":  {spool.Limits{Memory: 1, Disk: 100 << 10}, 300 << 10, "bound on the disk"},
		"the memory that passes": {spool.Limits{Memory: 1, Dir: "busy"}, 100 << 10, "no room"},
	} {
		t.Run(name, func(t *testing.T) {
			l := c.limits
			if l.Dir == "busy" {
				l.Dir = ""
			}
			s := newSpool(t, l)
			if c.limits.Dir == "busy" {
				for range 16 { // 64 KiB of each body pass, and stay
					r, w := io.Pipe()
					go func() {
						_, err := s.Read(r, 65<<10, 1<<20)
						_ = r.CloseWithError(err)
					}()
					_, _ = w.Write(noise(32 << 10))
					defer w.Close()
				}
			}
			refuses(t, s, c.size, c.want)
		})
	}
}

// refuses checks that a spool has no room for a body, and that nothing of it is left.
func refuses(t *testing.T, s *spool.Spool, size int, want string) {
	t.Helper()
	before, _ := s.Used()
	_, err := s.Read(bytes.NewReader(noise(size)), int64(size), 32<<20)
	if !errors.Is(err, spool.ErrFull) || !strings.Contains(err.Error(), want) {
		t.Errorf("Read = %v, want ErrFull with %q", err, want)
	}
	if memory, disk := s.Used(); memory != before || disk != 0 {
		t.Errorf("%d bytes in memory, %d before, and %d on disk are left", memory, before, disk)
	}
	if f := s.File(); f != nil {
		if info, err := f.Stat(); err != nil || info.Size() != 0 {
			t.Errorf("the file has %d bytes, %v", info.Size(), err)
		}
	}
}

func TestSpool_WaitingBodyStaysInMemoryIfDiskIsFull(t *testing.T) {
	s := newSpool(t, spool.Limits{Memory: 1 << 20, Disk: 1})
	b := keep(t, s, noise(700<<10)) // more than waits in memory
	b.Compress()
	if got := text(t, b); !bytes.Equal(got, noise(700<<10)) {
		t.Errorf("%d bytes, want the body", len(got))
	}
	b.Release()
	if memory, disk := s.Used(); memory+disk != 0 {
		t.Errorf("%d bytes in memory and %d on disk are left", memory, disk)
	}
}

func TestBody_ReaderThatHasBegunOutlivesIt(t *testing.T) {
	for _, limits := range []spool.Limits{{}, {Memory: 1}} {
		s, want := newSpool(t, limits), noise(300_000)
		b := keep(t, s, want)
		begun, _ := b.Open()
		late, _ := b.Open()
		begin := make([]byte, 10)
		_, _ = io.ReadFull(begun, begin)
		b.Compress()
		b.Release()
		rest, err := io.ReadAll(begun)
		if got := append(begin, rest...); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%+v: %d bytes, error %v; want the body", limits, len(got), err)
		}
		if n, err := late.Read(begin); n != 0 || !errors.Is(err, os.ErrClosed) {
			t.Errorf("%+v: a reader after the release reads %d bytes, error %v", limits, n, err)
		}
		_, _ = begun.Close(), begun.Close()
		if memory, disk := s.Used(); memory+disk != 0 {
			t.Errorf("%+v: %d bytes in memory and %d on disk are left", limits, memory, disk)
		}
	}
}

// packed returns a text in a content coding.
func packed(t *testing.T, coding string, text []byte, options ...zstd.EOption) []byte {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser = gzip.NewWriter(&out)
	if coding == "zstd" {
		w, _ = zstd.NewWriter(&out, options...)
	}
	if _, err := w.Write(text); err != nil || w.Close() != nil {
		t.Fatalf("pack: %v", err)
	}
	return out.Bytes()
}

func TestSpool_UnpackIsBounded(t *testing.T) {
	plain := bytes.Repeat([]byte("a request is more than one word "), 1<<15) // 1 MiB
	zeros := make([]byte, 31<<20)
	for _, c := range []struct {
		name, coding string
		body         []byte
		limit        int64
		known        bool
		most         int
	}{
		{"gzip", "gzip", packed(t, "gzip", plain), 32 << 20, true, len(plain)},
		{"x-gzip", "x-gzip", packed(t, "gzip", plain), 32 << 20, true, len(plain)},
		{"zstd", "zstd", packed(t, "zstd", plain), 32 << 20, true, len(plain)},
		{"another coding", "br", plain, 32 << 20, false, 0},
		{"a damaged body", "gzip", packed(t, "gzip", plain)[:100], 32 << 20, false, len(plain)},
		{"no gzip", "gzip", plain, 32 << 20, false, 0},
		{"content beyond the limit", "gzip", packed(t, "gzip", plain), 64 << 10, false, 80 << 10},
		{"a bomb of gzip", "gzip", packed(t, "gzip", zeros), 32 << 20, false, 5 << 20},
		{"a bomb of zstd", "zstd", packed(t, "zstd", zeros), 32 << 20, false, 5 << 20},
		{"a window beyond 8 MiB", "zstd", packed(t, "zstd", noise(20<<20), zstd.WithWindowSize(16<<20)), 32 << 20, false, 0},
	} {
		s := newSpool(t, spool.Limits{})
		b, seen := keep(t, s, c.body), 0
		known := s.Unpack(c.coding, b, c.limit, func(part []byte) bool { seen += len(part); return true })
		if known != c.known || seen > c.most || known && seen != len(plain) {
			t.Errorf("%s: Unpack = %v after %d bytes, want %v after at most %d", c.name, known, seen, c.known, c.most)
		}
		parts := 0
		if known := s.Unpack(c.coding, b, c.limit, func([]byte) bool { parts++; return false }); known && parts != 1 {
			t.Errorf("%s: Unpack went on after the first part", c.name)
		}
		b.Release()
		if memory, _ := s.Used(); memory != 0 {
			t.Errorf("%s: %d bytes in memory are left", c.name, memory)
		}
	}
}

func TestSpool_RemovesFilesOfKilledProcesses(t *testing.T) {
	dir := t.TempDir()
	for name, age := range map[string]time.Duration{"ridethrough-spool-1": time.Hour, "ridethrough-spool-2": time.Second, "notes": time.Hour} {
		name = filepath.Join(dir, name)
		at := time.Now().Add(-age)
		if err := errors.Join(os.WriteFile(name, nil, 0o600), os.Chtimes(name, at, at)); err != nil {
			t.Fatalf("make %s: %v", name, err)
		}
	}
	newSpool(t, spool.Limits{Dir: dir})
	left, _ := filepath.Glob(filepath.Join(dir, "*"))
	if got := strings.ReplaceAll(strings.Join(left, " "), dir+"/", ""); got != "notes ridethrough-spool-2" {
		t.Errorf("left in the folder: %s; want notes and the file of the last minute", got)
	}
}

// buffered reads as a server's body does: first what came with the header, then as much as there is room for.
type buffered struct {
	rest  []byte
	reads int
}

func (b *buffered) Read(p []byte) (int, error) {
	if b.reads++; b.reads == 1 {
		p = p[:min(len(p), 3500)]
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

func TestSpool_AnnouncedBodyIsReadAtOnce(t *testing.T) {
	s := newSpool(t, spool.Limits{})
	src := &buffered{rest: noise(60 << 10)}
	b, err := s.Read(src, 60<<10, 32<<20)
	if err != nil {
		t.Fatalf("Read: %v", err)
	}
	defer b.Release()
	if src.reads != 2 {
		t.Errorf("body of 60 KiB, of which 3500 bytes came with the header: got %d reads, want 2", src.reads)
	}
}
