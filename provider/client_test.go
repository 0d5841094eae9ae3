package provider_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/provider"
)

// frames returns what a stream's frames hold, and how it ends.
func frames(body io.Reader, form api.Form) (all []string, err error) {
	for frame, e := range provider.Frames(body, form) {
		if e != nil {
			return all, e
		}
		all = append(all, string(frame))
	}
	return all, nil
}

var errCut = errors.New("cut")

func TestFrames_HoweverTheBytesArrive(t *testing.T) {
	long := strings.Repeat("x", 50_000)
	tests := []struct {
		name   string
		form   api.Form
		stream string
		err    error // how it ends; nil: cleanly
		want   []string
	}{
		{"nothing", api.Events, "", nil, nil},
		{"events", api.Events, "data: a\n\n: hold\n\nevent: b\r\ndata: c\r\n\r\n", nil, []string{"data: a\n\n", ": hold\n\n", "event: b\r\ndata: c\r\n\r\n"}},
		{"a large event", api.Events, "data: a\n\ndata: " + long + "\n\ndata: b\n\n", nil, []string{"data: a\n\n", "data: " + long + "\n\n", "data: b\n\n"}},
		{"an event without its blank line", api.Events, "data: a\n\ndata: [DONE]\n", nil, []string{"data: a\n\n", "data: [DONE]\n"}},
		{"half of an event before a break", api.Events, "data: a\n\ndata: b", errCut, []string{"data: a\n\n"}},
		{"lines", api.Lines, "{}\n" + long + "\n{}", nil, []string{"{}\n", long + "\n", "{}"}},
		{"space at the end", api.Lines, "{}\n \r\n ", nil, []string{"{}\n", " \r\n"}},
	}
	for _, tt := range tests {
		for name, reader := range map[string]func(io.Reader) io.Reader{
			"at once": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader, "with the end": iotest.DataErrReader,
		} {
			body := io.Reader(strings.NewReader(tt.stream))
			if tt.err != nil {
				body = io.MultiReader(body, iotest.ErrReader(tt.err))
			}
			got, err := frames(reader(body), tt.form)
			if !slices.Equal(got, tt.want) || err != tt.err {
				t.Errorf("%s, %s: got %.200q and error %v, want %.200q and %v", tt.name, name, got, err, tt.want, tt.err)
			}
		}
	}
}

func TestFrames_EndlessFrameIsAnError(t *testing.T) {
	if got, err := frames(blank{}, api.Lines); err == nil || len(got) > 0 {
		t.Errorf("got %d frames and error %v of a line without an end, want an error", len(got), err)
	}
	if _, err := provider.ReadAll(blank{}); err == nil {
		t.Error("a body without an end was read")
	}
}

// blank is a body of spaces.
type blank struct{}

func (blank) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func TestFrames_StopsReadingWhenLeft(t *testing.T) {
	body := io.MultiReader(strings.NewReader("data: a\n\n"), iotest.ErrReader(errCut))
	for frame, err := range provider.Frames(body, api.Events) {
		if name, data := api.Payload(api.Events, frame); len(name) > 0 || string(data) != "a" || err != nil {
			t.Errorf("got %q and error %v", frame, err)
		}
		return
	}
	t.Error("no frame came")
}

// post posts to a server with one answer, and returns the request's body too.
func post(status int, body string, request any) (sent string, resp *http.Response, err error) {
	c := &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		text, _ := io.ReadAll(r.Body)
		sent = r.Method + " " + r.Header.Get("Content-Type") + " " + r.Header.Get("X-Key") + " " + string(text)
		return &http.Response{StatusCode: status, Header: http.Header{"X-Id": {"7"}}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
	})}
	resp, err = provider.Post(context.Background(), c, "http://provider.test/v1", http.Header{"X-Key": {"k"}}, request)
	return sent, resp, err
}

func TestPost_SendsJSON(t *testing.T) {
	sent, resp, err := post(200, "{}", map[string]string{"a": "<b>"})
	if want := "POST application/json k {\"a\":\"<b>\"}\n"; sent != want || err != nil || resp.StatusCode != 200 {
		t.Errorf("sent %q, error %v; want %q", sent, err, want)
	}
	if sent, _, err = post(200, "{}", func() {}); err == nil || sent != "" {
		t.Errorf("a request that is no JSON: sent %q, error %v", sent, err)
	}
}

func TestPost_ResponseWithoutSuccessIsAnError(t *testing.T) {
	for _, status := range []int{304, 400, 503} {
		_, _, err := post(status, strings.Repeat("no ", 1<<20), 1)
		e, ok := errors.AsType[*provider.ResponseError](err)
		if !ok || e.StatusCode != status || e.Header.Get("X-Id") != "7" || len(e.Body) != 64<<10 || strings.Contains(err.Error(), "no") {
			t.Errorf("status %d: error %.100v, want a *provider.ResponseError that shows the status alone", status, err)
		}
	}
}
