package bolt_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/bolt"
	"github.com/ridethrough/ridethrough/store/storetest"
)

// The file grows to many times its size while a copy of it does not proceed. Neither writers nor readers wait for it.
func TestSnapshot_PausedStopsNeitherWritersNorReaders(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, bolt.Config{Dir: dir, Reserve: 1})
	at := storetest.Append(t, s, "c1", store.Position{}, "a")
	const most = 40 << 20 // bytes, of which the map would have been enlarged eleven times
	text := strings.Repeat("large ", 300<<10)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	grown := 0
	held := bolt.HoldReader(s, func() {
		for ; grown < most; grown += len(text) {
			var err error
			if at, err = s.Append(ctx, "c1", at, storetest.Records(text)...); err != nil {
				t.Errorf("append after %d MiB, beside a copy that does not proceed: %v", grown>>20, err)
				return
			}
			if end, err := s.End(ctx, "c1"); err != nil || end != at {
				t.Errorf("end after %d MiB: got %v, %v; want %v", grown>>20, end, err, at)
			}
		}
	})
	if held != nil {
		t.Errorf("the reader: got error %v, want none", held)
	}
	h, err := s.Health(t.Context())
	if err != nil || h.Bytes < most {
		t.Errorf("health: got %d bytes, error %v; want more than %d", h.Bytes, err, most)
	}
}

// A process may have fewer addresses than the map takes.
func TestOpenFile_WithoutAddressesBeginsSmall(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := bolt.OpenFile(path, math.MaxInt>>16); err != nil { // with 64 bits more than a process can have
		t.Errorf("open with a map that is too large: got error %v, want none", err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() > 1<<20 {
		t.Errorf("then: got %v, %v; want a small file", fmt.Sprint(info), err)
	}
}
