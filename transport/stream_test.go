package transport_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/api/registry"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/transport"
)

// through reads a streamed answer through a transport, as its source returns it.
// It also returns the form in which it was read.
func through(t *testing.T, w wire, src io.Reader) ([]byte, api.Form, error) {
	base := roundTrip(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {w.kind}}, Body: io.NopCloser(src)}, nil
	})
	p := policy.Policy{Retries: 1, RetryOn: 1 << 31} // decides, and lets nothing pass
	resp, err := (&transport.Transport{Base: base, Retry: retry.Retrier{Policy: p}}).RoundTrip(w.request(t))
	if err != nil {
		t.Fatalf("round trip: %v", err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if watched, ok := resp.Body.(transport.Watched); ok {
		if watched.Form() == api.Lines && err != nil {
			text = unspelt(t, text)
		}
		return text, watched.Form(), err
	}
	return text, api.JSON, err
}

// unspelt takes off the line that says why a stream of lines has broken off.
func unspelt(t *testing.T, text []byte) []byte {
	t.Helper()
	last := bytes.LastIndexByte(bytes.TrimSuffix(text, []byte("\n")), '\n') + 1
	if !bytes.HasPrefix(text[last:], []byte(`{"error":"`)) {
		t.Errorf("a broken stream ends with %q", text[last:])
	}
	return text[:last]
}

func TestStream_LargeFramesPassUnchanged(t *testing.T) {
	image := strings.Replace(hi, "Hi", strings.Repeat("A", 3<<20), 1)
	for _, text := range []string{start + image + stop, start + hi + image + stop} {
		got, _, err := through(t, wires[0], strings.NewReader(text))
		if string(got) != text || err != nil {
			t.Errorf("%d of %d bytes, %v", len(got), len(text), err)
		}
	}
}

func TestStream_OneReadWithItsEndIsWhole(t *testing.T) {
	text := start + hi + hi + stop
	got, _, err := through(t, wires[0], iotest.DataErrReader(strings.NewReader(text)))
	if string(got) != text || err != nil {
		t.Errorf("body: got %q and error %v, want %q", got, err, text)
	}
}

// FuzzStream checks in every form that the bytes of any stream come through
// unchanged however they arrive, up to half a frame or a bare terminator at a broken end.
func FuzzStream(f *testing.F) {
	for i, w := range wires {
		f.Add([]byte(w.open+w.say+w.end), uint8(i), true)
		f.Add([]byte(w.open+w.say+w.error), uint8(i), false)
		f.Add([]byte(w.open+w.say+w.say[:9]), uint8(i), true)
	}
	f.Add([]byte(": hold\r\n\r\n"+hi+"event: mess"), uint8(0), true)
	f.Fuzz(func(t *testing.T, text []byte, which uint8, piecemeal bool) {
		if len(text) == 0 {
			return // an empty answer is given words
		}
		w := wires[int(which)%len(wires)]
		src := iotest.DataErrReader(bytes.NewReader(text))
		if piecemeal {
			src = iotest.OneByteReader(bytes.NewReader(text))
		}
		got, form, err := through(t, w, src)
		rest, ok := bytes.CutPrefix(text, got)
		d := registry.Of("POST", w.request(t).URL.Path)
		left := form.FrameLen(rest, 0)
		unfinished := err != nil && d.EndsAnswer(form, rest[:left]) // a terminator without a reason to finish is kept back
		if !ok || (left != 0 && !unfinished) || (err == nil && len(rest) > 0 && d.EndsAnswer(form, rest)) {
			t.Errorf("%s: %q came through as %q, %v", w.name, text, got, err)
		}
	})
}

func TestStream_LastFrameMayLackItsBlankLine(t *testing.T) {
	answer := start + hi + strings.TrimRight(stop, "\n")
	w := wire{kind: "text/event-stream", url: "http://api.test/v1/messages"}
	got, _, err := through(t, w, iotest.DataErrReader(strings.NewReader(answer)))
	if string(got) != answer || err != nil {
		t.Errorf("answer that ends with its last line: %q, %v; want all of it", got, err)
	}
}

// parts is a body that returns one part after the other, the last one with io.EOF, and notes how much it was asked for.
type parts struct {
	texts []string
	rooms []int
}

func (p *parts) Read(b []byte) (n int, err error) {
	p.rooms = append(p.rooms, len(b))
	n = copy(b, p.texts[0])
	if p.texts[0] = p.texts[0][n:]; p.texts[0] == "" {
		p.texts = p.texts[1:]
	}
	if len(p.texts) == 0 {
		err = io.EOF
	}
	return n, err
}

func (p *parts) Close() error { return nil }

// TestStream_LargePartsAreReadTogether checks the room that the source is given, and that the end comes with the last
// bytes, so that a proxy can send both at once.
func TestStream_LargePartsAreReadTogether(t *testing.T) {
	burst := strings.Repeat(hi, 40)
	source := &parts{texts: []string{start + hi, hi, burst, hi, hi, stop}}
	want := strings.Join(source.texts, "")
	base := roundTrip(func(req *http.Request) (*http.Response, error) {
		h := http.Header{"Content-Type": {"text/event-stream"}}
		return &http.Response{StatusCode: 200, Header: h, Body: source, Request: req}, nil
	})
	resp, err := (&transport.Transport{Base: base, Retry: retry.Retrier{Policy: policy.Patient()}}).RoundTrip(post(t.Context()))
	if err != nil {
		t.Fatalf("RoundTrip: %v", err)
	}
	defer resp.Body.Close()
	var got []byte
	for p := make([]byte, 32<<10); ; {
		n, err := resp.Body.Read(p)
		if got = append(got, p[:n]...); err != nil {
			if err != io.EOF || n == 0 {
				t.Errorf("the end: got %d bytes with %v, want the last ones with EOF", n, err)
			}
			break
		}
	}
	if string(got) != want {
		t.Errorf("the answer: got %d bytes, want the %d of the source", len(got), len(want))
	}
	var wide []bool
	for _, n := range source.rooms {
		wide = append(wide, n > 8<<10)
	}
	if want := []bool{false, false, false, true, false, false, false}; !slices.Equal(wide, want) {
		t.Errorf("reads with a wide buffer: got %v for %v, want %v: after a large part, up to a small one", wide, source.rooms, want)
	}
}

// TestStream_FrameAmongRepeatsIsExamined checks that what differs from the text before it is not taken for more text.
func TestStream_FrameAmongRepeatsIsExamined(t *testing.T) {
	w := wire{kind: "text/event-stream", url: "http://api.test/v1/chat/completions"}
	chunk := func(text, reason string) string {
		return `data: {"id":"1","choices":[{"index":0,"delta":{"content":"` + text + `"},"finish_reason":` + reason + `}]}` + "\n\n"
	}
	more := chunk("a", "null") + chunk("b", "null") + strings.Repeat(chunk("c", "null"), 3)
	broken := chunk("d\n\ndata: [DONE]\n\n", "null")
	before, _, _ := strings.Cut(broken, "data: [DONE]")
	for _, row := range []struct {
		name, text, want string
		whole            bool
	}{
		{"no end", more, more, false},
		{"an end", more + chunk("d", `"stop"`), more + chunk("d", `"stop"`), true},
		{"the terminator in a line of the text", more + broken, more + before, false},
		{"half a frame", more + chunk("d", "null")[:50], more, false},
	} {
		got, _, err := through(t, w, iotest.DataErrReader(strings.NewReader(row.text)))
		f, _ := errors.AsType[*fault.Error](err)
		if string(got) != row.want || (err == nil) != row.whole || !row.whole && (f == nil || f.Kind != fault.Truncated) {
			t.Errorf("%s: got %q and %v, want %q, whole: %t", row.name, got, err, row.want, row.whole)
		}
	}
}
