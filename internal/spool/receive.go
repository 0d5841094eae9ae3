package spool

import "io"

// initialRoom is how much memory a request gets for announcing its length. Once initialBytes of it have come, there is
// room for a block: a server has so many of a large body when it has read the header, and the rest in one read.
const (
	initialRoom   = 8 << 10
	initialBytes  = 2 << 10
	initialBlocks = 16
)

// Read reads a body whole. size is its announced length, 0 or -1: unknown. A body of more than limit bytes is
// ErrTooLarge, one that nothing has room for ErrFull.
func (s *Spool) Read(src io.Reader, size, limit int64) (*Body, error) {
	return s.read(src, size, limit, false)
}

// ReadForWait is Read for a request that is going to wait. Its body is compressed while it arrives, if that is
// worth it, and takes the memory of one block beside what is left of it.
func (s *Spool) ReadForWait(src io.Reader, size, limit int64) (*Body, error) {
	return s.read(src, size, limit, size >= compressFrom)
}

func (s *Spool) read(src io.Reader, size, limit int64, stores bool) (*Body, error) {
	if size > limit {
		return nil, ErrTooLarge
	}
	b := &Body{spool: s}
	b.blocks = b.first[:0]
	if size > blockSize {
		b.blocks = make([]block, 0, min((size-1)/blockSize+1, initialBlocks))
	}
	r := receiver{body: b, announced: int(size), stores: stores}
	err := r.receive(src, int(limit))
	if err == nil {
		err = r.finish()
	}
	if r.last != nil {
		r.last.Release()
	}
	if err != nil {
		b.Release()
		return nil, err
	}
	return b, nil
}

// receiver receives a body: into memory, and once that is used up block by block into the store.
type receiver struct {
	body      *Body
	announced int     // the body's size; not above 0: unknown
	last      *Buffer // the block that is being received; nil: none
	stores    bool    // the blocks are stored; false: they are in memory
}

// receive reads up to the end.
func (r *receiver) receive(src io.Reader, limit int) error {
	for r.announced <= 0 || r.body.size < r.announced {
		if err := r.makeRoom(); err != nil {
			return err
		}
		n, err := src.Read(r.last.room())
		r.last.Bytes = r.last.Bytes[:len(r.last.Bytes)+n]
		r.body.size += n
		switch {
		case r.body.size > limit:
			return ErrTooLarge
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
	return nil
}

// makeRoom makes sure that the last block has room.
func (r *receiver) makeRoom() error {
	if r.last != nil && len(r.last.Bytes) == blockSize {
		if err := r.endBlock(); err != nil || r.last != nil {
			return err
		}
	}
	size := r.room()
	if r.last != nil && len(r.last.room()) > 0 && (r.announced <= 0 || cap(r.last.Bytes) >= size) {
		return nil
	}
	larger, err := r.buffer(size)
	if err != nil {
		return err
	}
	if r.last != nil {
		larger.Bytes = append(larger.Bytes, r.last.Bytes...)
		r.last.Release()
	}
	r.last = larger
	return nil
}

// room returns how large the last block's buffer is to be now.
func (r *receiver) room() int {
	size := blockSize
	if r.announced > 0 {
		size = min(size, r.announced-r.body.size/blockSize*blockSize)
	}
	if r.body.size < initialBytes {
		size = min(size, initialRoom)
	}
	return size
}

// buffer returns a buffer. Once the memory for what is received is used up, the body makes room itself.
func (r *receiver) buffer(size int) (*Buffer, error) {
	s := r.body.spool
	if !r.stores {
		if b := s.buffer(size, receivedShare); b != nil {
			return b, nil
		}
		if err := r.beginStoring(); err != nil {
			return nil, err
		}
	}
	if b := s.buffer(size, passingShare); b != nil {
		return b, nil
	}
	return nil, ErrFull
}

// beginStoring stores the blocks so far.
func (r *receiver) beginStoring() error {
	r.stores = true
	blocks := r.body.blocks
	for i, part := range blocks {
		small, err := r.store(part.plain)
		if err != nil {
			return err
		}
		blocks[i] = block{stored: small}
		part.plain.Release()
	}
	return nil
}

func (r *receiver) store(b *Buffer) (stored, error) {
	return r.body.spool.store(b.Bytes, false)
}

// endBlock adds the last block to the body. If it is stored, its buffer is used for the next one.
func (r *receiver) endBlock() error {
	if !r.stores {
		r.body.blocks = append(r.body.blocks, block{plain: r.last})
		r.last = nil
		return nil
	}
	small, err := r.store(r.last)
	if err != nil {
		return err
	}
	r.body.blocks = append(r.body.blocks, block{stored: small})
	r.last.Bytes = r.last.Bytes[:0]
	return nil
}

// finish adds what is left.
func (r *receiver) finish() error {
	if r.last != nil && len(r.last.Bytes) > 0 {
		if err := r.endBlock(); err != nil {
			return err
		}
	}
	return nil
}
