package provider

import (
	"net/url"

	"github.com/ridethrough/ridethrough/fault"
)

// CheckURL returns an error if an API cannot be reached at a base URL, for ask to return before it passes
// the URL to a client. "" means the vendor's own and is valid.
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
		Message: "the base URL must begin with http:// or https:// and contain a host",
	}
}
