package proxies_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// outcome is what a client has, and when its first word was there.
type outcome struct {
	what  string
	first time.Duration
	why   string // details, for a failure
}

// ask sends a scene's request and reads its answer.
func ask(client http.RoundTripper, url string, s scene) outcome {
	limit := 2 * time.Minute
	if s.leaves {
		limit = 15 * time.Second
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	body := fmt.Sprintf(`{"model":"gpt-5","stream":%t,"messages":[{"role":"user","content":"Say something."}]}`, s.stream)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return outcome{what: err.Error()}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer sk-test")
	began := time.Now()
	resp, err := client.RoundTrip(req)
	if err != nil {
		return outcome{what: nothing, why: err.Error()}
	}
	defer func() { _ = resp.Body.Close() }()
	if !s.stream {
		return readWhole(resp)
	}
	return readStream(resp, s, began)
}

// choices are those of a chunk of a stream, and of an answer without one.
type choices struct {
	Choices []struct {
		Delta, Message struct{ Content string }
	}
	Error json.RawMessage
}

// text returns the content.
func (c choices) text() (s string) {
	for _, choice := range c.Choices {
		s += choice.Delta.Content + choice.Message.Content
	}
	return s
}

func readWhole(resp *http.Response) outcome {
	body, err := io.ReadAll(resp.Body)
	var got choices
	parsed := json.Unmarshal(body, &got)
	o := outcome{why: fmt.Sprintf("status %d, %.200q, %v", resp.StatusCode, body, err)}
	switch {
	case err != nil:
		o.what = cut
	case got.Error != nil:
		o.what = anError
	case parsed != nil || got.text() == "":
		o.what = blank
	case got.text() == answer:
		o.what = whole
	default:
		o.what = half
	}
	return o
}

// stream is what has come of one.
type stream struct {
	text          string
	done, failed  bool
	first         time.Duration
	pings, inside int // keepalives since the last word, and before another
}

// readStream reads a stream to its end, or until the client leaves.
func readStream(resp *http.Response, s scene, began time.Time) outcome {
	var got stream
	lines := bufio.NewReader(resp.Body)
	line, err := "", error(nil)
	for err == nil {
		line, err = lines.ReadString('\n')
		got.add(strings.TrimSpace(line), began)
		if s.leaves && len(strings.Fields(got.text)) >= 3 {
			return outcome{what: words, first: got.first}
		}
	}
	o := outcome{first: got.first, why: fmt.Sprintf("status %d, %.200q, done %t, %v", resp.StatusCode, got.text, got.done, err)}
	switch {
	case s.leaves:
		o.what = nothing
	case got.failed:
		o.what = anError
	case err != io.EOF:
		o.what = cut
	case !got.done && got.text == "":
		o.what = blank
	case !got.done || got.text != answer:
		o.what = half
	case s.want == kept && got.inside == 0:
		o.what = silent
	case s.want == kept:
		o.what = kept
	default:
		o.what = whole
	}
	return o
}

// add takes in a line.
func (g *stream) add(line string, began time.Time) {
	data, isData := strings.CutPrefix(line, "data: ")
	var c choices
	switch {
	case strings.HasPrefix(line, ":") && g.text != "":
		g.pings++
	case data == "[DONE]":
		g.done = true
	case isData && json.Unmarshal([]byte(data), &c) == nil:
		g.failed = g.failed || c.Error != nil
		if c.text() == "" {
			return
		}
		if g.text == "" {
			g.first = time.Since(began)
		}
		g.text += c.text()
		g.inside += g.pings
		g.pings = 0
	}
}

// http10 asks as nginx and `curl -0` do. A body without a length ends with the connection.
type http10 struct{}

func (http10) RoundTrip(req *http.Request) (*http.Response, error) {
	conn, err := new(net.Dialer).DialContext(req.Context(), "tcp", req.URL.Host)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(req.Context(), func() { _ = conn.Close() })
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	_, err = fmt.Fprintf(conn, "POST %s HTTP/1.0\r\nHost: %s\r\nContent-Type: application/json\r\nAuthorization: %s\r\nContent-Length: %d\r\n\r\n%s",
		req.URL.Path, req.URL.Host, req.Header.Get("Authorization"), len(body), body)
	if err != nil {
		return nil, err
	}
	return http.ReadResponse(bufio.NewReader(conn), req)
}
