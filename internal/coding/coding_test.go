package coding_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/http"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/ridethrough/ridethrough/internal/coding"
)

// pack returns a text in a coding.
func pack(name, text string) []byte {
	var b bytes.Buffer
	w := io.WriteCloser(gzip.NewWriter(&b))
	switch name {
	case "deflate":
		w = zlib.NewWriter(&b)
	case "br":
		w = brotli.NewWriter(&b)
	case "zstd":
		w, _ = zstd.NewWriter(&b)
	}
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return b.Bytes()
}

func TestDecodeUnasked_OnlyWhatIsNotAccepted(t *testing.T) {
	for _, tt := range []struct {
		coding, accept string
		decodes        bool
	}{
		{"gzip", "identity", true},
		{"X-GZIP", "", true},
		{"deflate", "identity", true},
		{"gzip", "br, gzip", false},
		{"br", "identity", true},
		{"br", "br, gzip", false},
		{"zstd", "", true},
		{"compress", "identity", false},
	} {
		body := pack(tt.coding, "plain")
		resp := &http.Response{Header: http.Header{"Content-Encoding": {tt.coding}}, Body: io.NopCloser(bytes.NewReader(body))}
		coding.DecodeUnasked(resp, http.Header{"Accept-Encoding": {tt.accept}})
		got, err := io.ReadAll(resp.Body)
		if decoded := string(got) == "plain"; decoded != tt.decodes || (coding.Of(resp.Header) == "") != tt.decodes || err != nil {
			t.Errorf("%s where %q is accepted: body %q, coding %q, error %v; want it decoded: %v", tt.coding, tt.accept, got, coding.Of(resp.Header), err, tt.decodes)
		}
	}
}

func TestDecoded_AsFarAsItGoes(t *testing.T) {
	for _, tt := range []struct {
		coding, want string
		body         []byte
		bound        int64
	}{
		{"gzip", "plain text", pack("gzip", "plain text"), 100},
		{"gzip", "plain", pack("gzip", "plain text"), 5},
		{"br", "plain text", pack("br", "plain text"), 100},
		{"br", "plain", pack("br", "plain text"), 5},
		{"zstd", "plain text", pack("zstd", "plain text"), 100},
		{"gzip", "no gzip", []byte("no gzip"), 100},
		{"gzip", "", []byte("\x0b\x02"), 100},
		{"compress", "", []byte("\x1f\x9d\x90\x80"), 100},
		{"compress", "a text", []byte("a text"), 100},
		{"", "as it is", []byte("as it is"), 100},
	} {
		if got := string(coding.Decoded(http.Header{"Content-Encoding": {tt.coding}}, tt.body, tt.bound)); got != tt.want {
			t.Errorf("%q of %q: got %q, want %q", tt.body, tt.coding, got, tt.want)
		}
	}
	if got := string(coding.Decoded(nil, []byte("as it is"), 100)); got != "as it is" {
		t.Errorf("no coding: got %q, want it as it is", got)
	}
}
