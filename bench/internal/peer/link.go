package peer

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Link is how proxies speak to the upstream.
type Link string

// What a link can be.
const (
	Plain Link = "plain" // HTTP/1.1 without TLS
	TLS   Link = "tls"   // HTTP/1.1 over TLS
	H2    Link = "h2"    // HTTP/2 over TLS, as with almost every provider
)

// Scheme is that of the upstream's URL.
func (l Link) Scheme() string {
	if l == Plain {
		return "http"
	}
	return "https"
}

// ServeOver serves until the listener is closed, over TLS with the certificate in folder if the link is not
// plain.
func (u *Upstream) ServeOver(link Link, l net.Listener, folder string) error {
	if link == Plain {
		return u.Serve(l)
	}
	c, err := certificate(folder)
	if err != nil {
		return err
	}
	config := &tls.Config{Certificates: []tls.Certificate{c}, MinVersion: tls.VersionTLS13}
	switch link {
	case TLS:
		config.NextProtos = []string{"http/1.1"}
		return u.Serve(tls.NewListener(l, config))
	case H2:
		s := &http.Server{Handler: http.HandlerFunc(u.serveH2), TLSConfig: config, ReadHeaderTimeout: 30 * time.Second}
		return s.ServeTLS(l, "", "")
	}
	return fmt.Errorf("%q is no link", link)
}
