package gateway

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/internal/cork"
	"github.com/ridethrough/ridethrough/internal/hangup"
)

// Network is how an upstream without a Transport is reached. The zero Network is usually right.
type Network struct {
	CA    string // certificates of authorities, in PEM, that are trusted besides the system's; "": none
	Proxy string // the URL of a proxy, or "none", whatever the environment names; "": that of HTTPS_PROXY, HTTP_PROXY and NO_PROXY
	HTTP2 bool   // speak HTTP/2 without TLS, which the server must know (h2c); no proxy is used
}

// noProxy as Network.Proxy connects without a proxy.
const noProxy = "none"

// Check returns what is wrong with a Network for a base URL; nil: nothing.
func (n Network) Check(base *url.URL) error {
	if n.CA != "" && !x509.NewCertPool().AppendCertsFromPEM([]byte(n.CA)) {
		return errors.New("CA has no certificate in PEM")
	}
	if n.HTTP2 && base.Scheme != "http" {
		return errors.New("HTTP/2 by prior knowledge is for http://; over https it is negotiated")
	}
	proxy, err := url.Parse(n.Proxy)
	switch {
	case n.Proxy == "" || n.Proxy == noProxy:
		return nil
	case n.HTTP2:
		return errors.New("HTTP/2 by prior knowledge goes through no proxy")
	case err == nil && proxy.User != nil:
		return errors.New("the URL of a proxy has no user; set HTTPS_PROXY for one with a password")
	case err != nil || proxy.Host == "" || proxy.Scheme != "http" && proxy.Scheme != "https" && proxy.Scheme != "socks5":
		return errors.New("want a proxy such as http://proxy.example:3128 or socks5://127.0.0.1:1080, or none") // not the URL: it may have a password
	}
	return nil
}

// Transport returns a transport for many requests to few hosts. Content encodings pass unchanged. connect
// bounds the time to establish a connection. The system's authorities are read again where a certificate is refused.
// The Network must pass Check.
func (n Network) Transport(connect time.Duration) http.RoundTripper {
	t := &connections{network: n, connect: connect}
	t.current.Store(&trusting{Transport: n.Standard(connect)})
	return t
}

// Standard returns a transport of net/http that reaches what Transport reaches. It sends a request once, unless
// none of it has been sent.
func (n Network) Standard(connect time.Duration) *http.Transport {
	if n.CA == "" {
		return n.standard(connect, nil)
	}
	return n.standard(connect, n.roots())
}

// standard is Standard with the authorities that are trusted; nil: the system's.
func (n Network) standard(connect time.Duration, roots *x509.CertPool) *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.ReadBufferSize = 16 << 10 // an answer that is there is read at once, and so it is written
	t.DialContext = hangup.Dial(cork.Dial((&net.Dialer{Timeout: connect, KeepAlive: 30 * time.Second}).DialContext))
	t.TLSHandshakeTimeout = connect
	t.DisableCompression = true
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, 256
	t.Proxy, t.OnProxyConnectResponse = n.proxy(), connectRefused
	if roots != nil {
		t.TLSClientConfig = &tls.Config{RootCAs: roots}
	}
	if n.HTTP2 {
		t.Protocols = new(http.Protocols)
		t.Protocols.SetUnencryptedHTTP2(true)
	}
	return t
}

// connectRefused returns the fault of a proxy that does not connect to an upstream, which its status decides. net/http
// leaves nothing of it but the reason phrase. The fault has no status: the upstream has not answered.
func connectRefused(_ context.Context, proxy *url.URL, _ *http.Request, resp *http.Response) error {
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	f := classify.FromResponse(resp.StatusCode, resp.Header, nil, time.Now())
	f.Status, f.Message = 0, "the proxy "+proxy.Host+" does not connect: "+resp.Status
	return f
}

// proxy returns the proxy of a request.
func (n Network) proxy() func(*http.Request) (*url.URL, error) {
	switch {
	case n.HTTP2 || n.Proxy == noProxy:
		return nil
	case n.Proxy == "":
		return http.ProxyFromEnvironment
	}
	u, _ := url.Parse(n.Proxy)
	return http.ProxyURL(u)
}

// roots returns the system's authorities and those of the Network.
func (n Network) roots() *x509.CertPool {
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	pool.AppendCertsFromPEM([]byte(n.CA))
	return pool
}

// signingTransport signs each try: a signature is valid for some minutes only, and a request may wait for hours.
type signingTransport struct {
	http.RoundTripper
	upstream string // its name
	sign     func(*http.Request) error
}

// RoundTrip sends one request.
func (t *signingTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	out := req.WithContext(req.Context())
	out.Header = req.Header.Clone()
	if err := t.sign(out); err != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, &fault.Error{
			Kind: fault.Auth, Message: "the request cannot be signed for the upstream " + t.upstream,
			Err: errors.Join(errLocal, err), Rule: "gateway/sign",
		}
	}
	return t.RoundTripper.RoundTrip(out)
}
