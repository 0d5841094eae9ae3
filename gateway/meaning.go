package gateway

import (
	"hash/maphash"

	"github.com/ridethrough/ridethrough/internal/dialect"
)

// meaning identifies what a request asks the model, whatever the order of its members, its whitespace and its
// tags. Requests with equal keys and equal meanings are the same one.
type meaning struct {
	body   dialect.Digest
	header uint64
	form   dialect.Form
}

// meaningHeaders change the answer, and are the same in each re-send.
var meaningHeaders = []string{"Anthropic-Version", "Anthropic-Beta"}

// meaning returns what the call means; nil: its body is gone. It reads the body, once, part by part.
func (c *call) meaning() *meaning {
	if m := c.meant.Load(); m != nil {
		return m
	}
	body, ok := c.digest(c.gateway.seed)
	if !ok {
		return nil
	}
	m := &meaning{body: body, form: c.parsed.Form}
	var h maphash.Hash
	h.SetSeed(c.gateway.seed[0])
	for _, name := range meaningHeaders {
		for _, v := range c.r.Header[name] {
			_, _ = h.WriteString(v) // it never fails
			_ = h.WriteByte('\n')
		}
		_ = h.WriteByte(0)
	}
	m.header = h.Sum64()
	c.meant.Store(m)
	return m
}

// digest returns the digest of the body: of its JSON, or of its bytes if it is none that can be read.
func (c *call) digest(seed dialect.DigestSeed) (dialect.Digest, bool) {
	d := c.dialect.NewRequestDigest(seed)
	if c.eachPart(func(part []byte) (more bool) { return !d.Scan(part) }) {
		if sum, ok := d.Sum(); ok {
			return sum, true
		}
	}
	return dialect.DigestOf(seed, c.body.Each)
}
