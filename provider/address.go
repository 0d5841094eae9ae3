package provider

import (
	"net/url"

	"github.com/ridethrough/ridethrough/fault"
)

// CheckURL tells whether an API can be reached at a base URL, for ask to return
// before it gives the URL to an SDK; "", the vendor's own, can.
func CheckURL(base string) error {
	if base == "" {
		return nil
	}
	u, err := url.Parse(base)
	if err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" {
		return nil
	}
	return &fault.Error{
		Kind: fault.Invalid, Rule: "provider/address", Err: err,
		Message: "the address of the API must begin with http:// or https://, and name a host",
	}
}
