package load

import (
	"bytes"
	"fmt"
	"strconv"
)

// Ask is the form of a request.
type Ask struct {
	Scene  string // the model's name, which tells the upstream what to do
	Stream bool
	Size   int // of the body in bytes; 0: as small as it gets

	Headers []string // more of them, such as "X-Provider: openai"
}

const digits = 12

// Request is a request for a chat completion as bytes. Each transmission gets a number, because a gateway treats
// two requests with the same body as one that was sent again.
type Request struct {
	bytes  []byte
	slot   int // where the number is
	number int64
}

// numbers is how often one request can be sent until it has the numbers of the book's next one.
const numbers = 1e7

// Request writes a request to a host with a prompt of new text.
func (b *Book) Request(host string, a Ask) *Request {
	before := fmt.Sprintf(`{"model":%q,"messages":[{"role":"system","content":"You are a careful assistant."},{"role":"user","content":"No. `, a.Scene)
	after := fmt.Sprintf(`"}],"temperature":0.2,"stream":%t}`, a.Stream)
	text := b.Text(max(1, a.Size-len(before)-digits-len(": ")-len(after)))

	var r bytes.Buffer
	r.Grow(a.Size + 1024)
	fmt.Fprintf(&r, "POST /v1/chat/completions HTTP/1.1\r\nHost: %s\r\nAccept: application/json\r\nContent-Type: application/json\r\n"+
		"User-Agent: OpenAI/Python 2.8.0\r\nAuthorization: Bearer sk-0123456789abcdefghijklmnopqrstuvwxyz\r\n"+
		"X-Stainless-Lang: python\r\nX-Stainless-Runtime: CPython\r\nX-Stainless-Retry-Count: 0\r\n", host)
	for _, h := range a.Headers {
		r.WriteString(h + "\r\n")
	}
	fmt.Fprintf(&r, "Content-Length: %d\r\n\r\n", len(before)+digits+len(": ")+len(text)+len(after))
	r.WriteString(before)
	slot := r.Len()
	fmt.Fprintf(&r, "%0*d: %s%s", digits, 0, text, after)
	b.requests++
	return &Request{r.Bytes(), slot, b.requests * numbers}
}

// Next returns the request with another number. It is valid until the next call.
func (r *Request) Next() []byte {
	var number [20]byte
	r.number++
	text := strconv.AppendInt(number[:0], r.number%1e12, 10)
	slot := r.bytes[r.slot : r.slot+digits]
	for i := range slot[:digits-len(text)] {
		slot[i] = '0'
	}
	copy(slot[digits-len(text):], text)
	return r.bytes
}

// Scene returns the request another scene, whose name has as many letters.
func (r *Request) Scene(name string) error {
	before := []byte(`{"model":"`)
	start := bytes.Index(r.bytes, before) + len(before)
	end := start + bytes.IndexByte(r.bytes[start:], '"')
	if end-start != len(name) {
		return fmt.Errorf("%q is not as long as %q", name, r.bytes[start:end])
	}
	copy(r.bytes[start:end], name)
	return nil
}
