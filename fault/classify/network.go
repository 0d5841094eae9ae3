package classify

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"

	"github.com/ridethrough/ridethrough/fault"
)

// networkErrors are the ways in which a call ends without a response, in the order in which they are asked about: wrong
// settings, timeouts, broken connections.
var networkErrors = [...]struct {
	is   func(error) bool
	kind fault.Kind
	rule string
}{
	{is(http.ErrSchemeMismatch), fault.Invalid, "network/https to a plain port"},
	{as[tls.RecordHeaderError], fault.Invalid, "network/no tls there"},
	{as[*tls.CertificateVerificationError], fault.Invalid, "network/certificate"},
	{as[x509.UnknownAuthorityError], fault.Invalid, "network/certificate authority"},
	{as[x509.HostnameError], fault.Invalid, "network/certificate host"},
	{as[x509.CertificateInvalidError], fault.Invalid, "network/certificate"},
	{as[x509.SystemRootsError], fault.Invalid, "network/no certificate roots"},
	{as[*tls.ECHRejectionError], fault.Invalid, "network/ech rejected"},
	{isBadURL, fault.Invalid, "network/address"},
	{as[*net.AddrError], fault.Invalid, "network/address"},
	{as[*net.ParseError], fault.Invalid, "network/address"},
	{as[net.UnknownNetworkError], fault.Invalid, "network/address"},
	{as[*http.MaxBytesError], fault.TooLong, "network/body above the server's limit"},

	{is(syscall.ETIMEDOUT), fault.UpstreamTimeout, "network/ETIMEDOUT"},
	{isDNSTimeout, fault.UpstreamTimeout, "network/dns timeout"},
	{func(err error) bool { return isDial(err) && isTimeout(err) }, fault.UpstreamTimeout, "network/dial timeout"},
	{is(os.ErrDeadlineExceeded), fault.Timeout, "network/deadline of the connection"},
	{isClientTimeout, fault.Timeout, "network/limit of the client"},

	{as[*net.DNSError], fault.Unavailable, "network/dns"},
	{is(syscall.ECONNREFUSED), fault.Unavailable, "network/ECONNREFUSED"},
	{is(syscall.ECONNRESET), fault.Unavailable, "network/ECONNRESET"},
	{is(syscall.ECONNABORTED), fault.Unavailable, "network/ECONNABORTED"},
	{is(syscall.EPIPE), fault.Unavailable, "network/EPIPE"},
	{is(syscall.EHOSTUNREACH), fault.Unavailable, "network/EHOSTUNREACH"},
	{is(syscall.ENETUNREACH), fault.Unavailable, "network/ENETUNREACH"},
	{is(syscall.ENETDOWN), fault.Unavailable, "network/ENETDOWN"},
	{is(net.ErrClosed), fault.Unavailable, "network/closed connection"},
	{is(io.ErrClosedPipe), fault.Unavailable, "network/closed pipe"},
	{is(io.ErrUnexpectedEOF), fault.Unavailable, "network/unexpected EOF"},
	{is(io.EOF), fault.Unavailable, "network/EOF"},
	{isTimeout, fault.UpstreamTimeout, "network/timeout"},
	{isConnectionError, fault.Unavailable, "network/connection"},
}

// judgeConnection decides by the type of a Go error.
func judgeConnection(e Evidence) (Ruling, bool) {
	if e.Err == nil {
		return Ruling{}, false
	}
	for _, b := range networkErrors {
		if b.is(e.Err) {
			return Ruling{Kind: b.kind, Rule: b.rule}, true
		}
	}
	return Ruling{}, false
}

// as reports whether an error has a T in its chain.
func as[T error](err error) bool {
	_, ok := errors.AsType[T](err)
	return ok
}

// is returns a function that reports whether an error has the target in its chain.
func is(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

// isBadURL matches a URL that cannot be parsed.
func isBadURL(err error) bool {
	u, ok := errors.AsType[*url.Error](err)
	return ok && u.Op == "parse"
}

// isDial reports whether the error is that of a dial: its timeout is the dialer's, though it claims to be a
// context's.
func isDial(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

func isDNSTimeout(err error) bool {
	d, ok := errors.AsType[*net.DNSError](err)
	return ok && d.IsTimeout
}

// isClientTimeout matches the client's own limits, whose types net/http does not export.
func isClientTimeout(err error) bool {
	return isTimeout(err) && (strings.Contains(err.Error(), "awaiting response headers") || strings.Contains(err.Error(), "Client.Timeout"))
}

// isTimeout matches every timeout; after the rules above only that of a TLS handshake is left.
func isTimeout(err error) bool {
	e, ok := errors.AsType[net.Error](err)
	return ok && e.Timeout()
}

// isConnectionError matches a failed operation on a connection, except a TLS alert of the peer, which has a
// table.
func isConnectionError(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op != "remote error" && op.Op != "local error"
}
