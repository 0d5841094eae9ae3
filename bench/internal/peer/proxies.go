package peer

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/retry"
)

// Sketch is the smallest proxy with a gateway's duties that net/http makes possible: it keeps the request's body,
// finds the model in it, sends it up to three times, and looks for an error before it passes the answer on. It
// never waits between tries, so it shows what these duties cost and not what they are worth.
func Sketch(upstream *url.URL) http.Handler {
	return &sketch{upstream: upstream, transport: tuned()}
}

type sketch struct {
	upstream  *url.URL
	transport *http.Transport
}

const (
	sketchTries = 3
	sketchAhead = 4 << 10  // of an answer, to see whether it is an error
	sketchRoom  = 32 << 10 // for what is passed on at a time
)

var (
	memories = sync.Pool{New: func() any { return new(bytes.Buffer) }}
	rooms    = sync.Pool{New: func() any { return new([sketchRoom]byte) }}
)

func (s *sketch) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	_ = control.EnableFullDuplex()
	body := memories.Get().(*bytes.Buffer)
	defer func() { body.Reset(); memories.Put(body) }()
	if r.ContentLength > 0 {
		body.Grow(int(r.ContentLength) + bytes.MinRead)
	}
	if _, err := body.ReadFrom(r.Body); err != nil || model(body.Bytes()) == "" {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	resp, err := s.send(r, body.Bytes())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer resp.Body.Close()
	for name, values := range resp.Header {
		w.Header()[name] = values
	}
	room := rooms.Get().(*[sketchRoom]byte)
	defer rooms.Put(room)
	n, err := io.ReadAtLeast(resp.Body, room[:sketchAhead], 1)
	if bytes.Contains(room[:n], []byte(`"error":`)) {
		resp.StatusCode = http.StatusBadGateway
	}
	w.WriteHeader(resp.StatusCode)
	for ; n > 0; n, err = resp.Body.Read(room[:]) {
		if _, failed := w.Write(room[:n]); failed != nil || control.Flush() != nil {
			return
		}
	}
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		panic(http.ErrAbortHandler)
	}
}

func (s *sketch) send(r *http.Request, body []byte) (resp *http.Response, err error) {
	for try := range sketchTries {
		out := r.WithContext(r.Context())
		to := *s.upstream
		to.Path, to.RawQuery = to.Path+r.URL.Path, r.URL.RawQuery
		out.URL, out.Host, out.RequestURI = &to, "", ""
		out.Body = io.NopCloser(bytes.NewReader(body))
		resp, err = s.transport.RoundTrip(out)
		if err == nil && resp.StatusCode < http.StatusInternalServerError || try == sketchTries-1 {
			return resp, err
		}
		if err == nil {
			_ = resp.Body.Close()
		}
		if err := retry.Sleep(r.Context(), time.Second<<try); err != nil {
			return nil, err
		}
	}
	return resp, err
}

// Baseline is the proxy of the comparison: the standard library's, tuned as its documentation says, and nothing
// else.
func Baseline(upstream *url.URL) http.Handler {
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(upstream) },
		Transport:     tuned(),
		FlushInterval: -1,
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Without this the server closes the request's body as the answer begins. If the upstream is so fast
		// that the transport has yet to see the body's end, that breaks the answer off.
		_ = http.NewResponseController(w).EnableFullDuplex()
		proxy.ServeHTTP(w, r)
	})
}

func tuned() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, 4096
	t.DisableCompression = true
	return t
}
