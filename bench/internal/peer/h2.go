package peer

import (
	"net/http"
	"strings"
)

// serveH2 answers a request of HTTP/2, for which net/http has the only server there is.
func (u *Upstream) serveH2(w http.ResponseWriter, r *http.Request) {
	name, err := modelOf(r.Body)
	if err != nil {
		return
	}
	if p, ok := u.told(r); ok {
		_ = frames{w, r}.send(p)
		return
	}
	_ = u.play(frames{w, r}, name) // an error is that the other side has gone
}

// frames is an answer of HTTP/2.
type frames struct {
	w http.ResponseWriter
	r *http.Request
}

func (f frames) send(p piece) error {
	if p.status != 0 {
		h := f.w.Header()
		h.Set("Content-Type", "application/json")
		if strings.HasPrefix(string(p.data), "data: ") {
			h.Set("Content-Type", "text/event-stream; charset=utf-8")
			h.Set("Cache-Control", "no-cache")
		}
		h.Set("X-Request-Id", "req_0123456789abcdef")
		f.w.WriteHeader(p.status)
	}
	if _, err := f.w.Write(p.data); err != nil {
		return err
	}
	return http.NewResponseController(f.w).Flush()
}

func (f frames) gone() { <-f.r.Context().Done() }
