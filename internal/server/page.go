package server

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"

	"github.com/ridethrough/ridethrough/internal/server/rest"
)

const pagePath = "/-/ui/"

// pagePolicy permits what the page needs and nothing else: it loads its own files, draws the icon of its tab,
// connects to this server, and is part of no other page.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

func findAssets(from fs.FS) (map[string]asset, error) {
	all := map[string]asset{}
	if from == nil {
		return all, nil
	}
	err := fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			plain, packed := strings.CutSuffix(name, ".gz")
			all[plain] = asset{mediaType(plain), sync.OnceValues(func() (content, error) {
				data, err := fs.ReadFile(from, name)
				return newContent(data, packed), err
			})}
		}
		return err
	})
	return all, err
}

// mediaType returns the type of a file by its name. The types of a page do not depend on the machine's tables,
// which take 0.7 MB to read.
func mediaType(name string) string {
	kinds := map[string]string{
		".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
		".txt": "text/plain; charset=utf-8", ".svg": "image/svg+xml",
	}
	return cmp.Or(kinds[path.Ext(name)], "application/octet-stream")
}

// servePage answers with a file of the page. The files contain no secret and need no token: the token may be in the
// fragment of the page's address, which is not sent.
func (s *Server) servePage(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, pagePath)
	if name == "" {
		name = "index.html"
	}
	a, ok := s.page[name]
	if !ok {
		rest.Refuse(w, http.StatusNotFound, "the page has no file %q; see %s", rest.Clip(name), pagePath)
		return
	}
	h := w.Header()
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("Cache-Control", "no-cache")
	a.serve(w, r)
}

// isBrowser reports whether a browser opens the server's address, or /-/. No API serves HTML there, so the browser
// gets the page.
func (s *Server) isBrowser(r *http.Request) bool {
	return len(s.page) > 0 && (r.URL.Path == "/" || r.URL.Path == "/-/") && (r.Method == http.MethodGet || r.Method == http.MethodHead) &&
		strings.Contains(r.Header.Get("Accept"), "text/html")
}

// Program is how the page says to connect one program, as JSON.
type Program struct {
	Name string `json:"name"`
	File string `json:"file,omitzero"` // its configuration file; left out: Text is for a shell
	Text string `json:"text"`          // what it needs, where {url} is the gateway's address
	Also string `json:"also,omitzero"` // what else to know
}

// serveSetup shows how programs use the gateway. The page knows its address as its readers see it.
func (s *Server) serveSetup(w http.ResponseWriter, _ *http.Request) {
	programs := []Program{}
	if s.config.Programs != nil {
		programs = append(programs, s.config.Programs()...)
	}
	rest.Answer(w, http.StatusOK, struct {
		Token    bool      `json:"token"` // programs need one, in place of their key
		Programs []Program `json:"programs"`
	}{s.needsToken(), programs})
}

// asset is a static text of the server: a file of the page, or a description of its API. It is loaded at its first
// request: a gateway whose page no browser opens keeps none of it in memory.
type asset struct {
	kind string // its media type
	read func() (content, error)
}

type content struct {
	etag   string // as it is stored
	stored []byte
	packed bool // it is stored with gzip
}

func newContent(stored []byte, packed bool) content {
	sum := sha256.Sum256(stored)
	return content{hex.EncodeToString(sum[:12]), stored, packed}
}

// described returns the asset of a description, which is stored with gzip.
func described(kind, packed string) asset {
	return asset{kind, sync.OnceValues(func() (content, error) { return newContent([]byte(packed), true), nil })}
}

// serve answers with the text, compressed if the client accepts that, or that the client has it already. It is too
// short for ranges.
func (a asset) serve(w http.ResponseWriter, r *http.Request) {
	c, err := a.read()
	packed := c.packed && acceptsGzip(r)
	text, tag := c.stored, `"`+c.etag+`"`
	switch {
	case err != nil:
	case packed:
		tag = `"` + c.etag + `-gzip"`
	case c.packed:
		text, err = c.unpack()
	}
	if err != nil {
		rest.Refuse(w, http.StatusInternalServerError, "read %s: %v", rest.Clip(r.URL.Path), err)
		return
	}
	h := w.Header()
	h.Set("Vary", "Accept-Encoding")
	h.Set("ETag", tag)
	if known := r.Header.Get("If-None-Match"); known == "*" || strings.Contains(known, tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if packed {
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("Content-Type", a.kind)
	h.Set("Content-Length", strconv.Itoa(len(text)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(text) // a client that has left has no use for it
	}
}

// unpack returns the text for one of the few clients that do not accept gzip.
func (c content) unpack() ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(c.stored))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

func acceptsGzip(r *http.Request) bool {
	for coding := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, weight, _ := strings.Cut(strings.ReplaceAll(coding, " ", ""), ";")
		if strings.EqualFold(name, "gzip") || name == "*" {
			return strings.Trim(strings.TrimPrefix(weight, "q="), "0.") != "" || weight == ""
		}
	}
	return false
}
