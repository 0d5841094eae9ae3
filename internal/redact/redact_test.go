package redact_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/ridethrough/ridethrough/internal/redact"
)

const secret = "sk-own_01/23+Zz9.end"

// each writes every character of a text in the same way.
func each(text, format string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		fmt.Fprintf(&b, format, c)
	}
	return b.String()
}

// punctuation is each for the characters that are no letters and digits.
func punctuation(text, format string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' {
			b.WriteByte(c)
			continue
		}
		fmt.Fprintf(&b, format, c)
	}
	return b.String()
}

// forms are ways to write a secret.
func forms(s string) []string {
	return []string{
		s,
		punctuation(s, `\u%04x`), punctuation(s, `\u%04X`), each(s, `\u%04x`), each(s, `\\u%04x`), each(s, `\\\\\\\\u%04x`),
		punctuation(s, `\%c`), punctuation(s, `\\\%c`), each(s, `\x%02x`),
		url.QueryEscape(s), punctuation(s, "%%%02x"), each(s, "%%%02X"), each(s, "%%25%02x"), each(s, "%%252525%02X"),
		punctuation(s, "&#%d;"), punctuation(s, "&#x%x;"), punctuation(s, "&#X%04X;"), each(s, "&#%04d;"),
		hex.EncodeToString([]byte(s)), strings.ToUpper(hex.EncodeToString([]byte(s))),
		base64.StdEncoding.EncodeToString([]byte(s)), base64.URLEncoding.EncodeToString([]byte(s)),
	}
}

func TestSecret_MaskedInEveryForm(t *testing.T) {
	s := redact.NewSecret(secret)
	for _, form := range forms(secret) {
		before, after := `{"message":"key: `, ` is \"wrong\" 100% & so on"}`
		got := s.Text(before + form + after)
		rest, begins := strings.CutPrefix(got, before)
		middle, ends := strings.CutSuffix(rest, after)
		if !begins || !ends || len(middle) != len(form) || strings.Trim(strings.TrimRight(middle, "="), "*") != "" && !isTail(form, middle) {
			t.Errorf("text with %s: got %s, want asterisks in its place", form, got)
		}
	}
}

// isTail reports whether a text is masked but for the last digit of base64, which depends on more than the secret.
func isTail(form, masked string) bool {
	clear := strings.Trim(strings.TrimRight(masked, "="), "*")
	return len(clear) <= 1 && strings.HasSuffix(strings.TrimRight(form, "="), clear)
}

func TestSecret_MaskedInBase64WithOthers(t *testing.T) {
	s := redact.NewSecret(secret)
	for before := range 4 {
		for after := range 4 {
			text := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("b", before) + secret + strings.Repeat("a", after)))
			got := strings.Trim(s.Text(text), "=")
			if clear := strings.ReplaceAll(got, "*", ""); len(clear) > (before*8+5)/6+(after*8+5)/6+2 || len(got) != len(strings.Trim(text, "=")) {
				t.Errorf("%d bytes, the secret, %d bytes in base64: got %s of %s", before, after, got, text)
			}
		}
	}
}

