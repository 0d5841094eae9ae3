package responses

import (
	"context"
	"errors"
	"io"

	"github.com/coder/websocket"
)

// Budget is the memory that all connections share. Its methods may be called concurrently.
type Budget interface {
	Reserve(n int64, waits bool) bool // takes bytes; false: there are not as many. What waits leaves room for what arrives
	Return(n int64)
}

// errFull is the error of a frame that the budget has no room for.
var errFull = errors.New("the memory has no room for the request")

// firstRoom is what a frame takes at first; then it doubles.
const firstRoom = 4 << 10

// receive reads a frame. Its capacity is taken from the budget.
func (s *socket) receive(ctx context.Context) (websocket.MessageType, []byte, error) {
	kind, r, err := s.conn.Reader(ctx)
	if err != nil {
		return kind, nil, err
	}
	var frame []byte
	for {
		if len(frame) == cap(frame) {
			larger := s.grow(frame)
			if larger == nil {
				s.budget.Return(int64(cap(frame)))
				if _, err := io.Copy(io.Discard, r); err != nil {
					return kind, nil, err
				}
				return kind, nil, errFull
			}
			frame = larger
		}
		n, err := r.Read(frame[len(frame):cap(frame)])
		frame = frame[:len(frame)+n]
		switch {
		case err == io.EOF:
			return kind, frame, nil
		case err != nil:
			s.budget.Return(int64(cap(frame)))
			return kind, nil, err
		}
	}
}

// grow returns a larger frame with the same content; nil: there is no room.
func (s *socket) grow(frame []byte) []byte {
	more := max(cap(frame), firstRoom)
	if !s.budget.Reserve(int64(more), false) {
		return nil
	}
	return append(make([]byte, 0, cap(frame)+more), frame...)
}

// release returns what a connection that has ended still holds.
func (s *socket) release() {
	close(s.requests) // its only sender has ended
	for req := range s.requests {
		s.budget.Return(req.held)
	}
	s.chains.release()
}
