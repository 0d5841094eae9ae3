package http1

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
)

// malformed returns the error of an answer that is not HTTP/1.1. Package
// fault/classify recognizes it by its first words.
func malformed(format string, args ...any) error {
	return fmt.Errorf("malformed HTTP response: "+format, args...)
}

// scanner looks for the end of a head, and reads no byte twice. A line may end in LF alone, as in net/http.
type scanner struct {
	line  int // where the present line begins
	seen  int // there is no LF between line and here
	lines int // before that
}

// end returns the length of the head that p begins with; 0: it has not ended yet.
func (s *scanner) end(p []byte) (int, error) {
	for {
		i := bytes.IndexByte(p[s.seen:], '\n')
		if i < 0 {
			s.seen = len(p)
			return 0, nil
		}
		line := p[s.line : s.seen+i]
		s.line, s.seen = s.seen+i+1, s.seen+i+1
		if len(line) == 0 || len(line) == 1 && line[0] == '\r' {
			if s.lines == 0 {
				return 0, malformed("an empty line in place of the status")
			}
			return s.line, nil
		}
		if s.lines++; s.lines > maxLines {
			return 0, malformed("more than %d header lines", maxLines)
		}
	}
}

// parseHead reads a whole head, which has that many lines. The fields' names and values are parts of it.
//
//go:noinline its frame would be on the stack of every request that waits
func parseHead(head string, lines int, resp *http.Response) error {
	line, rest := cutLine(head)
	if err := parseStatus(line, resp); err != nil {
		return err
	}
	resp.Header = make(http.Header, lines-1)
	values := make([]string, lines-1)
	for {
		line, rest = cutLine(rest)
		if line == "" {
			return nil
		}
		name, value, ok := strings.Cut(line, ":")
		if value = trim(value); !ok || !isToken(name) || !isValue(value) {
			return malformed("header line %.64q", line)
		}
		name = http.CanonicalHeaderKey(name)
		if had := resp.Header[name]; had != nil {
			resp.Header[name] = append(had, value)
			continue
		}
		values[0] = value
		resp.Header[name] = values[:1:1]
		values = values[1:]
	}
}

func cutLine(s string) (line, rest string) {
	line, rest, _ = strings.Cut(s, "\n")
	return strings.TrimSuffix(line, "\r"), rest
}

// parseStatus reads a line such as "HTTP/1.1 200 OK".
func parseStatus(line string, resp *http.Response) error {
	const proto = "HTTP/1.1"
	if len(line) < len(proto)+4 || line[:7] != proto[:7] || line[7] != '0' && line[7] != '1' ||
		line[8] != ' ' || !isValue(line) {
		return malformed("%.64q", line)
	}
	status := line[len(proto)+1:]
	code := 0
	for i := range 3 {
		d := status[i] - '0'
		if d > 9 {
			return malformed("status %.64q", status)
		}
		code = 10*code + int(d)
	}
	if code < 100 || len(status) > 3 && status[3] != ' ' {
		return malformed("status %.64q", status)
	}
	resp.Proto, resp.ProtoMajor, resp.ProtoMinor = line[:len(proto)], 1, int(line[7]-'0')
	resp.Status, resp.StatusCode = status, code
	return nil
}
