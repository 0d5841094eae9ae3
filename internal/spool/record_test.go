package spool_test

import (
	"bytes"
	"sync"
	"testing"

	"github.com/ridethrough/ridethrough/internal/spool"
)

// recorded reads what a record has from the beginning on, until it has so much.
func recorded(r *spool.Record, size int) (all []byte, err error) {
	part := make([]byte, 10_000)
	for n := 0; len(all) < size && err == nil; all = append(all, part[:n]...) {
		n, err = r.ReadAt(part, len(all))
	}
	return all, err
}

func TestRecord_IsReadWhileItGrows(t *testing.T) {
	for name, limits := range map[string]spool.Limits{"in memory": {}, "on disk": {Memory: 1}} {
		for _, size := range []int{0, 1, 8 << 10, 64<<10 - 1, 64 << 10, 64<<10 + 1, 300_000} {
			s, want := newSpool(t, limits), noise(size)
			r := s.NewRecord()
			var all sync.WaitGroup
			for range 2 {
				all.Go(func() {
					if got, err := recorded(r, size); err != nil || !bytes.Equal(got, want) {
						t.Errorf("%s: %d bytes, %v; want the %d appended", name, len(got), err, size)
					}
				})
			}
			for part := want; len(part) > 0; {
				n := min(len(part), 1+len(part)%4099)
				if err := r.Append(part[:n]); err != nil {
					t.Fatalf("%s, %d bytes: Append: %v", name, size, err)
				}
				part = part[n:]
			}
			all.Wait()
			if n, err := r.ReadAt(make([]byte, 1), size); n != 0 || err != nil {
				t.Errorf("%s: read %d bytes behind the end of %d, %v", name, n, size, err)
			}
			r.Release()
			if _, err := r.ReadAt(make([]byte, 1), 0); err == nil {
				t.Errorf("%s: a read after Release of %d bytes has no error", name, size)
			}
			if memory, disk := s.Used(); memory+disk != 0 {
				t.Errorf("%s, %d bytes: %d bytes in memory and %d on disk are left", name, size, memory, disk)
			}
		}
	}
}

func TestRecord_WithoutRoomFails(t *testing.T) {
	s := newSpool(t, spool.Limits{Memory: 1 << 20, Disk: 1 << 20})
	r := s.NewRecord()
	err := error(nil)
	for range 100 {
		if err = r.Append(noise(64 << 10)); err != nil {
			break
		}
	}
	if err == nil {
		t.Error("6 MiB were kept, want an error beyond 1 MiB of memory and 1 MiB of disk")
	}
	r.Release()
	if memory, disk := s.Used(); memory+disk != 0 {
		t.Errorf("%d bytes in memory and %d on disk are left", memory, disk)
	}
}
