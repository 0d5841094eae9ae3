package server

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

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

// serve answers with the text, as it is stored if the client takes that.
func (a asset) serve(w http.ResponseWriter, r *http.Request) {
	c, err := a.read()
	text, tag := c.stored, c.etag
	h := w.Header()
	switch {
	case err != nil || !c.packed:
	case acceptsGzip(r):
		tag += "-gzip"
		h.Set("Content-Encoding", "gzip")
	default:
		text, err = c.unpack()
	}
	if err != nil {
		rest.Refuse(w, http.StatusInternalServerError, "read %s: %v", rest.Clip(r.URL.Path), err)
		return
	}
	h.Set("Vary", "Accept-Encoding")
	h.Set("Content-Type", a.kind)
	h.Set("ETag", `"`+tag+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text))
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
