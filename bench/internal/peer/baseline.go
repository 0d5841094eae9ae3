package peer

import (
	"net/http"
	"net/http/httputil"
	"net/url"
)

// Baseline is the proxy that everything is compared with: the standard
// library's, tuned as its documentation says, and nothing else.
func Baseline(upstream *url.URL) http.Handler {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, 4096
	t.DisableCompression = true
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(upstream) },
		Transport:     t,
		FlushInterval: -1,
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Without this the server closes the request's body as the answer begins. If the upstream is so fast
		// that the transport has yet to see the body's end, that breaks the answer off.
		_ = http.NewResponseController(w).EnableFullDuplex()
		proxy.ServeHTTP(w, r)
	})
}
