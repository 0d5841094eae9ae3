package redact

// Bounds on the length of an escape: a longer sequence does not count as one.
const (
	maxBackslashes = 16 // JSON in JSON in JSON in JSON has 8
	maxZeros       = 6  // of a number in HTML
	maxPercents    = 4  // of a URL in a URL: %25252D
)

// escape returns the length of the escaped c that b begins with; 0: it does not. begun: it would with some
// bytes more.
func escape(b []byte, c byte) (length int, begun bool) {
	switch b[0] {
	case '\\':
		return backslash(b, c)
	case '%':
		return percent(b, c)
	case '&':
		return reference(b, c)
	}
	return 0, false
}

// backslash is escape for strings in JSON and in programs: \u002d, \x2d, \/, each with further backslashes.
func backslash(b []byte, c byte) (length int, begun bool) {
	n := 1
	for n < len(b) && b[n] == '\\' && n < maxBackslashes {
		n++
	}
	if n == len(b) {
		return 0, true
	}
	switch x := b[n]; {
	case x == 'u':
		return digits(b, n+1, []byte{'0', '0', hexDigits[c>>4], hexDigits[c&15]})
	case x == 'x':
		return digits(b, n+1, []byte{hexDigits[c>>4], hexDigits[c&15]})
	case x == c && !isAlphanumeric(c):
		return n + 1, false
	}
	return 0, false
}

// percent is escape for URLs: %2D, %252D.
func percent(b []byte, c byte) (length int, begun bool) {
	n := 1
	for again := 0; again < maxPercents && c != '%'; again++ {
		length, begun := literal(b[n:], "25")
		if begun {
			return 0, true
		}
		if length == 0 {
			break
		}
		n += length
	}
	return digits(b, n, []byte{hexDigits[c>>4], hexDigits[c&15]})
}

const hexDigits = "0123456789abcdef"

// digits matches hexadecimal digits in either case, from b[n] on.
func digits(b []byte, n int, want []byte) (length int, begun bool) {
	for _, d := range want {
		if n == len(b) {
			return 0, true
		}
		if b[n] != d && (d < 'a' || b[n]|0x20 != d) {
			return 0, false
		}
		n++
	}
	return n, false
}

// reference is escape for HTML: &#45; and &#x2d;, and &amp; for an ampersand.
func reference(b []byte, c byte) (length int, begun bool) {
	if c == '&' {
		if n, begun := literal(b, "&amp;"); n > 0 || begun {
			return n, begun
		}
	}
	if len(b) < 3 {
		return 0, len(b) == 1 || b[1] == '#'
	}
	if b[1] != '#' {
		return 0, false
	}
	n, base := 2, uint(10)
	if b[2]|0x20 == 'x' {
		n, base = 3, 16
	}
	value, last := uint(0), n+maxZeros+3
	for n < len(b) && n < last && b[n] != ';' {
		d := digit(b[n])
		if d >= base || value > 0xff {
			return 0, false
		}
		value = value*base + d
		n++
	}
	switch {
	case n == len(b):
		return 0, true
	case b[n] == ';' && value == uint(c):
		return n + 1, false
	}
	return 0, false
}

// literal returns the length of a text that b begins with; 0: it does not. begun: it would with some bytes more.
func literal(b []byte, text string) (length int, begun bool) {
	if len(b) < len(text) {
		return 0, string(b) == text[:len(b)]
	}
	if string(b[:len(text)]) == text {
		return len(text), false
	}
	return 0, false
}

// digit returns the value of a hexadecimal digit; 16: it is not one.
func digit(c byte) uint {
	switch {
	case '0' <= c && c <= '9':
		return uint(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return uint(c|0x20-'a') + 10
	}
	return 16
}

func isAlphanumeric(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9'
}
