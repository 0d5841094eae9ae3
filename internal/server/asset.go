package server

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/ridethrough/ridethrough/internal/server/rest"
)

// asset is a text that the server has as it is: a file of the page, or a description of its API. It is read at its
// first request: a gateway whose page no browser opens has none of it in memory.
type asset struct {
	kind string // its media type
	read func() (content, error)
}

// content is what an asset has.
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

// serve answers with the text, as it is stored if the client takes that, or that the client has it already. It is too
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

// unpack returns the text for one of the few clients that do not take gzip.
func (c content) unpack() ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(c.stored))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// acceptsGzip reports whether a client takes gzip.
func acceptsGzip(r *http.Request) bool {
	for coding := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, weight, _ := strings.Cut(strings.ReplaceAll(coding, " ", ""), ";")
		if strings.EqualFold(name, "gzip") || name == "*" {
			return strings.Trim(strings.TrimPrefix(weight, "q="), "0.") != "" || weight == ""
		}
	}
	return false
}
