package server

import (
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/ridethrough/ridethrough/internal/server/rest"
)

// pagePath is the address of the page.
const pagePath = "/-/ui/"

// pagePolicy allows what the page needs and nothing else: it loads its own files, draws the icon of its tab, connects
// to this server, and is part of no other page.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

// hashed matches a name that changes with the file, as bundlers make it.
var hashed = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`-[0-9A-Z]{8}\.[a-z.]+$`) })

// findAssets returns the files of the page.
func findAssets(from fs.FS) (map[string]asset, error) {
	all := map[string]asset{}
	if from == nil {
		return all, nil
	}
	err := fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			plain, packed := strings.CutSuffix(name, ".gz")
			all[plain] = asset{mediaType(plain), sync.OnceValues(func() (content, error) { return readContent(from, name, packed) })}
		}
		return err
	})
	return all, err
}

func readContent(from fs.FS, name string, packed bool) (content, error) {
	data, err := fs.ReadFile(from, name)
	return newContent(data, packed), err
}

// mediaType returns the type of a file by its name. The types of a page do not depend on the machine's tables,
// and to read these takes 0.7 MB.
func mediaType(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".txt":
		return "text/plain; charset=utf-8"
	default:
		return "application/octet-stream"
	}
}

// servePage answers with a file of the page. The files hold no secret and need no token: the token may stand
// in the fragment of the page's address, which is not sent.
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
	if hashed().MatchString(name) {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	a.serve(w, r)
}

// isBrowser reports whether a browser opens the server's address, or /-/. No API serves HTML there, so it gets
// the page.
func (s *Server) isBrowser(r *http.Request) bool {
	return len(s.page) > 0 && (r.URL.Path == "/" || r.URL.Path == "/-/") && (r.Method == http.MethodGet || r.Method == http.MethodHead) &&
		strings.Contains(r.Header.Get("Accept"), "text/html")
}

// redirectToPage sends a browser to the page.
func redirectToPage(w http.ResponseWriter) {
	w.Header().Set("Location", pagePath)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusFound)
}
