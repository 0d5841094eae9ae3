package peer

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
)

// The upstream's answers are bytes that are made once: it shall not cost more than what is measured.

const (
	jsonHead   = "HTTP/1.1 %s\r\nContent-Type: application/json\r\nDate: Mon, 02 Nov 2026 10:00:00 GMT\r\nX-Request-Id: req_0123456789abcdef\r\nContent-Length: %d\r\n\r\n"
	streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nCache-Control: no-cache\r\nDate: Mon, 02 Nov 2026 10:00:00 GMT\r\nX-Request-Id: req_0123456789abcdef\r\nTransfer-Encoding: chunked\r\n\r\n"
	chunkForm  = `data: {"id":"chatcmpl-0123456789abcdef","object":"chat.completion.chunk","created":1793613600,"model":"bench","choices":[{"index":0,"delta":%s,"finish_reason":%s}]}` + "\n\n"
)

// piece is a part of an answer, or a whole one.
type piece struct {
	status int    // of an answer that begins with this piece; 0: it has begun
	wire   []byte // as HTTP/1.1 has it, with headers and framing
	data   []byte // what of it is body
}

// wholeAnswer is 1 KB of JSON.
func wholeAnswer() piece {
	const before = `{"id":"chatcmpl-0123456789abcdef","object":"chat.completion","created":1793613600,"model":"bench","choices":[{"index":0,"message":{"role":"assistant","content":"`
	const after = `"},"finish_reason":"stop"}],"usage":{"prompt_tokens":300,"completion_tokens":150,"total_tokens":450}}`
	words := strings.Repeat("The provider is well again, and the answer goes on. ", 16)
	return whole(http.StatusOK, before+words[:1024-len(before)-len(after)]+after)
}

// refusal is what an overloaded provider says.
func refusal() piece {
	return whole(http.StatusServiceUnavailable, `{"error":{"message":"The engine is currently overloaded, please try again later","type":"server_error","param":null,"code":null}}`)
}

func whole(status int, body string) piece {
	line := fmt.Sprintf("%d %s", status, http.StatusText(status))
	return piece{status, []byte(fmt.Sprintf(jsonHead, line, len(body)) + body), []byte(body)}
}

// pieces are the parts of a stream.
type pieces struct {
	first piece // the headers, the role and the first piece of content
	next  piece // another piece of content
	last  piece // the reason to finish, the terminator and the end of the body
}

func streamPieces() pieces {
	role := fmt.Sprintf(chunkForm, `{"role":"assistant","content":""}`, "null")
	text := fmt.Sprintf(chunkForm, `{"content":" token"}`, "null")
	end := fmt.Sprintf(chunkForm, `{}`, `"stop"`) + "data: [DONE]\n\n"
	return pieces{
		first: piece{http.StatusOK, append([]byte(streamHead), framed(role+text)...), []byte(role + text)},
		next:  piece{0, framed(text), []byte(text)},
		last:  piece{0, append(framed(end), "0\r\n\r\n"...), []byte(end)},
	}
}

// framed is a chunk of HTTP/1.1.
func framed(data string) []byte { return fmt.Appendf(nil, "%x\r\n%s\r\n", len(data), data) }

// coalesced is a stream of n pieces of content in one write.
func (p pieces) coalesced(n int) piece {
	join := func(of func(piece) []byte) []byte {
		return bytes.Join([][]byte{of(p.first), bytes.Repeat(of(p.next), n-1), of(p.last)}, nil)
	}
	return piece{p.first.status, join(func(p piece) []byte { return p.wire }), join(func(p piece) []byte { return p.data })}
}
