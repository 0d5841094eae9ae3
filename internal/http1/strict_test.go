package http1_test

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
)

// ask sends one request and reads its answer.
func ask(t *testing.T, rt http.RoundTripper) (body string, err error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", "http://upstream/v1", strings.NewReader("{}"))
	if err != nil {
		t.Fatalf("new request: %v", err)
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

const okChunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

func TestTransport_RefusesAmbiguousAnswers(t *testing.T) {
	for name, text := range map[string]string{
		"the same length twice":        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nhi",
		"a length beside chunks":       "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
		"chunks in HTTP/1.0":           "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
		"a folded line":                "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-A: 1\r\n 2\r\n\r\nhi",
		"a name with a space":          "HTTP/1.1 200 OK\r\nContent Length: 2\r\n\r\nhi",
		"a space before the colon":     "HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nhi",
		"a name that is empty":         "HTTP/1.1 200 OK\r\n: 2\r\n\r\nhi",
		"a length too long to count":   "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775808\r\n\r\nhi",
		"a 101 that was not asked for": "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
		"HTTP/1.2":                     "HTTP/1.2 200 OK\r\nContent-Length: 2\r\n\r\nhi",
		"a status below 100":           "HTTP/1.1 099 OK\r\nContent-Length: 2\r\n\r\nhi",
		"a status of four digits":      "HTTP/1.1 2000 OK\r\nContent-Length: 2\r\n\r\nhi",
		"a signed status":              "HTTP/1.1 +20 OK\r\nContent-Length: 2\r\n\r\nhi",
		"an endless header":            "HTTP/1.1 200 OK\r\nX-A: " + strings.Repeat("a", 2<<20),
		"endless header lines":         "HTTP/1.1 200 OK\r\n" + strings.Repeat("X-A: a\r\n", 5000) + "\r\n",
		"endless empty lines":          strings.Repeat("\r\n", 5000),
		"a flood of 1xx":               strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", 5000),
		"a flood of large 1xx":         strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: "+strings.Repeat("a", 100<<10)+"\r\n\r\n", 20),
		"a pad inside a chunk size":    okChunked + "2 2\r\nhi\r\n0\r\n\r\n",
		"an endless chunk size":        okChunked + strings.Repeat("0", 1<<20),
		"an endless extension":         okChunked + "2;" + strings.Repeat("a", 1<<20),
		"small chunks, long words":     okChunked + strings.Repeat("1;"+strings.Repeat("a", 100)+"\r\nx\r\n", 5000),
		"an extension with a line":     okChunked + "2;a\nb\r\nhi\r\n0\r\n\r\n",
		"endless trailers":             okChunked + "0\r\n" + strings.Repeat("X-A: a\r\n", 50000),
		"a trailer with a bare line":   okChunked + "0\r\nX-A: a\nX-B: b\r\n\r\n",
		"a bare end of the trailers":   okChunked + "0\r\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := serve(t, says(text, closing))
				body, err := ask(t, s.ours(t))
				if err == nil || !strings.HasPrefix(err.Error(), "malformed HTTP response: ") || len(err.Error()) > 200 {
					t.Errorf("got %q, %.300v", body, err)
				}
				if f := classify.Of(err, time.Now()); f.Kind != fault.Unavailable {
					t.Errorf("it is %v", f.Kind)
				}
			})
		})
	}
}

func TestTransport_AcceptsLargeAnswersWithinTheBounds(t *testing.T) {
	large := strings.Repeat("a", 900<<10)
	for name, text := range map[string]string{
		"a header":         "HTTP/1.1 200 OK\r\nX-A: " + large + "\r\nContent-Length: 2\r\n\r\nhi",
		"header lines":     "HTTP/1.1 200 OK\r\n" + strings.Repeat("X-A: a\r\n", 4000) + "Content-Length: 2\r\n\r\nhi",
		"many 1xx":         strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", 99) + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
		"an extension":     okChunked + "2;" + strings.Repeat("a", 16000) + "\r\nhi\r\n0\r\n\r\n",
		"some trailers":    okChunked + "2\r\nhi\r\n0\r\n" + strings.Repeat("X-A: a\r\n", 5000) + "\r\n",
		"a last \\n\\r\\n": "HTTP/1.1 200 OK\nContent-Length: 2\n\r\nhi",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := serve(t, says(text, false))
				rt := s.ours(t)
				for range 2 {
					if body, err := ask(t, rt); body != "hi" || err != nil {
						t.Errorf("got %.100q, %.300v", body, err)
					}
				}
				if s.dialled != 1 {
					t.Errorf("%d connections", s.dialled)
				}
			})
		})
	}
}

func TestTransport_AnswerCutInItsLastChunk(t *testing.T) {
	for _, end := range []string{"", "0", "0\r\n", "0\r\n\r", "0\r\nX-A: b\r\n"} {
		synctest.Test(t, func(t *testing.T) {
			s := serve(t, says(okChunked+"5\r\nhello\r\n"+end, closing))
			body, err := ask(t, s.ours(t))
			if body != "hello" || !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%q: got %q, %v", end, body, err)
			}
			if f := classify.Broken(err, time.Now()); f.Kind != fault.Truncated {
				t.Errorf("%q: it is %v", end, f.Kind)
			}
		})
	}
}

// Every byte by itself has to give what all together give.
func TestTransport_SlowAnswersAreTheSame(t *testing.T) {
	for _, c := range answers {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fast := serve(t, says(c.text, c.closes))
				slow := serve(t, dribbles(c.text, c.closes))
				want := fast.observe(t, fast.ours(t), c.method)
				got := slow.observe(t, slow.ours(t), c.method)
				if len(got.Body) != len(want.Body) || got.Failed != want.Failed || got.Cut != want.Cut || strconv.Quote(got.Status) != strconv.Quote(want.Status) {
					t.Errorf("\n got %+v\nwant %+v", got, want)
				}
			})
		})
	}
}
