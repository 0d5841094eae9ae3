package load_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/bench/internal/load"
)

const (
	token  = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\" token\"}}]}\n\n"
	role   = "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n"
	done   = "data: [DONE]\n\n"
	chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
)

func TestRequest_IsValidHTTP(t *testing.T) {
	for _, size := range []int{0, 1 << 10, 200 << 10} {
		r := load.NewBook(1).Request("127.0.0.1:8484", load.Ask{Scene: "bench-answer", Stream: true, Size: size})
		req, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(r.Next())))
		if err != nil {
			t.Fatalf("read request: %v", err)
		}
		body, err := io.ReadAll(req.Body)
		if err != nil || size > 0 && len(body) != size || int64(len(body)) != req.ContentLength {
			t.Errorf("%d bytes, length %d, want %d: %v", len(body), req.ContentLength, size, err)
		}
		var asked struct {
			Model    string
			Stream   bool
			Messages []struct{ Role, Content string }
		}
		if err := json.Unmarshal(body, &asked); err != nil {
			t.Fatalf("unmarshal: %v", err)
		}
		if asked.Model != "bench-answer" || !asked.Stream || !strings.HasPrefix(asked.Messages[1].Content, "No. 000010000001: ") {
			t.Errorf("got %.200q", body)
		}
	}
}

func TestRequest_NumbersAreUnique(t *testing.T) {
	book := load.NewBook(1)
	r, other := book.Request("h", load.Ask{Scene: "bench-answer"}), book.Request("h", load.Ask{Scene: "bench-answer"})
	if text := other.Next(); !bytes.Contains(text, []byte("No. 000020000001: ")) {
		t.Errorf("the other: got %q", text)
	}
	for range 12 {
		r.Next()
	}
	if text := r.Next(); !bytes.Contains(text, []byte("No. 000010000013: ")) {
		t.Errorf("got %q", text)
	}
}

func TestRequest_SceneKeepsItsLength(t *testing.T) {
	r := load.NewBook(1).Request("h", load.Ask{Scene: "bench-aaa"})
	if err := r.Scene("bench-bbb"); err != nil || !bytes.Contains(r.Next(), []byte(`{"model":"bench-bbb"`)) {
		t.Errorf("request with another scene: got %q and error %v, want its model bench-bbb", r.Next(), err)
	}
	if err := r.Scene("bench-b"); err == nil {
		t.Error("no error")
	}
}

// talk has each client that comes to a listener read what it is sent.
func talk(l net.Listener, answer string) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			r := bufio.NewReader(c)
			for {
				req, err := http.ReadRequest(r)
				if err != nil {
					return
				}
				_, _ = io.Copy(io.Discard, req.Body)
				_, _ = io.WriteString(c, answer)
			}
		}()
	}
}

// listen is a loopback listener with an answer for everyone.
func listen(t *testing.T, answer string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	t.Cleanup(func() { l.Close() })
	go talk(l, answer)
	return l.Addr().String()
}

func framed(parts ...string) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(chunk(p))
	}
	return b.String() + "0\r\n\r\n"
}

func chunk(p string) string {
	const hex = "0123456789abcdef"
	return string([]byte{hex[len(p)>>8&15], hex[len(p)>>4&15], hex[len(p)&15]}) + "\r\n" + p + "\r\n"
}

func TestAnswer_IsReadToItsEnd(t *testing.T) {
	for _, c := range []struct {
		name, text string
		status     int
		events     int
		done       bool
		first      bool
	}{
		{"whole", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, 0, false, false},
		{"lower case, no reason", "HTTP/1.1 503\r\ncontent-length:0\r\n\r\n", 503, 0, false, false},
		{"stream", chunks + framed(role, token, token, done), 200, 3, true, true},
		{"stream in one chunk", chunks + framed(role+token+done), 200, 2, true, true},
		{"cut across a chunk", chunks + framed(role[:20], role[20:]+token[:40], token[40:]+done), 200, 2, true, true},
		{"comments and keepalives", chunks + framed(": hold\n\n", role, done), 200, 1, true, false},
		{"broken off cleanly", chunks + framed(role, token), 200, 2, false, true},
	} {
		a, rest, err := load.ReadAnswer(strings.NewReader(c.text + "HTTP/1.1 2"))
		if err != nil || a.Status != c.status || a.Events != c.events || a.Done != c.done || a.First.IsZero() == c.first {
			t.Errorf("%s: got %+v, %v", c.name, a, err)
		}
		if string(rest) != "HTTP/1.1 2" {
			t.Errorf("%s: the next answer begins with %q", c.name, rest)
		}
	}
}

func TestAnswer_BrokenIsAnError(t *testing.T) {
	for _, text := range []string{
		"", "HTTP/1.1 200 OK\r\n", "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 2x0 OK\r\n\r\n",
		"HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
		chunks + "5\r\nhel", chunks + chunk(role), chunks + "x\r\n",
	} {
		if a, _, err := load.ReadAnswer(strings.NewReader(text)); err == nil {
			t.Errorf("%q: got %+v", text, a)
		}
	}
}

