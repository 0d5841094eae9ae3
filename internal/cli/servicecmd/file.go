package servicecmd

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"unicode/utf16"
)

type file struct {
	text, config string // config is that of --config; "": none
	there        bool
	unchanged    bool // as it was written
}

func read(path string) (f file, err error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	f.text, f.there = fromUTF16(content), true
	f.config, f.unchanged = unseal(f.text)
	return f, err
}

func write(p *plan, text string) error {
	content := []byte(text)
	if filepath.Ext(p.path) == ".xml" { // as Windows reads it
		content = toUTF16(text)
	}
	if err := os.MkdirAll(filepath.Dir(p.path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(p.path, content, 0o644)
}

func withoutRights(err error) error {
	if errors.Is(err, fs.ErrPermission) && strings.Contains(err.Error(), "/etc/") {
		return fmt.Errorf("%w; the service of the machine is changed by root: sudo", err)
	}
	return err
}

// The mark is a comment in each file: that it is ours, the configuration, and a hash by which a change by hand shows.
const markText = "Written by ridethrough service install"

var mark = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(markText + `; config=(\S*)(?: made=\d+)? sha256=([0-9a-f]{16})`)
})

// sealed returns the text of a file with its mark in place of "{mark}".
func sealed(text, config string) string {
	config = strings.ReplaceAll((&url.URL{Path: config}).EscapedPath(), "-", "%2D") // a comment of XML has no --
	begins := markText + "; config=" + config + " sha256="
	return strings.Replace(text, "{mark}", begins+hash(strings.Replace(text, "{mark}", begins, 1)), 1)
}

// hash returns the beginning of a text's hash. Windows' tools may change line ends, so they are ignored.
func hash(text string) string {
	sum := sha256.Sum256([]byte(strings.ReplaceAll(text, "\r\n", "\n")))
	return hex.EncodeToString(sum[:8])
}

// unseal returns the configuration of a file, and whether it is one of ours and unchanged.
func unseal(text string) (config string, unchanged bool) {
	at := mark().FindStringSubmatchIndex(text)
	if at == nil {
		return "", false
	}
	config, _ = url.PathUnescape(text[at[2]:at[3]])
	return config, hash(text[:at[4]]+text[at[5]:]) == text[at[4]:at[5]]
}

const byteOrder = "\ufeff"

// toUTF16 encodes a text as Windows' scheduler stores it, with a byte order mark.
func toUTF16(text string) []byte {
	file, _ := binary.Append(nil, binary.LittleEndian, utf16.Encode([]rune(byteOrder+text))) // of numbers
	return file
}

// fromUTF16 reverses [toUTF16]. Other texts stay.
func fromUTF16(file []byte) string {
	units := make([]uint16, len(file)/2)
	_, _ = binary.Decode(file, binary.LittleEndian, units) // of their length
	if text, ok := strings.CutPrefix(string(utf16.Decode(units)), byteOrder); ok {
		return text
	}
	return string(file)
}
