package fault

import "strings"

// scrubUserInfo masks the password, or the lone user, of every URL in a text: https://user:password@host.
// The URL need not be well-formed: errors often quote malformed ones.
func scrubUserInfo(s string) string {
	var b strings.Builder
	for {
		before, url, ok := strings.Cut(s, "://")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		b.WriteString("://")
		from, to := userInfo(url)
		if to > from {
			b.WriteString(url[:from])
			b.WriteString(mask)
		}
		s = url[to:]
	}
}

// maxAuthority is how far into a URL its host is looked for, in bytes.
const maxAuthority = 512

// userInfo returns where a URL without its scheme has user information to mask; from and to are 0 if nowhere.
// A password may contain an unescaped slash. An "@" that begins a path element is not part of the authority.
func userInfo(url string) (from, to int) {
	url = url[:min(len(url), maxAuthority)]
	if end := strings.IndexAny(url, " \t\r\n\"'`<>"); end >= 0 {
		url = url[:end]
	}
	authority := url
	if end := strings.IndexAny(url, "/?#"); end >= 0 {
		authority = url[:end]
	}
	colon := strings.IndexByte(authority, ':')
	to = strings.LastIndexByte(authority, '@')
	if to < 0 && colon >= 0 {
		to = strings.LastIndexByte(url, '@')
	}
	if to <= 0 || url[to-1] == '/' {
		return 0, 0
	}
	if colon >= 0 && colon < to {
		from = colon + 1
	}
	return from, to
}
