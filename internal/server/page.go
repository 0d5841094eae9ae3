package server

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"regexp"
	"strings"
	"sync"
	"time"
)

// pagePath is where the page is.
const pagePath = "/-/ui/"

// pagePolicy lets the page do what it does and nothing else: it runs and shows its
// own files, talks to this server, and is part of no other page.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

// guard sets the headers of every answer that is not an upstream's, so that
// nothing in one that a browser is led to, an error or a text among them, runs
// or is part of a page.
func guard(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// hashed is a name that changes with what the file says, as bundlers make it.
var hashed = regexp.MustCompile(`-[0-9A-Z]{8}\.[a-z.]+$`)

// leaf is a file of the page.
type leaf struct {
	kind   string // its media type
	etag   string // without what says how it is encoded
	plain  []byte
	packed func() []byte // with gzip; made when it is first asked for. nil: it does not get smaller
}

// leaves reads the files of the page.
func leaves(from fs.FS) (map[string]leaf, error) {
	all := map[string]leaf{}
	if from == nil {
		return all, nil
	}
	err := fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		all[name] = newLeaf(name, text)
		return nil
	})
	return all, err
}

func newLeaf(name string, text []byte) leaf {
	sum := sha256.Sum256(text)
	l := leaf{kind: mediaType(name), etag: hex.EncodeToString(sum[:12]), plain: text}
	l.packed = sync.OnceValue(func() []byte { return pack(text) })
	return l
}

// mediaType gives the type of a file by its name. The few that a page has are
// not left to the tables of the machine.
func mediaType(name string) string {
	switch ext := path.Ext(name); ext {
	case ".html":
		return "text/html; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	default:
		if kind := mime.TypeByExtension(ext); kind != "" {
			return kind
		}
		return "application/octet-stream"
	}
}

// pack compresses a file; nil: it does not get smaller.
func pack(text []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // there is such a level
	_, _ = w.Write(text)                                  // a buffer takes all
	_ = w.Close()
	if b.Len() >= len(text) {
		return nil
	}
	return b.Bytes()
}

// servePage answers with a file of the page. There is no secret in it, so that
// who has the token only in the address of a first visit can load it.
func (s *Server) servePage(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, pagePath)
	if name == "" {
		name = "index.html"
	}
	l, ok := s.page[name]
	if !ok {
		refuse(w, http.StatusNotFound, "the page has no file %q; see %s", clip(name), pagePath)
		return
	}
	h := w.Header()
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("Vary", "Accept-Encoding")
	h.Set("Content-Type", l.kind)
	h.Set("Cache-Control", "no-cache")
	if hashed.MatchString(name) {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	text, tag := l.plain, l.etag
	if unpacks(r) {
		if packed := l.packed(); packed != nil {
			text, tag = packed, l.etag+"-gzip"
			h.Set("Content-Encoding", "gzip")
		}
	}
	h.Set("ETag", `"`+tag+`"`)
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(text))
}

// unpacks tells whether a client takes gzip.
func unpacks(r *http.Request) bool {
	for coding := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, weight, _ := strings.Cut(strings.ReplaceAll(coding, " ", ""), ";")
		if strings.EqualFold(name, "gzip") || name == "*" {
			return strings.Trim(strings.TrimPrefix(weight, "q="), "0.") != "" || weight == ""
		}
	}
	return false
}

// browses tells whether somebody opens the server's address in a browser. No
// API has anything there for people, so they are shown the page.
func (s *Server) browses(r *http.Request) bool {
	return len(s.page) > 0 && r.URL.Path == "/" && (r.Method == http.MethodGet || r.Method == http.MethodHead) &&
		strings.Contains(r.Header.Get("Accept"), "text/html")
}

// lead sends a browser to the page.
func lead(w http.ResponseWriter) {
	w.Header().Set("Location", pagePath)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusFound)
}
