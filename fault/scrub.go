package fault

import (
	"strings"
	"unicode/utf8"
)

// mask replaces a credential.
const mask = "***"

// Scrub replaces everything in a text that looks like a credential by "***": keys by their known prefixes,
// what follows Bearer or "api key provided:", the values of key=… and token=…, and the user part of a URL.
// When in doubt, it masks.
func Scrub(s string) string {
	if !mayHoldCredential(s) {
		return s
	}
	s = scrubUserInfo(s)
	var b strings.Builder
	kept := 0 // s[:kept] is in b
	for t := (wordScanner{s: s}); t.next(); {
		if !t.isCredential() {
			continue
		}
		b.WriteString(s[kept:t.from])
		b.WriteString(mask)
		t.extend()
		kept = t.to
	}
	if kept == 0 {
		return s
	}
	b.WriteString(s[kept:])
	return b.String()
}

// mayHoldCredential reports whether a text contains anything that marks a credential. Most errors do not.
func mayHoldCredential(s string) bool {
	inside := false // a word
	for i := range len(s) {
		c := s[i]
		if !tokenBytes[c] {
			inside = false
			if c == '@' || c == '=' || c == ':' && endsWithCredentialName(s[:i]) {
				return true
			}
			continue
		}
		if !inside && credentialStarts[c] && startsCredential(s[i:]) || inside && c|0x20 == 'b' && !isWord(s[i-1]) && startsCredential(s[i:]) {
			return true
		}
		inside = true
	}
	return false
}

// credentialStarts are the bytes that a key or an authorization scheme starts with.
var credentialStarts = byteTable(func(c byte) bool { return c|0x20 == 'b' || len(keyPrefixesByByte[c]) > 0 })

// keyPrefixesByByte holds keyPrefixes by their first byte.
var keyPrefixesByByte = func() (by [256][]string) {
	for _, p := range keyPrefixes {
		by[p[0]] = append(by[p[0]], p)
	}
	return by
}()

// startsCredential reports whether a text starts with a key or an authorization scheme.
func startsCredential(s string) bool {
	for _, p := range keyPrefixesByByte[s[0]] {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return s[0]|0x20 == 'b' && len(s) > 6 && (strings.EqualFold(s[:6], "bearer") || strings.EqualFold(s[:5], "basic"))
}

// endsWithCredentialName reports whether the last word of a text names a credential.
func endsWithCredentialName(before string) bool {
	before = before[max(0, len(before)-24):]
	before = strings.TrimRightFunc(before, func(r rune) bool { return r >= utf8.RuneSelf || !isWord(byte(r)) })
	at := len(before)
	for at > 0 && isWord(before[at-1]) {
		at--
	}
	return isCredentialName(before[at:]) || strings.EqualFold(before[at:], "provided")
}

// wordScanner iterates over the words of a text that may be credentials.
type wordScanner struct {
	s        string
	from, to int    // the word
	label    string // the word before it
	end      int    // where that ends
	before   string // the word before that one
}

// next advances to the next word.
func (t *wordScanner) next() bool {
	if t.to > t.from {
		t.before, t.label, t.end = t.label, t.word(), t.to
	}
	i := t.to
	for i < len(t.s) && !isTokenByte(t.s[i]) {
		i++
	}
	t.from = i
	for i < len(t.s) && isTokenByte(t.s[i]) {
		i++
	}
	t.to = t.from + len(strings.TrimRight(t.s[t.from:i], "."))
	if t.to == t.from && i > t.from {
		t.to = i // dots only
	}
	return t.from < len(t.s)
}

// extend includes the rest of a base64 credential, or of one in two parts such as LM Studio's "sk-lm-…:…".
func (t *wordScanner) extend() {
	i := t.to
	for i < len(t.s) && (isTokenByte(t.s[i]) || strings.IndexByte("/=:", t.s[i]) >= 0) {
		i++
	}
	t.to += len(strings.TrimRight(t.s[t.to:i], ".:"))
}

func (t *wordScanner) word() string { return t.s[t.from:t.to] }

// isTokenByte reports whether a byte may be part of a credential.
func isTokenByte(c byte) bool { return tokenBytes[c] }

var tokenBytes = byteTable(func(c byte) bool { return isWord(c) || strings.IndexByte("-_*.~+", c) >= 0 })

// keyPrefixes start the API keys of providers and hosts.
var keyPrefixes = [...]string{
	"sk-", "sk_", "AIza", "gsk_", "xai-", "hf_", "nvapi-", "r8_", "fw_", "pplx-", "csk-", "ghp_", "gho_", "ghu_", "ghs_",
	"github_pat_", "glpat-", "AKIA", "ASIA", "ya29.", "eyJ", "tgp_", "pk-", "rk-", "xox", "AQ.",
}

// minKeyLen is the length of the shortest key with such a prefix.
const minKeyLen = 9

// isCredential reports whether the word is a credential.
func (t *wordScanner) isCredential() bool {
	word := t.word()
	if len(word) >= minKeyLen {
		for _, p := range keyPrefixesByByte[word[0]] {
			if len(word) >= len(p)+6 && strings.HasPrefix(word, p) {
				return true
			}
		}
	}
	return t.isLabelled(word)
}

// isLabelled reports whether the words before announce a credential: Bearer …, key=…, "api_key": "…", api
// key provided: ….
func (t *wordScanner) isLabelled(word string) bool {
	if isAuthScheme(t.label) {
		return len(word) >= 6 && (hasDigitOrMask(word) || len(word) >= 20)
	}
	switch gap := t.s[t.end:t.from]; {
	case gap == "=":
		return isCredentialName(lastPart(t.label))
	case !strings.ContainsAny(gap, ":="):
		return false
	}
	label := lastPart(t.label)
	named := isCredentialName(label) || strings.EqualFold(label, "provided") && isCredentialName(lastPart(t.before))
	return named && len(word) >= 12 && hasDigitOrMask(word)
}

// isAuthScheme reports whether a label ends with an authorization scheme.
func isAuthScheme(label string) bool {
	if len(label) < len("basic") || label[len(label)-1]|0x20 != 'r' && label[len(label)-1]|0x20 != 'c' {
		return false
	}
	label = lastPart(label)
	return strings.EqualFold(label, "bearer") || strings.EqualFold(label, "basic")
}

// hasDigitOrMask reports whether a word has a digit or an asterisk in it, which no word of a language has.
func hasDigitOrMask(word string) bool { return strings.ContainsAny(word, "0123456789*") }

// lastPart returns the last word of a name such as x-api-key.
func lastPart(name string) string {
	return name[strings.LastIndexAny(name, "-_.")+1:]
}

// isCredentialName reports whether a word names a credential.
func isCredentialName(word string) bool {
	for _, w := range [...]string{"key", "apikey", "token", "secret", "password", "passwd", "authorization", "credential", "signature", "sig"} {
		if strings.EqualFold(word, w) {
			return true
		}
	}
	return false
}

// byteTable returns the set of bytes for which is returns true.
func byteTable(is func(byte) bool) (table [256]bool) {
	for c := range table {
		table[c] = is(byte(c))
	}
	return table
}

// isWord reports whether a byte is an ASCII letter or digit.
func isWord(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' }
