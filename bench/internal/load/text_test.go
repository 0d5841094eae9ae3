package load_test

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"testing"

	"github.com/ridethrough/ridethrough/bench/internal/load"
)

func TestText_CompressesAsProse(t *testing.T) {
	text := load.NewBook(1).Text(200_000)
	var b bytes.Buffer
	w, _ := flate.NewWriter(&b, flate.DefaultCompression)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	if ratio := float64(len(text)) / float64(b.Len()); ratio < 2.5 || ratio > 3.5 {
		t.Errorf("to 1/%.2f", ratio)
	}
}

func TestText_IsUnique(t *testing.T) {
	b := load.NewBook(1)
	if first := b.Text(5000); first == b.Text(5000) {
		t.Error("twice the same")
	}
}

func TestText_HasTheRequestedLength(t *testing.T) {
	b := load.NewBook(2)
	for n := range 5000 {
		if text := b.Text(n); len(text) != n || !json.Valid([]byte(`"`+text+`"`)) {
			t.Fatalf("%d bytes: %q", n, text)
		}
	}
}
