package exchange

import (
	"net"
	"net/http"
)

// ResetIfAborted is deferred by the handler of a request over HTTP/1.0. It resets the connection of an answer that is
// aborted and has no length: there are no chunks either, and to the client a closed connection would be its proper end.
func ResetIfAborted(w http.ResponseWriter) {
	cause := recover()
	if cause == nil {
		return
	}
	if cause == http.ErrAbortHandler && w.Header()["Content-Length"] == nil {
		reset(w)
	}
	panic(cause)
}

// reset closes the connection of a request with a reset. What TLS would say of its end is not sent either.
func reset(w http.ResponseWriter) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return // HTTP/2 has other ways
	}
	for below := c; ; {
		if socket, ok := below.(interface{ SetLinger(seconds int) error }); ok {
			_ = socket.SetLinger(0)
			_ = below.Close()
			break
		}
		over, ok := below.(interface{ NetConn() net.Conn })
		if !ok {
			break
		}
		below = over.NetConn()
	}
	_ = c.Close()
}
