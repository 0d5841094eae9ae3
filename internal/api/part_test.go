package api_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/api/registry"
)

// recordings returns the lines of all recordings of answers that are neither binary nor its source, each of which may
// be a frame.
func recordings(f *testing.F) (all [][]byte) {
	files, err := filepath.Glob("*/testdata/*/*")
	if err != nil || len(files) == 0 {
		f.Fatalf("recordings: got %d and error %v, want some", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatalf("read %s: %v", file, err)
		}
		for line := range bytes.Lines(text) {
			if !bytes.HasPrefix(line, []byte("# ")) && !bytes.HasPrefix(line, []byte("= ")) && len(line) > 1 {
				all = append(all, append(line, '\n'))
			}
		}
	}
	return all
}

// FuzzDecode holds that parts are views: their text is a piece of the frame.
func FuzzDecode(f *testing.F) {
	for _, frame := range recordings(f) {
		f.Add(frame)
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		if bytes.Count(frame, []byte("data")) > 1 {
			return // several lines of data, which are joined
		}
		for _, a := range registry.All() {
			for _, form := range []api.Form{api.Events, api.Lines} {
				parts := a.Decode(form, frame)
				for i := range parts.Len() {
					if text := parts.At(i).Text; len(text) > 0 && !isWithin(frame, text) {
						t.Errorf("%s: Decode(%q): the text %q of part %d is a copy", a.Name(), frame, text, i)
					}
				}
			}
		}
	})
}

// isWithin reports whether bytes are a piece of others, in the same place.
func isWithin(all, piece []byte) bool {
	begin, at := uintptr(unsafe.Pointer(unsafe.SliceData(all))), uintptr(unsafe.Pointer(unsafe.SliceData(piece)))
	return begin <= at && at+uintptr(len(piece)) <= begin+uintptr(len(all))
}
