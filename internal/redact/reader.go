package redact

import (
	"io"
	"slices"
)

// Reader returns a reader of src without the secret. It returns what has come at once, except for an end that
// may begin the secret: that comes with the bytes that follow it, or with the end of src.
func (s *Secret) Reader(src io.Reader) io.Reader { return &reader{secret: s, src: src} }

// reader masks what it reads in place. Most reads end where no secret can begin, and need no other memory.
type reader struct {
	secret *Secret
	src    io.Reader
	held   []byte // read, but undecided
	ready  []byte // decided, but not returned
	err    error  // how src has ended; nil: it has not
}

// readMore is how much is read after the bytes that are held.
const readMore = 4 << 10

func (r *reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for len(r.ready) == 0 && r.err == nil {
		if len(r.held) > 0 {
			r.readBehind()
			continue
		}
		var n int
		n, r.err = r.src.Read(p)
		done := r.secret.Mask(p[:n], r.err != nil)
		r.held = append(r.held, p[done:n]...)
		if done > 0 || n == 0 {
			return done, r.end()
		}
	}
	n := copy(p, r.ready)
	r.ready = r.ready[n:]
	return n, r.end()
}

// readBehind reads once more after the bytes that are held.
func (r *reader) readBehind() {
	b := slices.Grow(r.held, readMore)
	n, err := r.src.Read(b[len(b):cap(b)])
	b, r.err = b[:len(b)+n], err
	done := r.secret.Mask(b, err != nil)
	r.ready, r.held = b[:done], slices.Clone(b[done:])
}

// end returns how src has ended, once all of it has been returned.
func (r *reader) end() error {
	if len(r.ready) > 0 {
		return nil
	}
	return r.err
}
