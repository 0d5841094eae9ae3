package fault

import "strings"

// anonymous hides the password, or the lone user, of every address in a text:
// https://user:password@host. It does not ask for a well-formed one, since it is
// the malformed that errors quote.
func anonymous(s string) string {
	var b strings.Builder
	for {
		before, address, ok := strings.Cut(s, "://")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		b.WriteString("://")
		from, to := userInfo(address)
		if to > from {
			b.WriteString(address[:from])
			b.WriteString(hidden)
		}
		s = address[to:]
	}
}

// longest is how far into an address its host is looked for, in bytes.
const longest = 512

// userInfo finds what is to be hidden in an address, whose scheme has been cut
// off; from and to are 0 if there is nothing. A password may have a slash in it
// that ought to be escaped; an "@" that begins a part of the path is none of an
// address.
func userInfo(address string) (from, to int) {
	address = address[:min(len(address), longest)]
	if end := strings.IndexAny(address, " \t\r\n\"'`<>"); end >= 0 {
		address = address[:end]
	}
	authority := address
	if end := strings.IndexAny(address, "/?#"); end >= 0 {
		authority = address[:end]
	}
	colon := strings.IndexByte(authority, ':')
	to = strings.LastIndexByte(authority, '@')
	if to < 0 && colon >= 0 {
		to = strings.LastIndexByte(address, '@')
	}
	if to <= 0 || address[to-1] == '/' {
		return 0, 0
	}
	if colon >= 0 && colon < to {
		from = colon + 1
	}
	return from, to
}
