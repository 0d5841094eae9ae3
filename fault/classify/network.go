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

// breakage is one way in which a call ends without an answer.
type breakage struct {
	is   func(error) bool
	kind fault.Kind
	rule string
}

// breakages are asked in this order: what is wrong with our own settings, what
// took too long, what broke.
var breakages = [...]breakage{
	{is(http.ErrSchemeMismatch), fault.Invalid, "network/https to a plain port"},
	{as[tls.RecordHeaderError], fault.Invalid, "network/no tls there"},
	{as[*tls.CertificateVerificationError], fault.Invalid, "network/certificate"},
	{as[x509.UnknownAuthorityError], fault.Invalid, "network/certificate authority"},
	{as[x509.HostnameError], fault.Invalid, "network/certificate host"},
	{as[x509.CertificateInvalidError], fault.Invalid, "network/certificate"},
	{as[x509.SystemRootsError], fault.Invalid, "network/no certificate roots"},
	{as[*tls.ECHRejectionError], fault.Invalid, "network/ech rejected"},
	{unparsed, fault.Invalid, "network/address"},
	{as[*net.AddrError], fault.Invalid, "network/address"},
	{as[*net.ParseError], fault.Invalid, "network/address"},
	{as[net.UnknownNetworkError], fault.Invalid, "network/address"},
	{as[*http.MaxBytesError], fault.TooLong, "network/body above the server's limit"},

	{is(syscall.ETIMEDOUT), fault.UpstreamTimeout, "network/ETIMEDOUT"},
	{slowLookup, fault.UpstreamTimeout, "network/dns timeout"},
	{slowDial, fault.UpstreamTimeout, "network/dial timeout"},
	{is(os.ErrDeadlineExceeded), fault.Timeout, "network/deadline of the connection"},
	{slowAnswer, fault.Timeout, "network/limit of the client"},

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
	{slow, fault.UpstreamTimeout, "network/timeout"},
	{broken, fault.Unavailable, "network/connection"},
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