func TestSecret_OtherTextsAreUnchanged(t *testing.T) {
	s := redact.NewSecret(secret)
	for _, text := range []string{
		"", "sk-own", secret[:len(secret)-1], secret[1:], strings.ToUpper(secret), strings.Repeat(`\`, 1000), strings.Repeat("%25", 100),
		`\u0073\u006b`, "&#115;&#107;", "&", "%", "%7", `\u00`, "ssss", `{"text":"a \"quoted\" line\n"}`, strings.Repeat("&#0", 50),
	} {
		if got := s.Text(text); got != text {
			t.Errorf("text %q without the secret: got %q, want it unchanged", text, got)
		}
	}
	if got := redact.NewSecret("").Text("any"); got != "any" {
		t.Errorf("text of no secret: got %q, want any", got)
	}
	if got := redact.NewSecret("abc").Text("YWJj abc"); got != "YWJj ***" {
		t.Errorf("short secret: got %q, want only the plain form masked", got)
	}
	if got, want := redact.NewSecret("a%b&c").Text("a%b&c a%25b&amp;c a%25b&c"), "***** *********** *******"; len(strings.Trim(got, "* ")) != 0 {
		t.Errorf("secret with the marks of escapes: got %q, want %q", got, want)
	}
}

func TestReader_MasksASecretSplitAtEveryByte(t *testing.T) {
	s := redact.NewSecret(secret)
	for _, form := range forms(secret) {
		text := "data: " + form + "\n\n" + form[:len(form)-1] + " " + form
		want := s.Text(text)
		for at := range len(text) {
			got, err := io.ReadAll(s.Reader(io.MultiReader(strings.NewReader(text[:at]), strings.NewReader(text[at:]))))
			if string(got) != want || err != nil {
				t.Fatalf("%s split at %d: got %s, %v, want %s", text, at, got, err, want)
			}
		}
		got, err := io.ReadAll(s.Reader(iotest.OneByteReader(strings.NewReader(text))))
		if string(got) != want || err != nil {
			t.Errorf("%s byte by byte: got %s, %v, want %s", text, got, err, want)
		}
	}
}

func TestReader_DelaysNoFrame(t *testing.T) {
	s := redact.NewSecret(secret)
	src, w := io.Pipe()
	r := s.Reader(src)
	for _, frame := range []string{"data: {\"text\":\"yes\"}\n\n", ": ping\n\n", "{\"done\":true}\n"} {
		go func() { _, _ = io.WriteString(w, frame) }()
		p := make([]byte, 100)
		if n, err := r.Read(p); string(p[:n]) != frame || err != nil {
			t.Errorf("read of the frame %q: got %q, %v", frame, p[:n], err)
		}
	}
}

func TestReader_ReturnsTheErrorOfTheSource(t *testing.T) {
	broken := io.MultiReader(strings.NewReader("so far sk-"), iotest.ErrReader(io.ErrUnexpectedEOF))
	got, err := io.ReadAll(redact.NewSecret(secret).Reader(broken))
	if string(got) != "so far sk-" || err != io.ErrUnexpectedEOF {
		t.Errorf("got %q, %v, want what came before the error, and the error", got, err)
	}
}

// escapes are ways to write one character.
var escapes = []string{"%c", `\u%04x`, `\\u%04X`, `\x%02x`, "%%%02x", "%%25%02X", "&#%d;", "&#x%02x;", `\\\\u%04x`}

// FuzzSecret masks a secret whose characters are each escaped in a way of their own, split anywhere.
func FuzzSecret(f *testing.F) {
	for i := range escapes {
		f.Add([]byte{byte(i)}, []byte{byte(i), 0}, 5+i)
	}
	f.Add([]byte("0123456780"), []byte("1"), 40)
	f.Fuzz(func(t *testing.T, ways, before []byte, at int) {
		var text strings.Builder
		for i, c := range []byte(secret) {
			way := escapes[0]
			if len(ways) > 0 {
				way = escapes[int(ways[i%len(ways)])%len(escapes)]
			}
			fmt.Fprintf(&text, way, c)
		}
		form := text.String()
		whole := string(before) + "." + form + "."
		at = min(max(at, 0), len(whole))
		got, err := io.ReadAll(redact.NewSecret(secret).Reader(io.MultiReader(strings.NewReader(whole[:at]), strings.NewReader(whole[at:]))))
		masked := bytes.Contains(got, []byte("."+strings.Repeat("*", len(form))+"."))
		if len(got) != len(whole) || !masked || err != nil {
			t.Errorf("%q split at %d: got %q, %v, want asterisks for %q", whole, at, got, err, form)
		}
	})
}

// FuzzReader holds the reader, at any split, against masking the whole text at once.
func FuzzReader(f *testing.F) {
	for i, form := range forms(secret) {
		f.Add([]byte("a "+form+" b"), i, 7+i)
	}
	f.Add([]byte(`\\\\\\\\\\\\\\\\\\u0073`), 3, 9)
	f.Add([]byte("%25252573%6"), 4, 5)
	s := redact.NewSecret(secret)
	f.Fuzz(func(t *testing.T, text []byte, a, b int) {
		want := []byte(s.Text(string(text)))
		if len(want) != len(text) || bytes.Contains(want, []byte(secret)) {
			t.Fatalf("%q masked is %q", text, want)
		}
		a, b = min(max(a, 0), len(text)), min(max(b, 0), len(text))
		a, b = min(a, b), max(a, b)
		parts := io.MultiReader(bytes.NewReader(bytes.Clone(text[:a])), bytes.NewReader(bytes.Clone(text[a:b])), bytes.NewReader(bytes.Clone(text[b:])))
		if got, err := io.ReadAll(s.Reader(parts)); !bytes.Equal(got, want) || err != nil {
			t.Errorf("%q split at %d and %d: got %q, %v, want %q", text, a, b, got, err, want)
		}
	})
}

func BenchmarkMask(b *testing.B) {
	s := redact.NewSecret(secret)
	text := []byte(strings.Repeat(`data: {"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"word \n"}}]}`+"\n\n", 600))
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		s.Mask(text, false)
	}
}
