package rest

import (
	"bytes"
	"net/http"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/internal/exchange"
)

// The media types of streams.
const (
	SSE    = "text/event-stream"
	NDJSON = "application/x-ndjson"
)

const (
	// BeatTime is the longest silence on a stream.
	BeatTime = 15 * time.Second
	// StallTime is how long a reader may take nothing before it is cut off.
	StallTime = 30 * time.Second

	// packet is how many bytes are sent at a time if there are more.
	packet = 64 << 10
)

// Accepted returns the kind of stream that a request asks for; "": none.
func Accepted(r *http.Request) string {
	for _, kind := range []string{NDJSON, SSE} {
		if strings.Contains(r.Header.Get("Accept"), kind) {
			return kind
		}
	}
	return ""
}

// Stream is the answer to one reader. It is for one goroutine.
type Stream struct {
	Buffer bytes.Buffer // what the next flush sends

	readers *Readers
	out     exchange.Writer
	r       *http.Request
	lines   bool // of JSON
	beat    *time.Timer
}

// Close ends the stream and frees the reader's place.
func (s *Stream) Close() {
	s.beat.Stop()
	s.out.Close()
	s.readers.Leave()
}

// Write adds an event of the server's own to the buffer. The data is one line.
func (s *Stream) Write(name string, data []byte) { Frame(&s.Buffer, "", name, data) }

// Frame writes one server-sent event; id may be "". The data is one line.
func Frame(b *bytes.Buffer, id, name string, data []byte) {
	if id != "" {
		b.WriteString("id: " + id + "\n")
	}
	b.WriteString("event: " + name + "\ndata: ")
	b.Write(data)
	b.WriteString("\n\n")
}

// Comment adds a line that readers ignore; in lines of JSON it is empty.
func (s *Stream) Comment(text string) {
	if s.lines {
		s.Buffer.WriteByte('\n')
		return
	}
	s.Buffer.WriteString(": " + text + "\n\n")
}

// Flush sends the buffer. It fails if the reader has left.
func (s *Stream) Flush() error {
	if s.Buffer.Len() == 0 {
		return nil
	}
	return s.Send()
}

// FlushBatch sends the buffer, unless more is about to come and a packet is not full. It reports whether the
// reader is still there.
func (s *Stream) FlushBatch(more bool) bool {
	return more && s.Buffer.Len() < packet || s.Flush() == nil
}

// Send is Flush that sends the header even if the buffer is empty.
func (s *Stream) Send() error {
	s.beat.Reset(BeatTime)
	defer s.Buffer.Reset()
	return s.out.Write(s.Buffer.Bytes(), StallTime)
}

// Await waits for the next value of a channel. It reports whether the stream continues.
func Await[T any](s *Stream, news <-chan T) bool {
	_, _, ok := Next(s, nil, news)
	return ok
}

// Next waits for a tick or for the next value of a channel, which has come if came is true. It keeps a silent
// stream alive with comments. ok is false once the stream is over.
func Next[T any](s *Stream, tick <-chan time.Time, news <-chan T) (v T, came, ok bool) {
	for {
		select {
		case <-tick:
			return v, false, true
		case v = <-news:
			return v, true, true
		case <-s.beat.C:
			if s.Comment("beat"); s.Flush() != nil {
				return v, false, false
			}
		case <-s.readers.Draining():
			s.Comment("the server is shutting down")
			_ = s.Flush()
			return v, false, false
		case <-s.r.Context().Done():
			return v, false, false
		}
	}
}
