package mcp

import (
	"fmt"
	"net/http"
	"net/url"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// httpTransport returns the transport to a server over HTTP. An answer whose stream breaks is requested
// once more if the server stores it, which runs nothing twice; otherwise nothing is sent again.
func (s Server) httpTransport() (sdk.Transport, error) {
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q is not an HTTP URL", s.URL)
	}
	client := http.Client{}
	if s.Client != nil {
		client = *s.Client
	}
	client.Transport = headerTransport{u, s.Header, client.Transport}
	return &sdk.StreamableClientTransport{
		Endpoint: s.URL, HTTPClient: &client, MaxRetries: 1,
		DisableStandaloneSSE: true, // unsolicited messages are not used
	}, nil
}

// headerTransport adds a server's headers to requests to its own host. They hold credentials, and a
// redirect may lead anywhere.
type headerTransport struct {
	home   *url.URL
	header func() (http.Header, error)
	base   http.RoundTripper // nil: http.DefaultTransport
}

// RoundTrip sends a request with the headers.
func (h headerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	base := h.base
	if base == nil {
		base = http.DefaultTransport
	}
	if h.header == nil || r.URL.Scheme != h.home.Scheme || r.URL.Host != h.home.Host {
		return base.RoundTrip(r)
	}
	headers, err := h.header()
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	for name, values := range headers {
		r.Header[http.CanonicalHeaderKey(name)] = values
	}
	return base.RoundTrip(r)
}
