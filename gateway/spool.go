package gateway

import (
	"os"
	"runtime"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// defaultSpoolMemory is how much of the packed bodies stays in memory where nothing
// else is said.
const defaultSpoolMemory = 128 << 20

// spool keeps the bodies of requests that wait, compressed. What does not fit
// into its memory goes to a file without a name, which ends with the process;
// where the disk is full, memory takes it after all: nothing is lost.
type spool struct {
	once    sync.Once
	encoder *zstd.Encoder
	decoder *zstd.Decoder

	mu     sync.Mutex
	limit  int64
	dir    string
	memory int64 // bytes of parcels in memory
	file   *os.File
	end    int64    // of the file
	gaps   []extent // free places in the file, in order
}

// packedBody is a packed body. The zero parcel is none.
type packedBody struct {
	memory []byte
	disk   extent
}

// extent is a place in the file.
type extent struct{ at, size int64 }

func (p packedBody) none() bool { return p.memory == nil && p.disk.size == 0 }

// configure sets the bounds. What is kept already stays where it is.
func (s *spool) configure(c Spool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit, s.dir = c.Memory, c.Dir
	if s.limit == 0 {
		s.limit = defaultSpoolMemory
	}
}

// schedule makes the coders when the first body is packed. They are shared, since
// each costs megabytes.
func (s *spool) start() {
	s.once.Do(func() {
		n := runtime.GOMAXPROCS(0)
		s.encoder, _ = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(n), zstd.WithEncoderLevel(zstd.SpeedDefault),
			zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(true))
		s.decoder, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(n), zstd.WithDecoderMaxMemory(1<<30))
	})
}

// compress keeps a body.
func (s *spool) pack(plain []byte) packedBody {
	s.start()
	room := newBuffer(len(plain) / 2)
	defer func() { room.release() }()
	small := s.encoder.EncodeAll(plain, room.bytes[:0])
	s.mu.Lock()
	defer s.mu.Unlock()
	n := int64(len(small))
	if s.memory+n > s.limit {
		if at, err := s.write(small); err == nil {
			return packedBody{disk: extent{at, n}}
		}
	}
	s.memory += n
	return packedBody{memory: slices.Clip(append([]byte(nil), small...))}
}

// write puts bytes into the file, into the first gap that is large enough or
// at its end.
func (s *spool) write(p []byte) (at int64, err error) {
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

// unpack gives a body back.
func (s *spool) unpack(p packedBody, size int) (*buffer, error) {
	s.start()
	small := p.memory
	if small == nil {
		room := newBuffer(int(p.disk.size))
		defer room.release()
		small = room.bytes[:p.disk.size]
		if _, err := s.file.ReadAt(small, p.disk.at); err != nil {
			return nil, err
		}
	}
	buf := newBuffer(size)
	plain, err := s.decoder.DecodeAll(small, buf.bytes[:0])
	if err != nil {
		buf.release()
		return nil, err
	}
	buf.bytes = plain
	return buf, nil
}

// drop lets go of a packed body.
func (s *spool) drop(p packedBody) {
	if p.none() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.memory -= int64(len(p.memory))
	if p.disk.size > 0 {
		s.free(p.disk)
	}
}

// free gives a place in the file back and joins it with the gaps beside it.
// When the file is empty it is cut to nothing.
func (s *spool) free(e extent) {
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
		_ = s.file.Truncate(s.end) // it only gives room back
		return
	}
	s.gaps = slices.Insert(s.gaps, i, e)
}
