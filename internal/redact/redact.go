// Package redact removes from texts and streams what must not be in them: a known secret, however it is
// written, and passages of another text.
//
// It is for what sends a key that readers of the answers must not see, such as the clients of a gateway or a store of
// conversations: the server that gets the key may return it, in an error or as part of what it was asked. What only looks like a secret is package fault's.
package redact

import (
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
)

// mask replaces each byte of a secret, so that the length of a text does not change.
const mask = '*'

// Secret finds secrets in texts. Its methods may be called concurrently.
type Secret struct {
	forms [][]byte               // of the secrets: as they are, and encoded as a whole
	first [256]bool              // the bytes that a form may begin with, escaped or not
	pairs [256 * 256 / 64]uint64 // the same for two bytes, which few texts have: bit b[0]*256+b[1]
}

// shortest is the length of a secret whose base64 and hexadecimal forms are no other words.
const shortest = 8

// NewSecret returns what finds secrets. They are found as they are, in base64 and hexadecimal, and with any of their
// characters escaped as in JSON, in a URL or in HTML, several times over too.
func NewSecret(secrets ...string) *Secret {
	s := &Secret{}
	for _, secret := range secrets {
		s.addForms(secret)
	}
	return s
}

// addForms adds a secret in all of its forms.
func (s *Secret) addForms(secret string) {
	s.add([]byte(secret))
	if len(secret) >= shortest {
		for before := range 3 {
			s.addBase64(base64.RawStdEncoding, secret, before)
			s.addBase64(base64.RawURLEncoding, secret, before)
		}
		digits := hex.EncodeToString([]byte(secret))
		s.add([]byte(digits))
		s.add([]byte(strings.ToUpper(digits)))
	}
}

// addBase64 adds the base64 digits that depend on the secret alone where a given number of bytes are before it.
func (s *Secret) addBase64(in *base64.Encoding, secret string, before int) {
	digits := in.AppendEncode(nil, append(make([]byte, before), secret...))
	from, to := (before*8+5)/6, (before+len(secret))*8/6
	s.add(digits[from:to])
}

// add adds a form, unless there is an equal one.
func (s *Secret) add(form []byte) {
	if len(form) == 0 || slices.ContainsFunc(s.forms, func(f []byte) bool { return string(f) == string(form) }) {
		return
	}
	s.forms = append(s.forms, form)
	for c := range 256 {
		s.addPair('\\', c, c == '\\' || c == 'u' || c == 'x' || c == int(form[0]))
		s.addPair('%', c, digit(byte(c)) < 16)
		s.addPair('&', c, c == '#' || c == 'a')
		s.addPair(form[0], c, len(form) == 1 || c == int(form[1]) || c == '\\' || c == '%' || c == '&')
	}
}

// addPair adds two bytes that a form may begin with, if it may.
func (s *Secret) addPair(first byte, second int, may bool) {
	s.first[first] = true
	if may {
		i := int(first)<<8 | second
		s.pairs[i/64] |= 1 << (i % 64)
	}
}

// Text returns a text with asterisks in place of the secret.
func (s *Secret) Text(text string) string {
	var small [256]byte
	b := append(small[:0], text...)
	if s.Mask(b, true); string(b) == text {
		return text
	}
	return string(b)
}

// Mask writes asterisks over the secret wherever it is in b, and returns how many bytes are done. What is
// after them may begin the secret: it belongs before the bytes that follow. whole: no more bytes follow.
func (s *Secret) Mask(b []byte, whole bool) (done int) {
	for {
		for done < len(b) && !s.first[b[done]] {
			done++
		}
		if done == len(b) {
			return done
		}
		if done+1 < len(b) { // else the byte behind is not known
			if i := int(b[done])<<8 | int(b[done+1]); s.pairs[i/64]&(1<<(i%64)) == 0 {
				done++
				continue
			}
		}
		n, undecided := s.match(b[done:])
		switch {
		case n > 0:
			for i := range n {
				b[done+i] = mask
			}
			done += n
		case undecided && !whole:
			return done
		default:
			done++
		}
	}
}

// match returns the length of the form that b begins with; 0: none. undecided: b may be the beginning of one.
func (s *Secret) match(b []byte) (n int, undecided bool) {
	for _, form := range s.forms {
		n, more := prefix(b, form)
		if n > 0 {
			return n, false
		}
		undecided = undecided || more
	}
	return 0, undecided
}

// prefix returns how many bytes of b are the form, with any of its bytes escaped; 0: b does not begin with it.
// more: it would with some bytes more. A byte such as % may stand for itself or begin an escape, so that
// several ends are possible at a time.
func prefix(b, form []byte) (n int, more bool) {
	var one, two [8]int
	ends, next := append(one[:0], 0), two[:0]
	for _, c := range form {
		next = next[:0]
		for _, end := range ends {
			rest := b[end:]
			if len(rest) == 0 {
				more = true
				continue
			}
			if rest[0] == c {
				next = append(next, end+1)
			}
			length, begun := escape(rest, c)
			more = more || begun
			if length > 0 && len(next) < cap(next) {
				next = append(next, end+length)
			}
		}
		if len(next) == 0 {
			return 0, more
		}
		ends, next = next, ends
	}
	return ends[0], false
}
