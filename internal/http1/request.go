package http1

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// sends reports whether this package sends the request. The others are rare, and left to net/http.
func (t *Transport) sends(req *http.Request) bool {
	u := req.URL
	switch {
	case u == nil || u.Scheme != "http" || u.Opaque != "" || u.Host == "":
		return false
	case !plainHost(u.Host) || !plainHost(req.Host):
		return false
	case u.Path != "" && u.Path[0] != '/' || req.Header == nil || req.Method == http.MethodConnect:
		return false
	case req.Header["Upgrade"] != nil || len(req.Trailer) > 0:
		return false
	//lint:ignore SA1019 an http.Client with a Timeout still sets it
	case req.Cancel != nil:
		return false
	case len(req.TransferEncoding) > 0 && (req.TransferEncoding[0] != "chunked" || req.Body == nil):
		return false
	case req.ContentLength != 0 && req.Body == nil:
		return false
	case bodyLength(req) < 0 && !usuallyWithBody(req.Method): // there may be no body at all
		return false
	}
	f, ok := t.fallback().(*http.Transport)
	if !ok || f.Proxy == nil {
		return true
	}
	proxy, err := f.Proxy(req)
	return proxy == nil && err == nil
}

// plainHost reports whether a host can be sent as it is: it has no zone and no user, and is in ASCII.
func plainHost(host string) bool {
	for i := range len(host) {
		switch b := host[i]; {
		case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9':
		case b == '.' || b == '-' || b == '_' || b == '~' || b == ':' || b == '[' || b == ']':
		default:
			return false
		}
	}
	return true
}

func usuallyWithBody(method string) bool {
	return method == http.MethodPost || method == http.MethodPut || method == http.MethodPatch
}

// bodyLength returns the length of the request's body; -1: it is not known.
func bodyLength(req *http.Request) int64 {
	switch {
	case req.Body == nil || req.Body == http.NoBody:
		return 0
	case len(req.TransferEncoding) > 0 || req.ContentLength == 0:
		return -1
	}
	return max(-1, req.ContentLength)
}

var errTarget = errors.New("http1: a control character or a space in the request's URL")

// appendHead writes the request up to the empty line.
//
//go:noinline its frame would be on the stack of every request that waits
func appendHead(b []byte, req *http.Request) ([]byte, error) {
	method := req.Method
	if method == "" {
		method = http.MethodGet
	}
	if !isToken(method) {
		return b, fmt.Errorf("http1: invalid method %q", method)
	}
	b = append(append(b, method...), ' ')
	start := len(b)
	b = appendTarget(b, req)
	for _, c := range b[start:] {
		if c <= ' ' || c == 0x7f {
			return b, errTarget
		}
	}
	host := req.Host
	if host == "" {
		host = req.URL.Host
	}
	b = append(b, " HTTP/1.1\r\n"...)
	b = appendLine(b, "Host", host)
	b = appendLength(b, req, method)
	if req.Close && !hasToken(req.Header["Connection"], "close") {
		b = appendLine(b, "Connection", "close")
	}
	if _, ok := req.Header["User-Agent"]; !ok {
		b = appendLine(b, "User-Agent", "Go-http-client/1.1")
	}
	b, err := appendFields(b, req.Header)
	return append(b, "\r\n"...), err
}

func appendTarget(b []byte, req *http.Request) []byte {
	u := req.URL
	if u.Path == "" {
		b = append(b, '/')
	} else {
		b = append(b, u.EscapedPath()...)
	}
	if u.ForceQuery || u.RawQuery != "" {
		b = append(append(b, '?'), u.RawQuery...)
	}
	return b
}

// appendLength appends the field that says where the body ends.
func appendLength(b []byte, req *http.Request, method string) []byte {
	switch n := bodyLength(req); {
	case n < 0:
		return appendLine(b, "Transfer-Encoding", "chunked")
	case n > 0 || usuallyWithBody(method):
		b = append(b, "Content-Length: "...)
		return append(strconv.AppendInt(b, n, 10), "\r\n"...)
	}
	return b
}

func appendLine(b []byte, name, value string) []byte {
	b = append(append(b, name...), ": "...)
	return append(append(b, value...), "\r\n"...)
}

// appendFields appends the fields that the caller has set, except those that the request determines. An empty
// User-Agent is left out; of several the first is sent.
func appendFields(b []byte, h http.Header) ([]byte, error) {
	for name, values := range h {
		if !isToken(name) {
			return b, fmt.Errorf("http1: invalid header field name %q", name)
		}
		agent := name == "User-Agent"
		if determined(name) {
			continue
		}
		for i, v := range values {
			if !isValue(v) {
				return b, fmt.Errorf("http1: invalid header field value for %q", name)
			}
			if v = trim(v); !agent || i == 0 && v != "" {
				b = appendLine(b, name, v)
			}
		}
	}
	return b, nil
}

// determined reports whether the request itself determines the field, in any case:
// with a second length the server could see two requests in one.
func determined(name string) bool {
	switch len(name) {
	case len("Host"):
		return strings.EqualFold(name, "Host")
	case len("Trailer"):
		return strings.EqualFold(name, "Trailer")
	case len("Content-Length"):
		return strings.EqualFold(name, "Content-Length")
	case len("Transfer-Encoding"):
		return strings.EqualFold(name, "Transfer-Encoding")
	}
	return false
}

// closes reports whether the request asks for its connection to be closed.
func closes(req *http.Request) bool {
	return req.Close || hasToken(req.Header["Connection"], "close")
}

// hasToken reports whether a token is in lists that are separated by commas.
func hasToken(lists []string, token string) bool {
	for _, list := range lists {
		if strings.EqualFold(list, token) {
			return true
		}
		for t := range strings.SplitSeq(list, ",") {
			if strings.EqualFold(trim(t), token) {
				return true
			}
		}
	}
	return false
}

// trim returns s without spaces and tabs around it. It takes a tenth of the time of strings.Trim.
func trim(s string) string {
	for s != "" && (s[0] == ' ' || s[0] == '\t') {
		s = s[1:]
	}
	for s != "" && (s[len(s)-1] == ' ' || s[len(s)-1] == '\t') {
		s = s[:len(s)-1]
	}
	return s
}

// isToken reports whether s can be a method or the name of a field (RFC 9110, 5.6.2).
func isToken(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 || tokens[s[i]>>6]&(1<<(s[i]&63)) == 0 {
			return false
		}
	}
	return s != ""
}

// tokens has a bit for each character of a token.
var tokens = [2]uint64{
	1<<'!' | 1<<'#' | 1<<'$' | 1<<'%' | 1<<'&' | 1<<'\'' | 1<<'*' | 1<<'+' | 1<<'-' | 1<<'.' |
		(1<<10-1)<<'0',
	(1<<26-1)<<('A'-64) | 1<<('^'-64) | 1<<('_'-64) | 1<<('`'-64) | (1<<26-1)<<('a'-64) | 1<<('|'-64) | 1<<('~'-64),
}

// isValue reports whether s can be the value of a field: it has no control characters but the tab.
func isValue(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' && s[i] != '\t' || s[i] == 0x7f {
			return false
		}
	}
	return true
}
