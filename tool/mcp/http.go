package mcp

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

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

// requestError is a request to the server that got no answer of the protocol.
type requestError struct {
	err  error
	sent bool // the server may have carried it out
	gone bool // the server does not know the session any more
}

// Error returns the text of the error.
func (e *requestError) Error() string { return e.err.Error() }

// Unwrap returns the error.
func (e *requestError) Unwrap() error { return e.err }

// headerTransport adds a server's headers to requests to its own host, and makes errors of what is no answer. The
// headers hold credentials, and a redirect may lead anywhere.
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
	if h.header != nil && r.URL.Scheme == h.home.Scheme && r.URL.Host == h.home.Host {
		headers, err := h.header()
		if err != nil {
			return nil, err
		}
		r = r.Clone(r.Context())
		for name, values := range headers {
			r.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	resp, err := base.RoundTrip(r)
	if err != nil {
		dial, dialing := errors.AsType[*net.OpError](err)
		return nil, &requestError{err: err, sent: !dialing || dial.Op != "dial"}
	}
	if f := unanswered(r, resp); f != nil {
		_ = resp.Body.Close() // it is of no use
		return nil, f
	}
	return resp, nil
}

// unanswered returns the error of a response that is no answer of the protocol; nil: it may be one.
func unanswered(r *http.Request, resp *http.Response) error {
	code := resp.StatusCode
	gone := code == http.StatusNotFound && r.Header.Get("Mcp-Session-Id") != ""
	failed := code >= 500 || code == http.StatusTooManyRequests
	if r.Method != http.MethodPost || !gone && !failed || strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		return nil
	}
	return &requestError{err: errors.New("HTTP " + resp.Status), sent: code >= 500, gone: gone}
}