func TestLoop_CountsWholeAnswersOnly(t *testing.T) {
	book := load.NewBook(1)
	for _, c := range []struct {
		name, answer string
		stream, ok   bool
	}{
		{"whole", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", false, true},
		{"stream", chunks + framed(role, token, done), true, true},
		{"refused", "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", false, false},
		{"no terminator", chunks + framed(role, token), true, false},
	} {
		addr := listen(t, c.answer)
		ask := load.Ask{Scene: "bench-answer", Stream: c.stream}
		l, err := load.NewLoop(addr, []*load.Request{book.Request(addr, ask), book.Request(addr, ask)}, c.stream)
		if err != nil {
			t.Fatalf("new loop: %v", err)
		}
		if c.ok {
			for l.Answers() < 100 {
				runtime.Gosched()
			}
		} else {
			l.Wait()
		}
		if err := l.Stop(); (err == nil) != c.ok || !c.ok && l.Answers() > 0 {
			t.Errorf("%s: %d answers, %v", c.name, l.Answers(), err)
		}
	}
}

func TestOpen_MeasuresFromSending(t *testing.T) {
	book := load.NewBook(1)
	addr := listen(t, chunks+framed(role, token, done))
	ask := load.Ask{Scene: "bench-answer", Stream: true}
	o, err := load.NewOpen(addr, []*load.Request{book.Request(addr, ask), book.Request(addr, ask)}, true)
	if err != nil {
		t.Fatalf("new open: %v", err)
	}
	defer o.Close()
	for range 2 {
		samples, err := o.Run(9, 100*time.Microsecond)
		if err != nil || len(samples) != 9 {
			t.Fatalf("%d samples, %v", len(samples), err)
		}
		for _, s := range samples {
			if s.Late < 0 || s.First <= 0 || s.Whole < s.First {
				t.Errorf("got %+v", s)
			}
		}
	}
}

func TestHeld_ReadsToTheFirstContent(t *testing.T) {
	book := load.NewBook(1)
	held := &load.Held{}
	defer held.Close()
	addr := listen(t, chunks+chunk(role)+chunk(token))
	if err := held.Hold(addr, book.Request(addr, load.Ask{}).Next(), true); err != nil || held.Len() != 1 {
		t.Errorf("%d held, %v", held.Len(), err)
	}
	addr = listen(t, chunks+strings.Repeat(chunk(role), 100))
	if err := held.Hold(addr, book.Request(addr, load.Ask{}).Next(), true); err == nil {
		t.Error("no content, and no error")
	}
}

func TestCrowd_ReportsAnsweredClients(t *testing.T) {
	book := load.NewBook(1)
	for answer, want := range map[string]bool{
		chunks + framed(role, token, done):               true,
		chunks + framed(role, done):                      false,
		chunks + framed(role, token):                     false,
		chunks + chunk(token):                            false,
		"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n": false,
	} {
		addr := listen(t, answer)
		requests := []*load.Request{book.Request(addr, load.Ask{Stream: true}), book.Request(addr, load.Ask{Stream: true})}
		for _, a := range load.Crowd(addr, requests, time.Millisecond, 200*time.Millisecond) {
			if a.Answered != want || a.End.IsZero() {
				t.Errorf("%q: got %+v", answer, a)
			}
		}
	}
}

func FuzzReadAnswer(f *testing.F) {
	f.Add("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
	f.Add(chunks + framed(role, token, done))
	f.Fuzz(func(t *testing.T, text string) {
		a, _, err := load.ReadAnswer(strings.NewReader(text))
		if err == nil && (a.Status < 100 || a.Status > 999) || a.Events < 0 {
			t.Errorf("ReadAnswer(%q): got %+v and error %v, want a status of three digits", text, a, err)
		}
	})
}

func TestLoop_CutLeavesInTheMiddle(t *testing.T) {
	addr := listen(t, chunks+chunk(token))
	l, err := load.NewLoop(addr, []*load.Request{load.NewBook(1).Request(addr, load.Ask{})}, true)
	if err != nil {
		t.Fatalf("new loop: %v", err)
	}
	for l.Events() == 0 {
		runtime.Gosched()
	}
	if err := l.Cut(); err != nil || l.Answers() != 0 {
		t.Errorf("%d answers, %v", l.Answers(), err)
	}
}

func TestRush_CountsWhatIsSentInItsSpan(t *testing.T) {
	book := load.NewBook(1)
	addr := listen(t, chunks+framed(role, token, done))
	ask := load.Ask{Scene: "bench-answer", Stream: true}
	samples, err := load.Rush(addr, []*load.Request{book.Request(addr, ask), book.Request(addr, ask)}, true, 0, 10*time.Millisecond)
	if err != nil || len(samples) < 2 {
		t.Fatalf("rush of two clients: got %d samples, %v; want two or more", len(samples), err)
	}
	for _, s := range samples {
		if s.First <= 0 || s.Whole < s.First || s.Late != 0 {
			t.Errorf("sample: got %+v, want the first token before the end", s)
		}
	}
	if samples, err := load.Rush(addr, []*load.Request{book.Request(addr, ask)}, true, time.Hour, -time.Hour); err != nil || len(samples) != 0 {
		t.Errorf("rush that is over before it counts: got %d samples, %v; want none", len(samples), err)
	}
}

func TestHeld_CountsPingsAndFinishes(t *testing.T) {
	const ping = ": waiting\n\n"
	var h load.Held
	addr := listen(t, chunks+chunk(ping)+chunk(ping))
	if err := h.Hold(addr, load.NewBook(1).Request(addr, load.Ask{}).Next(), false); err != nil {
		t.Fatalf("hold: %v", err)
	}
	n := 0
	for n < 2 {
		more, err := h.Pings()
		if err != nil {
			t.Fatalf("pings: %v", err)
		}
		n += more
	}
	if n != 2 {
		t.Errorf("pings: got %d, want 2", n)
	}
	if err := h.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	for answer, ok := range map[string]bool{chunks + framed(ping, role, token, done): true, chunks + framed(role, token): false} {
		addr := listen(t, answer)
		if err := h.Hold(addr, load.NewBook(1).Request(addr, load.Ask{}).Next(), false); err != nil {
			t.Fatalf("hold: %v", err)
		}
		if err := h.Finish(time.Now().Add(time.Minute)); (err == nil) != ok {
			t.Errorf("finish of %q: got %v, want an error: %t", answer, err, !ok)
		}
		_ = h.Close()
	}
}
