package gateway

import (
	"io"
	"net/http"
	"net/url"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/spool"
)

// modelBody is the body of a request with another model in it: the client's own bytes, read from the spool for
// each try, with some of them replaced.
type modelBody struct {
	body  *spool.Body
	edits []api.Span
	text  []byte // in place of each
}

// askForModel makes a request ask for the model of a destination: in its path, in its body, or in both. The body loses its
// content coding. release frees what that takes; call it when no try follows.
func (in *intake) askForModel(req *http.Request, at destination) (release func(), err error) {
	to, inPath := in.endpoint.withModel(in.dialect, at.model)
	if inPath {
		req.URL = at.urlOf(to, req.URL.RawQuery)
	}
	m := modelBody{body: in.body.Body}
	release = func() {}
	if coding := in.body.coding; coding != "" {
		if m.body, err = in.gateway.spool.Decode(coding, in.body.Body, in.upstream.largest()); err != nil {
			return release, cannotReplace(err.Error())
		}
		m.body.OnLost, release = in.body.OnLost, m.body.Release
		delete(req.Header, "Content-Encoding")
	}
	var found api.ModelScanner
	m.body.Each(func(part []byte) (more bool) { return !found.Scan(part) })
	m.body.Compress() // at a fallback it may wait again
	if found.Names() || !inPath {
		var ok bool
		if m.edits, m.text, ok = found.Replace(at.model); !ok {
			return release, cannotReplace("its body is no JSON object, or names several")
		}
	}
	_ = req.Body.Close()
	req.ContentLength, req.GetBody = m.size(), m.open
	req.Body, _ = m.open()
	return release, nil
}

// cannotReplace returns the fault of a request that cannot be sent to a fallback.
func cannotReplace(why string) error {
	return &fault.Error{
		Kind: fault.Invalid, Message: "the model of the request cannot be replaced: " + why, Rule: "gateway/model", Err: errLocal,
	}
}

// withModel returns the endpoint with another model; false: the path names none.
func (e endpoint) withModel(d *api.API, model string) (endpoint, bool) {
	at := d.ModelInPath(e.path)
	if at.Len() == 0 {
		return e, false
	}
	before, after := e.path[:at.Begin], e.path[at.End:]
	return endpoint{
		path:    before + model + after,
		escaped: (&url.URL{Path: before}).EscapedPath() + url.PathEscape(model) + (&url.URL{Path: after}).EscapedPath(),
	}, true
}

// size returns the length of the body in bytes.
func (m *modelBody) size() int64 {
	n := m.body.Size()
	for _, at := range m.edits {
		n += len(m.text) - at.Len()
	}
	return int64(n)
}

// open returns a reader of the body, for one try.
func (m *modelBody) open() (io.ReadCloser, error) {
	src, err := m.body.Open()
	return &modelReader{modelBody: m, src: src, edits: m.edits}, err
}

// modelReader reads a modelBody.
type modelReader struct {
	*modelBody
	src   io.ReadCloser
	at    int // in src
	edits []api.Span
	text  []byte // that is to be read next
}

// Read implements io.Reader.
func (r *modelReader) Read(p []byte) (int, error) {
	if len(r.text) == 0 && len(r.edits) > 0 && r.edits[0].Begin == r.at {
		if err := r.skip(r.edits[0]); err != nil {
			return 0, err
		}
	}
	if len(r.text) > 0 {
		n := copy(p, r.text)
		r.text = r.text[n:]
		return n, nil
	}
	if len(r.edits) > 0 {
		p = p[:min(len(p), r.edits[0].Begin-r.at)]
	}
	n, err := r.src.Read(p)
	r.at += n
	return n, err
}

// skip goes behind an edit, whose text comes next.
func (r *modelReader) skip(edit api.Span) error {
	n, err := io.CopyN(io.Discard, r.src, int64(edit.Len()))
	r.at += int(n)
	r.edits, r.text = r.edits[1:], r.modelBody.text
	return err
}

// Close implements io.Closer.
func (r *modelReader) Close() error { return r.src.Close() }
