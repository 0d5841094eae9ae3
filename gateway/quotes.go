package gateway

import (
	"errors"
	"strings"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/redact"
	"github.com/ridethrough/ridethrough/retry"
)

// quotePermit is the permit of a try whose fault may quote the request. The client's key and the words of its
// prompt are left out of it before the breaker shares it with other callers, and before it gets into events,
// which are logged and shown.
type quotePermit struct {
	retry.Permit
	call *call
	body string // of the fault, as the provider sent it; "": there is none
}

// Report implements retry.Permit.
func (p *quotePermit) Report(f *fault.Error) {
	if f != nil && !errors.Is(f, errLocal) {
		p.body, f.Body = f.Body, "" // for the event of a wait; other callers need none
		f.Message, f.Code = p.call.withoutQuotes(f.Message), p.call.withoutQuotes(f.Code)
	}
	p.Permit.Report(f)
}

// verbatim returns the fault of the try with what the provider sent, without what that quotes of the request.
func (p *quotePermit) verbatim(f *fault.Error) *fault.Error {
	if p.body == "" {
		return f
	}
	whole := *f
	whole.Body = p.call.withoutQuotes(p.body)
	return &whole
}

// withoutQuotes returns a provider's text without what it quotes of the request; "": the request cannot be read,
// so that the text may be a quote.
func (c *call) withoutQuotes(text string) string {
	if !redact.MayQuote(text) {
		return text
	}
	for _, name := range credentialHeaders {
		for _, v := range c.r.Header[name] {
			text = withoutKey(text, strings.TrimPrefix(v, bearer))
		}
	}
	if c.r.URL.RawQuery != "" {
		text = withoutKey(text, c.r.URL.Query().Get(googleParam))
	}
	q := redact.NewQuotes(text, c.parsed.Model)
	if !c.eachPart(func(part []byte) (more bool) { q.Source(part); return true }) {
		return ""
	}
	return q.Text()
}

// withoutKey returns a text without a client's key.
func withoutKey(text, key string) string {
	if len(key) < wordKey {
		return text
	}
	return redact.NewSecret(key).Text(text)
}

// withoutWords returns a provider's fault without its message if that may quote the request, whose body is not
// kept behind the first content. Its kind and code say what happened.
func withoutWords(f *fault.Error) *fault.Error {
	silent := *f
	silent.Body = ""
	if redact.MayQuote(f.Message) {
		silent.Message = ""
	}
	return &silent
}
