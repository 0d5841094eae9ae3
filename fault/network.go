package fault

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
)

// breakage is one way in which a call ends without an answer.
type breakage struct {
	is   func(error) bool
	kind Kind
	rule string
}

// breakages are asked in this order: what is wrong with our own settings, what
// took too long, what broke.
var breakages = [...]breakage{
	{is(http.ErrSchemeMismatch), Invalid, "network/https to a plain port"},
	{as[tls.RecordHeaderError], Invalid, "network/no tls there"},
	{as[*tls.CertificateVerificationError], Invalid, "network/certificate"},
	{as[x509.UnknownAuthorityError], Invalid, "network/certificate authority"},
	{as[x509.HostnameError], Invalid, "network/certificate host"},
	{as[x509.CertificateInvalidError], Invalid, "network/certificate"},
	{as[x509.SystemRootsError], Invalid, "network/no certificate roots"},
	{as[*tls.ECHRejectionError], Invalid, "network/ech rejected"},
	{unparsed, Invalid, "network/address"},
	{as[*net.AddrError], Invalid, "network/address"},
	{as[*net.ParseError], Invalid, "network/address"},
	{as[net.UnknownNetworkError], Invalid, "network/address"},
	{as[*http.MaxBytesError], TooLong, "network/body above the server's limit"},

	{is(syscall.ETIMEDOUT), UpstreamTimeout, "network/ETIMEDOUT"},
	{slowLookup, UpstreamTimeout, "network/dns timeout"},
	{slowDial, UpstreamTimeout, "network/dial timeout"},
	{is(os.ErrDeadlineExceeded), Timeout, "network/deadline of the connection"},
	{slowAnswer, Timeout, "network/limit of the client"},

	{as[*net.DNSError], Unavailable, "network/dns"},
	{is(syscall.ECONNREFUSED), Unavailable, "network/ECONNREFUSED"},
	{is(syscall.ECONNRESET), Unavailable, "network/ECONNRESET"},
	{is(syscall.ECONNABORTED), Unavailable, "network/ECONNABORTED"},
	{is(syscall.EPIPE), Unavailable, "network/EPIPE"},
	{is(syscall.EHOSTUNREACH), Unavailable, "network/EHOSTUNREACH"},
	{is(syscall.ENETUNREACH), Unavailable, "network/ENETUNREACH"},
	{is(syscall.ENETDOWN), Unavailable, "network/ENETDOWN"},
	{is(net.ErrClosed), Unavailable, "network/closed connection"},
	{is(io.ErrClosedPipe), Unavailable, "network/closed pipe"},
	{is(io.ErrUnexpectedEOF), Unavailable, "network/unexpected EOF"},
	{is(io.EOF), Unavailable, "network/EOF"},
	{slow, UpstreamTimeout, "network/timeout"},
	{broken, Unavailable, "network/connection"},
}

// connection rules by the type of a Go error.
func connection(e Evidence) (Ruling, bool) {
	if e.Err == nil {
		return Ruling{}, false
	}
	for _, b := range breakages {
		if b.is(e.Err) {
			return Ruling{Kind: b.kind, Rule: b.rule}, true
		}
	}
	return Ruling{}, false
}

// as matches errors with a T in their chain.
func as[T error](err error) bool {
	_, ok := errors.AsType[T](err)
	return ok
}

// is matches errors with the target in their chain.
func is(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

// unparsed matches an address that cannot be one.
func unparsed(err error) bool {
	u, ok := errors.AsType[*url.Error](err)
	return ok && u.Op == "parse"
}

// dialing tells whether the error is that of a dial: its timeout is the
// dialer's, though it claims to be a context's.
func dialing(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

func slowDial(err error) bool { return dialing(err) && slow(err) }

func slowLookup(err error) bool {
	d, ok := errors.AsType[*net.DNSError](err)
	return ok && d.IsTimeout
}

// slowAnswer matches the client's own limits, whose types net/http keeps to
// itself.
func slowAnswer(err error) bool {
	return slow(err) && (strings.Contains(err.Error(), "awaiting response headers") || strings.Contains(err.Error(), "Client.Timeout"))
}

// slow matches every timeout; what is left of them is a TLS handshake's.
func slow(err error) bool {
	e, ok := errors.AsType[net.Error](err)
	return ok && e.Timeout()
}

// broken matches a failed operation on a connection, except an alert of the
// peer's TLS: that has a table of its own.
func broken(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op != "remote error" && op.Op != "local error"
}
