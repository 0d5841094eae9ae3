package access

import (
	"fmt"
	"strconv"
	"strings"
)

// Limits are what a token may use of the APIs. 0 sets no limit.
type Limits struct {
	Requests int // a minute
	Tokens   int // of models, a minute, as far as the providers state them
	Holds    int // requests that wait for their provider at a time
}

// The names of the limits in a file, in their order.
const (
	requestsField = "rpm"
	tokensField   = "tpm"
	holdsField    = "holds"
)

// maxLimit is the largest limit: sums of it stay exact.
const maxLimit = 1 << 40

// String returns the limits as they stand in a file, each behind a space; "": there are none.
func (l Limits) String() string {
	var b strings.Builder
	for _, f := range [...]struct {
		name  string
		limit int
	}{{requestsField, l.Requests}, {tokensField, l.Tokens}, {holdsField, l.Holds}} {
		if f.limit > 0 {
			fmt.Fprintf(&b, " %s=%d", f.name, f.limit)
		}
	}
	return b.String()
}

// parseLimits parses the fields of a line behind the hash.
func parseLimits(fields []string) (l Limits, err error) {
	for _, field := range fields {
		name, value, _ := strings.Cut(field, "=")
		limit := &l.Requests
		switch name {
		case requestsField:
		case tokensField:
			limit = &l.Tokens
		case holdsField:
			limit = &l.Holds
		default:
			return l, fmt.Errorf("unknown limit %q; want rpm=N, tpm=N or holds=N behind the hash", name)
		}
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > maxLimit || *limit > 0 {
			return l, fmt.Errorf("%s=%s: want one number above 0", name, value)
		}
		*limit = n
	}
	return l, nil
}
