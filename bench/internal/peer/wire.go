package peer

import (
	"bytes"
	"fmt"
	"strings"
)

// The upstream's answers are bytes that are made once: it shall not cost more than what is measured.

const (
	jsonHead   = "HTTP/1.1 %s\r\nContent-Type: application/json\r\nDate: Mon, 02 Nov 2026 10:00:00 GMT\r\nX-Request-Id: req_0123456789abcdef\r\nContent-Length: %d\r\n\r\n"
	streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nCache-Control: no-cache\r\nDate: Mon, 02 Nov 2026 10:00:00 GMT\r\nX-Request-Id: req_0123456789abcdef\r\nTransfer-Encoding: chunked\r\n\r\n"
	chunkForm  = `data: {"id":"chatcmpl-0123456789abcdef","object":"chat.completion.chunk","created":1793613600,"model":"bench","choices":[{"index":0,"delta":%s,"finish_reason":%s}]}` + "\n\n"
)

// wholeAnswer is 1 KB of JSON.
func wholeAnswer() []byte {
	const before = `{"id":"chatcmpl-0123456789abcdef","object":"chat.completion","created":1793613600,"model":"bench","choices":[{"index":0,"message":{"role":"assistant","content":"`
	const after = `"},"finish_reason":"stop"}],"usage":{"prompt_tokens":300,"completion_tokens":150,"total_tokens":450}}`
	words := strings.Repeat("The provider is well again, and the answer goes on. ", 16)
	return whole("200 OK", before+words[:1024-len(before)-len(after)]+after)
}

// refusal is what an overloaded provider says.
func refusal() []byte {
	return whole("503 Service Unavailable", `{"error":{"message":"The engine is currently overloaded, please try again later","type":"server_error","param":null,"code":null}}`)
}

func whole(status, body string) []byte {
	return []byte(fmt.Sprintf(jsonHead, status, len(body)) + body)
}

// pieces are the parts of a stream as they are on the wire.
type pieces struct {
	first []byte // the headers, the role and the first piece of content
	next  []byte // another piece of content
	last  []byte // the reason to finish, the terminator and the end of the body
}

func streamPieces() pieces {
	role := fmt.Sprintf(chunkForm, `{"role":"assistant","content":""}`, "null")
	text := fmt.Sprintf(chunkForm, `{"content":" token"}`, "null")
	end := fmt.Sprintf(chunkForm, `{}`, `"stop"`) + "data: [DONE]\n\n"
	return pieces{
		first: append([]byte(streamHead), framed(role+text)...),
		next:  framed(text),
		last:  append(framed(end), "0\r\n\r\n"...),
	}
}

// framed is a chunk of HTTP/1.1.
func framed(data string) []byte { return fmt.Appendf(nil, "%x\r\n%s\r\n", len(data), data) }

// coalesced is a stream of n pieces of content in one write.
func (p pieces) coalesced(n int) []byte {
	return bytes.Join([][]byte{p.first, bytes.Repeat(p.next, n-1), p.last}, nil)
}
