package http1

// The parts of a chunked body (RFC 9112, 7.1).
const (
	chunkSize    = iota // hexadecimal digits
	chunkPad            // space between them and an extension or the line's end
	chunkExt            // an extension
	chunkSizeLF         // the end of that line
	chunkData           //
	chunkDataCR         // the end of the data
	chunkDataLF         //
	trailerStart        // a trailer line, or the empty line
	trailerLine         // a trailer line
	trailerLF           // its end
	trailersLF          // the end of the empty line
	chunksEnd
)

// Bounds on what a body may have beside its data.
const (
	maxExt     = 16 << 10 // extensions and padding beyond twice the data
	maxTrailer = 64 << 10
	maxDigits  = 15 // of a size, so that it cannot overflow
)

// chunks takes the framing out of a chunked body, as it comes. It accepts CRLF
// only: a line that ends at a bare LF for one reader continues for another.
type chunks struct {
	state  int
	left   int64 // of a chunk's data
	digits int
	extra  int64 // bytes of extensions, less twice the data
	trail  int   // bytes of trailers
}

// decode moves data from src to dst until one of them is used up or the body ends.
// They may begin in the same place. It returns the bytes written and read.
func (c *chunks) decode(dst, src []byte) (written, used int, err error) {
	for used < len(src) && c.state != chunksEnd {
		if c.state == chunkData {
			n := copy(dst[written:], src[used:min(int64(len(src)), int64(used)+c.left)])
			if n == 0 {
				break // no room
			}
			written, used, c.left = written+n, used+n, c.left-int64(n)
			if c.left == 0 {
				c.state = chunkDataCR
			}
			continue
		}
		if err := c.step(src[used]); err != nil {
			return written, used, err
		}
		used++
	}
	return written, used, nil
}

// step reads a byte that is not data.
func (c *chunks) step(b byte) error {
	switch {
	case c.state <= chunkExt:
		return c.size(b)
	case c.state >= trailerStart:
		return c.trailer(b)
	case c.state == chunkDataCR:
		c.state = chunkDataLF
		return want(b, '\r')
	case c.state == chunkDataLF:
		c.state = chunkSize
		return want(b, '\n')
	}
	switch c.digits, c.extra = 0, max(0, c.extra-2*c.left); c.left { // the end of a size's line
	case 0:
		c.state = trailerStart
	default:
		c.state = chunkData
	}
	return want(b, '\n')
}

// size reads a byte of the line that a chunk begins with.
func (c *chunks) size(b byte) error {
	digit := hex(b)
	switch {
	case c.state == chunkSize && digit >= 0 && c.digits < maxDigits:
		c.left, c.digits = c.left<<4|int64(digit), c.digits+1
		return nil
	case c.digits == 0:
		return malformed("chunk without a size")
	case b == '\r':
		c.state = chunkSizeLF
		return nil
	case c.state == chunkExt && (b >= ' ' && b != 0x7f || b == '\t'):
	case b == ';':
		c.state = chunkExt
	case b == ' ' || b == '\t':
		c.state = chunkPad
	default:
		return malformed("chunk size with %q", b)
	}
	if c.extra++; c.extra > maxExt {
		return malformed("chunk extensions above %d bytes", maxExt)
	}
	return nil
}

// trailer reads a byte after the last chunk.
func (c *chunks) trailer(b byte) error {
	if c.trail++; c.trail > maxTrailer {
		return malformed("trailers above %d bytes", maxTrailer)
	}
	switch {
	case c.state == trailerLF:
		c.state = trailerStart
		return want(b, '\n')
	case c.state == trailersLF:
		c.state = chunksEnd
		return want(b, '\n')
	case b == '\r' && c.state == trailerStart:
		c.state = trailersLF
	case b == '\r':
		c.state = trailerLF
	case b < ' ' && b != '\t' || b == 0x7f:
		return malformed("trailer with %q", b)
	default:
		c.state = trailerLine
	}
	return nil
}

func want(b, wanted byte) error {
	if b == wanted {
		return nil
	}
	return malformed("chunk with %q in place of %q", b, wanted)
}

// hex returns the value of a hexadecimal digit; -1: it is none.
func hex(b byte) int {
	switch {
	case '0' <= b && b <= '9':
		return int(b - '0')
	case 'a' <= b|0x20 && b|0x20 <= 'f':
		return int(b|0x20-'a') + 10
	}
	return -1
}
