package transport_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/ridethrough/ridethrough/dialect"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/transport"
)

// through reads a streamed answer through a transport, as its source gives it.
func through(t *testing.T, src io.Reader) ([]byte, error) {
	base := roundTrip(func(*http.Request) (*http.Response, error) {
		h := http.Header{"Content-Type": {"text/event-stream; charset=utf-8"}}
		return &http.Response{StatusCode: 200, Header: h, Body: io.NopCloser(src)}, nil
	})
	p := policy.Policy{Retries: 1, Kinds: 1 << 31} // decides, and lets nothing pass
	resp, err := (&transport.Transport{Base: base, Engine: retry.Engine{Policy: p}}).RoundTrip(post(t.Context()))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}

func TestFramesLargerThanAnyBoundPassUnchanged(t *testing.T) {
	image := strings.Replace(hi, "Hi", strings.Repeat("A", 3<<20), 1)
	for _, text := range []string{start + image + stop, start + hi + image + stop} {
		got, err := through(t, strings.NewReader(text))
		if string(got) != text || err != nil {
			t.Errorf("%d of %d bytes, %v", len(got), len(text), err)
		}
	}
}

func TestStreamThatComesInOneReadWithItsEndIsWhole(t *testing.T) {
	text := start + hi + hi + stop
	got, err := through(t, iotest.DataErrReader(strings.NewReader(text)))
	if string(got) != text || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// FuzzStream checks that the bytes of any stream come through unchanged
// however they arrive, up to half a frame at a broken end.
func FuzzStream(f *testing.F) {
	f.Add([]byte(start+hi+stop), true)
	f.Add([]byte(start+hi+oops), false)
	f.Add([]byte(": hold\r\n\r\n"+hi+"event: mess"), true)
	f.Fuzz(func(t *testing.T, text []byte, piecemeal bool) {
		src := iotest.DataErrReader(bytes.NewReader(text))
		if piecemeal {
			src = iotest.OneByteReader(bytes.NewReader(text))
		}
		got, err := through(t, src)
		rest, ok := bytes.CutPrefix(text, got)
		if !ok || dialect.Events.Cut(rest, 0) != 0 || (err == nil && len(rest) > 0 && dialect.Anthropic().Ends(dialect.Events, rest)) {
			t.Errorf("%q came through as %q, %v", text, got, err)
		}
	})
}
