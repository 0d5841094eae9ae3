package llmtest

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/llm"
)

// PNG returns the bytes of a picture as far as its size: a header that states width and height, and then noise, so
// that it has a given number of bytes. The same arguments return the same bytes.
func PNG(width, height, size int) []byte {
	b := []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR")
	b = binary.BigEndian.AppendUint32(b, uint32(width))
	b = binary.BigEndian.AppendUint32(b, uint32(height))
	noise := rand.NewChaCha8([32]byte{byte(width), byte(height), byte(size), byte(size >> 8), byte(size >> 16)})
	rest := make([]byte, max(0, size-len(b)))
	_, _ = noise.Read(rest) // it never fails
	return append(b, rest...)
}

// images tests that pictures arrive whole, and that a model that takes none says so.
func (s Suite) images(t *testing.T) {
	large, err := llm.NewImage("large.png", PNG(640, 480, 1<<20))
	small, errSmall := llm.NewImage("", bytes.Join([][]byte{[]byte("GIF89a\x02\x00\x01\x00"), {0xff, 0xfe, 0}}, nil))
	if err != nil || errSmall != nil {
		t.Fatalf("make images: %v, %v", err, errSmall)
	}
	q := llm.Request{Messages: []llm.Message{llm.UserMessage("What is this?", large, small)}}
	s.each(t, "they arrive whole", "ok, ok", func(r *room) {
		h := r.answer(q)
		later := q
		later.Messages = append(later.Messages, llm.AssistantMessage(r.model.Name(), h.Content()...), llm.UserMessage("And now?"))
		r.answer(later)
		for i, seen := range r.house.Requests() {
			if want, got := []simulator.Image{sent(large), sent(small)}, untyped(seen.Images); !slices.Equal(want, got) {
				r.Errorf("images in request %d: got %v, want %v", i+1, got, want)
			}
		}
		r.asked(2)
	})
	for _, whole := range []bool{false, true} {
		s.in(t, "text-only", "ok", whole, func(r *room) {
			r.ridesWith(q, 1, fault.Invalid, "")
			if _, f := r.fault(q); !f.Images {
				r.Errorf("a model that takes no images: %#v, want Images", f)
			}
		})
	}
}

// sent returns what the simulator says of an image that has arrived whole.
func sent(i llm.Image) simulator.Image {
	sum := sha256.Sum256(i.Data)
	return simulator.Image{MediaType: i.MediaType, Bytes: len(i.Data), SHA256: hex.EncodeToString(sum[:])}
}

// untyped returns images with the types of their bytes where the API states none.
func untyped(images []simulator.Image) []simulator.Image {
	for at, mediaType := range []string{"image/png", "image/gif"} {
		if at < len(images) && images[at].MediaType == "" {
			images[at].MediaType = mediaType
		}
	}
	return images
}
