package fault

import (
	"strings"
	"unicode/utf8"
)

// hidden is what stands for a credential.
const hidden = "***"

// Scrub replaces everything in a text that looks like a credential by "***":
// keys by their well-known prefixes, what follows Bearer or "api key provided:",
// the values of key=… and token=…, and the user part of an address. It errs
// towards hiding.
func Scrub(s string) string {
	if !suspicious(s) {
		return s
	}
	s = anonymous(s)
	var b strings.Builder
	kept := 0 // s[:kept] is in b
	for t := (token{s: s}); t.next(); {
		if !t.secret() {
			continue
		}
		b.WriteString(s[kept:t.from])
		b.WriteString(hidden)
		t.extend()
		kept = t.to
	}
	if kept == 0 {
		return s
	}
	b.WriteString(s[kept:])
	return b.String()
}

// suspicious tells whether a text has anything in it by which a credential is
// known. Most errors have not.
func suspicious(s string) bool {
	inside := false // a word
	for i := range len(s) {
		c := s[i]
		if !opaques[c] {
			inside = false
			if c == '@' || c == '=' || c == ':' && credible(s[:i]) {
				return true
			}
			continue
		}
		if !inside && telling[c] && starts(s[i:]) || inside && c|0x20 == 'b' && !isWord(s[i-1]) && starts(s[i:]) {
			return true
		}
		inside = true
	}
	return false
}

// telling are the bytes that a key, or a scheme of authorization, starts with.
var telling = bytesThat(func(c byte) bool { return c|0x20 == 'b' || len(prefixesBy[c]) > 0 })

// prefixesBy are the prefixes by their first byte.
var prefixesBy = func() (by [256][]string) {
	for _, p := range prefixes {
		by[p[0]] = append(by[p[0]], p)
	}
	return by
}()

// starts tells whether a text starts with a key, or a scheme of authorization.
func starts(s string) bool {
	for _, p := range prefixesBy[s[0]] {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return s[0]|0x20 == 'b' && len(s) > 6 && (strings.EqualFold(s[:6], "bearer") || strings.EqualFold(s[:5], "basic"))
}

// credible tells whether what stands before a colon names a credential.
func credible(before string) bool {
	before = before[max(0, len(before)-24):]
	before = strings.TrimRightFunc(before, func(r rune) bool { return r >= utf8.RuneSelf || !isWord(byte(r)) })
	at := len(before)
	for at > 0 && isWord(before[at-1]) {
		at--
	}
	return credential(before[at:]) || strings.EqualFold(before[at:], "provided")
}

// token walks over the words of a text that may be credentials.
type token struct {
	s        string
	from, to int    // the word
	label    string // the word before it
	end      int    // where that ends
	before   string // the word before that one
}

// next goes to the next word.
func (t *token) next() bool {
	if t.to > t.from {
		t.before, t.label, t.end = t.label, t.word(), t.to
	}
	i := t.to
	for i < len(t.s) && !opaque(t.s[i]) {
		i++
	}
	t.from = i
	for i < len(t.s) && opaque(t.s[i]) {
		i++
	}
	t.to = t.from + len(strings.TrimRight(t.s[t.from:i], "."))
	if t.to == t.from && i > t.from {
		t.to = i // dots only
	}
	return t.from < len(t.s)
}

// extend takes in the rest of a credential in base64, or of one in two parts,
// as LM Studio's "sk-lm-…:…" is.
func (t *token) extend() {
	i := t.to
	for i < len(t.s) && (opaque(t.s[i]) || strings.IndexByte("/=:", t.s[i]) >= 0) {
		i++
	}
	t.to += len(strings.TrimRight(t.s[t.to:i], ".:"))
}

func (t *token) word() string { return t.s[t.from:t.to] }

// opaque tells whether a byte may be part of a credential.
func opaque(c byte) bool { return opaques[c] }

var opaques = bytesThat(func(c byte) bool { return isWord(c) || strings.IndexByte("-_*.~+", c) >= 0 })

// prefixes start the keys of providers and of those who host them.
var prefixes = [...]string{
	"sk-", "sk_", "AIza", "gsk_", "xai-", "hf_", "nvapi-", "r8_", "fw_", "pplx-", "csk-", "ghp_", "gho_", "ghu_", "ghs_",
	"github_pat_", "glpat-", "AKIA", "ASIA", "ya29.", "eyJ", "tgp_", "pk-", "rk-", "xox", "AQ.",
}

// shortest is the length of the shortest key that has such a prefix.
const shortest = 9

// secret tells whether the word is a credential.
func (t *token) secret() bool {
	word := t.word()
	if len(word) >= shortest {
		for _, p := range prefixesBy[word[0]] {
			if len(word) >= len(p)+6 && strings.HasPrefix(word, p) {
				return true
			}
		}
	}
	return t.labelled(word)
}

// labelled tells whether the words before say that a credential follows:
// Bearer …, key=…, "api_key": "…", api key provided: ….
func (t *token) labelled(word string) bool {
	if scheme(t.label) {
		return len(word) >= 6 && (dense(word) || len(word) >= 20)
	}
	switch gap := t.s[t.end:t.from]; {
	case gap == "=":
		return credential(lastPart(t.label))
	case !strings.ContainsAny(gap, ":="):
		return false
	}
	label := lastPart(t.label)
	named := credential(label) || strings.EqualFold(label, "provided") && credential(lastPart(t.before))
	return named && len(word) >= 12 && dense(word)
}

// scheme tells whether a label ends with a scheme of authorization.
func scheme(label string) bool {
	if len(label) < len("basic") || label[len(label)-1]|0x20 != 'r' && label[len(label)-1]|0x20 != 'c' {
		return false
	}
	label = lastPart(label)
	return strings.EqualFold(label, "bearer") || strings.EqualFold(label, "basic")
}

// dense tells whether a word is none of a language: it has a digit or a mask in it.
func dense(word string) bool { return strings.ContainsAny(word, "0123456789*") }

// lastPart gives the last word of a name such as x-api-key.
func lastPart(name string) string {
	return name[strings.LastIndexAny(name, "-_.")+1:]
}

// credential tells whether a word names a credential.
func credential(word string) bool {
	for _, w := range [...]string{"key", "apikey", "token", "secret", "password", "passwd", "authorization", "credential", "signature", "sig"} {
		if strings.EqualFold(word, w) {
			return true
		}
	}
	return false
}

// bytesThat tables what holds for a byte.
func bytesThat(is func(byte) bool) (table [256]bool) {
	for c := range table {
		table[c] = is(byte(c))
	}
	return table
}

// isWord reports whether a byte is an ASCII letter or digit.
func isWord(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' }
