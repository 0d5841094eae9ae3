// Package spool keeps the bodies of requests for another try: in memory while they are sent, compressed while
// they wait, and on disk beyond a bound of memory. Package gateway is its user.
package spool

import (
	"os"
	"runtime"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// defaultMemory is the bound of Configure that asks for none.
const defaultMemory = 128 << 20

// Spool keeps the compressed bodies. What exceeds its memory goes to a file
// without a name, which ends with the process; if the disk is full, memory takes
// it after all: nothing is lost. The zero Spool is ready after Configure.
type Spool struct {
	once    sync.Once
	encoder *zstd.Encoder
	decoder *zstd.Decoder

	mu     sync.Mutex
	limit  int64
	dir    string
	memory int64 // bytes of compressed bodies in memory
	file   *os.File
	end    int64    // of the file
	gaps   []extent // free places in the file, in order
}

// compressed is a compressed body; zero: none.
type compressed struct {
	memory []byte
	disk   extent
}

// extent is a place in the file.
type extent struct{ at, size int64 }

func (c compressed) empty() bool { return c.memory == nil && c.disk.size == 0 }

// Configure sets how many bytes stay in memory, 0: 128 MiB, and the folder of the
// file, "": os.TempDir(). What is kept already stays where it is.
func (s *Spool) Configure(memory int64, dir string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit, s.dir = memory, dir
	if s.limit == 0 {
		s.limit = defaultMemory
	}
}

// Used returns how many bytes of compressed bodies are in memory and on disk.
func (s *Spool) Used() (memory, disk int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.memory, s.end
}

// File returns the file; nil: nothing has gone to disk.
func (s *Spool) File() *os.File {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.file
}

// start makes the coders for the first body. They are shared, since each costs megabytes.
func (s *Spool) start() {
	s.once.Do(func() {
		n := runtime.GOMAXPROCS(0)
		s.encoder, _ = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(n), zstd.WithEncoderLevel(zstd.SpeedDefault),
			zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(true))
		s.decoder, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(n), zstd.WithDecoderMaxMemory(1<<30))
	})
}

// compress keeps a body.
func (s *Spool) compress(plain []byte) compressed {
	s.start()
	room := NewBuffer(len(plain) / 2)
	defer func() { room.Release() }()
	small := s.encoder.EncodeAll(plain, room.Bytes[:0])
	s.mu.Lock()
	defer s.mu.Unlock()
	n := int64(len(small))
	if s.memory+n > s.limit {
		if at, err := s.write(small); err == nil {
			return compressed{disk: extent{at, n}}
		}
	}
	s.memory += n
	return compressed{memory: slices.Clip(append([]byte(nil), small...))}
}

// write writes bytes into the first gap of the file that is large enough, or at its end.
func (s *Spool) write(p []byte) (at int64, err error) {
	if s.file == nil {
		if s.file, err = os.CreateTemp(s.dir, "ridethrough-*"); err != nil {
			return 0, err
		}
		_ = os.Remove(s.file.Name()) // it lives as long as it is open
	}
	n := int64(len(p))
	i := slices.IndexFunc(s.gaps, func(g extent) bool { return g.size >= n })
	at = s.end
	if i >= 0 {
		at = s.gaps[i].at
	}
	if _, err := s.file.WriteAt(p, at); err != nil {
		return 0, err
	}
	if i < 0 {
		s.end += n
		return at, nil
	}
	if s.gaps[i].at, s.gaps[i].size = at+n, s.gaps[i].size-n; s.gaps[i].size == 0 {
		s.gaps = slices.Delete(s.gaps, i, i+1)
	}
	return at, nil
}

// decompress returns the content of a body of so many bytes.
func (s *Spool) decompress(c compressed, size int) (*Buffer, error) {
	s.start()
	small := c.memory
	if small == nil {
		room := NewBuffer(int(c.disk.size))
		defer room.Release()
		small = room.Bytes[:c.disk.size]
		if _, err := s.file.ReadAt(small, c.disk.at); err != nil {
			return nil, err
		}
	}
	buf := NewBuffer(size)
	plain, err := s.decoder.DecodeAll(small, buf.Bytes[:0])
	if err != nil {
		buf.Release()
		return nil, err
	}
	buf.Bytes = plain
	return buf, nil
}

// drop frees a compressed body.
func (s *Spool) drop(c compressed) {
	if c.empty() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.memory -= int64(len(c.memory))
	if c.disk.size > 0 {
		s.free(c.disk)
	}
}

// free frees a place in the file and joins it with the gaps beside it. An empty file is truncated.
func (s *Spool) free(e extent) {
	i, _ := slices.BinarySearchFunc(s.gaps, e, func(a, b extent) int { return int(a.at - b.at) })
	if i < len(s.gaps) && e.at+e.size == s.gaps[i].at {
		e.size += s.gaps[i].size
		s.gaps = slices.Delete(s.gaps, i, i+1)
	}
	if i > 0 && s.gaps[i-1].at+s.gaps[i-1].size == e.at {
		i--
		e = extent{s.gaps[i].at, s.gaps[i].size + e.size}
		s.gaps = slices.Delete(s.gaps, i, i+1)
	}
	if e.at+e.size == s.end {
		s.end = e.at
		_ = s.file.Truncate(s.end) // it only frees space
		return
	}
	s.gaps = slices.Insert(s.gaps, i, e)
}
