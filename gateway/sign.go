package gateway

import (
	"errors"
	"net/http"
	"strings"

	"github.com/ridethrough/ridethrough/fault"
)

// securityToken is the header of temporary AWS credentials.
const securityToken = "X-Amz-Security-Token"

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

// cannotPass reports whether a request is signed by the client and would go on as it is: the signature is for this
// gateway's address, and no upstream would accept it.
func (u *upstream) cannotPass(r *http.Request) bool {
	return !u.ownCredential() && strings.HasPrefix(r.Header.Get(authorization), "AWS4-")
}

// refuseSigned answers a request that is signed by the client.
func (u *upstream) refuseSigned(w http.ResponseWriter) {
	d := u.api.errors
	w.Header().Set(shouldRetryHeader, "false")
	reply(w, d, http.StatusForbidden, d.ErrorBody(&fault.Error{Kind: fault.Auth}, "ridethrough: the request is signed (SigV4) "+
		"for the address of this gateway, and its provider would refuse that signature; use a Bedrock API key in the client "+
		"(AWS_BEARER_TOKEN_BEDROCK), or give the upstream "+u.Name+" AWS credentials of its own, with which requests are signed again"))
}
