package coding_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/http"
	"testing"

	"github.com/ridethrough/ridethrough/internal/coding"
)

// pack returns a text in a coding.
func pack(name, text string) []byte {
	var b bytes.Buffer
	w := io.WriteCloser(gzip.NewWriter(&b))
	if name == "deflate" {
		w = zlib.NewWriter(&b)
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
		{"br", "identity", false},
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
	h := http.Header{"Content-Encoding": {"gzip"}}
	packed := pack("gzip", "plain text")
	for want, got := range map[string]string{
		"plain text": string(coding.Decoded(h, packed, 100)),
		"plain":      string(coding.Decoded(h, packed, 5)),
		"no gzip":    string(coding.Decoded(h, []byte("no gzip"), 100)),
		"as it is":   string(coding.Decoded(nil, []byte("as it is"), 100)),
	} {
		if got != want {
			t.Errorf("decoded: got %q, want %q", got, want)
		}
	}
}
