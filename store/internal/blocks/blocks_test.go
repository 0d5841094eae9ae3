package blocks_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/minio/highwayhash"

	"github.com/ridethrough/ridethrough/store/internal/blocks"
)

var format = blocks.Format{
	Stream:  "S",
	Subject: func(s []byte) bool { return bytes.HasPrefix(s, []byte("a.")) },
	Bare:    func(data []byte) bool { return len(data) == 0 || data[0] == '{' },
}

// message encodes a message of a file; no subject: the mark of a deleted one.
func message(file int, seq uint64, subject, header, data string) []byte {
	size, text := uint32(22+len(subject)+len(header)+len(data)+8), header+data
	b := make([]byte, 22, size)
	if subject == "" {
		seq |= 1 << 62
	}
	if header != "" {
		size += 4
	}
	binary.LittleEndian.PutUint32(b, size)
	binary.LittleEndian.PutUint64(b[4:], seq)
	binary.LittleEndian.PutUint16(b[20:], uint16(len(subject)))
	key := sha256.Sum256(fmt.Appendf(nil, "S-%d", file))
	sum := highwayhash.Sum64(append(append([]byte(nil), b[4:20]...), subject+text...), key[:])
	b = append(b, subject...)
	if header != "" {
		binary.LittleEndian.PutUint32(b, size|1<<31)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(header)))
	}
	return binary.LittleEndian.AppendUint64(append(b, text...), sum)
}

// write writes files by number.
func write(t testing.TB, files map[int][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for n, data := range files {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.blk", n)), data, 0o600); err != nil {
			t.Fatalf("write: %v", err)
		}
	}
	return dir
}

func inspect(t testing.TB, dir string) blocks.Report {
	t.Helper()
	r, err := blocks.Inspect(t.Context(), dir, format, func(header []byte) bool { return bytes.Contains(header, []byte("Mark")) })
	if err != nil {
		t.Fatalf("inspect: %v", err)
	}
	return r
}

func TestInspect_CountsMessages(t *testing.T) {
	dir := write(t, map[int][]byte{
		1: bytes.Join([][]byte{message(1, 1, "a.1", "", "{}"), message(1, 2, "a.2", "", "{}"), message(1, 3, "a.1", "NATS/1.0\r\nMark: 1\r\n\r\n", "x")}, nil),
		2: bytes.Join([][]byte{message(2, 5, "a.2", "", ""), message(2, 2, "", "", ""), message(2, 9, "", "", "")}, nil),
		3: nil,
	})
	want := blocks.Report{Messages: 3, Last: 9, Subjects: map[string]*blocks.Subject{
		"a.1": {Messages: 2, Last: 3, Header: true}, "a.2": {Messages: 1, Last: 5},
	}}
	if diff := cmp.Diff(want, inspect(t, dir)); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if got := inspect(t, filepath.Join(dir, "none")); got.Messages != 0 || got.Last != 0 {
		t.Errorf("a directory that does not exist: got %+v, want an empty report", got)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	if _, err := blocks.Inspect(ctx, dir, format, nil); err == nil || err.Error() != "enough" {
		t.Errorf("inspect with a context that has ended: got %v, want its cause", err)
	}
}

func TestRepair_KeepsWhatCanBeRead(t *testing.T) {
	one, two, three := message(1, 4, "a.1", "", "{}"), message(1, 5, "a.1", "", "{}"), message(1, 6, "a.1", "", "{}")
	spoiled := append([]byte(nil), two...)
	spoiled[8] ^= 1 // 5 -> 2^32+5
	next := message(2, 8, "a.1", "", "{}")
	tests := map[string]struct {
		first, second []byte
		gaps          []blocks.Range
		torn          bool
		want          []byte // of the first file
	}{
		"spoiled":      {bytes.Join([][]byte{one, spoiled, three}, nil), next, []blocks.Range{{5, 5}}, false, append(one, three...)},
		"at the start": {append(spoiled, three...), next, []blocks.Range{{1, 5}}, false, three},
		"at the end":   {append(one, spoiled...), next, []blocks.Range{{5, 7}}, false, one},
		"torn":         {append(one, two[:9]...), nil, []blocks.Range{{5, 1<<64 - 2}}, true, one},
		"nothing left": {spoiled, next, []blocks.Range{{1, 7}}, false, nil},
		"overlap":      {bytes.Join([][]byte{one, message(1, 8, "a.1", "", "{}")}, nil), next, nil, false, one},
		"backwards":    {bytes.Join([][]byte{three, one}, nil), next, nil, false, three},
		"other file":   {bytes.Join([][]byte{one, message(7, 5, "a.1", "", "{}"), three}, nil), next, []blocks.Range{{5, 5}}, false, append(one, three...)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			files := map[int][]byte{1: tt.first}
			if tt.second != nil {
				files[2] = tt.second
			}
			dir := write(t, files)
			r := inspect(t, dir)
			if len(r.Damaged) != 1 || r.Damaged[0].Torn != tt.torn || !cmp.Equal(r.Damaged[0].Gaps, tt.gaps, cmpopts.EquateEmpty()) {
				t.Fatalf("inspect: got damage %+v, want gaps %v, torn %v", r.Damaged, tt.gaps, tt.torn)
			}
			kept := filepath.Join(t.TempDir(), "kept")
			if err := blocks.Repair(r, kept, format); err != nil {
				t.Fatalf("repair: %v", err)
			}
			got, _ := os.ReadFile(filepath.Join(dir, "1.blk"))
			before, err := os.ReadFile(filepath.Join(kept, "1.blk"))
			if err != nil || !bytes.Equal(before, tt.first) || !bytes.Equal(got, tt.want) {
				t.Errorf("repair: got %d bytes and kept %d, %v; want %d and %d", len(got), len(before), err, len(tt.want), len(tt.first))
			}
			after := inspect(t, dir)
			if diff := cmp.Diff(r.Subjects, after.Subjects); diff != "" || len(after.Damaged) > 0 {
				t.Errorf("inspect after the repair: damage %+v, subjects (-before +after):\n%s", after.Damaged, diff)
			}
		})
	}
}

// Every 30 bytes, what looks like the beginning of a large message.
func TestInspect_SearchIsBounded(t *testing.T) {
	false1 := message(1, 1, "a.1", "", "{")[:26]
	binary.LittleEndian.PutUint32(false1, 4<<20)
	dir := write(t, map[int][]byte{1: bytes.Repeat(false1, 8<<20/len(false1))})
	began := time.Now()
	if r := inspect(t, dir); len(r.Damaged) != 1 || r.Messages != 0 {
		t.Errorf("inspect: got %+v, want nothing but damage", r)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("inspect took %v, want less than 30 s", took)
	}
}

func TestInspect_RefusesLargeFiles(t *testing.T) {
	dir := write(t, map[int][]byte{1: nil})
	if err := os.Truncate(filepath.Join(dir, "1.blk"), 1<<40); err != nil {
		t.Fatalf("truncate: %v", err)
	}
	if _, err := blocks.Inspect(t.Context(), dir, format, nil); err == nil {
		t.Error("inspect a file of a terabyte: got no error")
	}
}

func FuzzRepair(f *testing.F) {
	f.Add(append(message(1, 1, "a.1", "", "{}"), message(1, 2, "a.2", "NATS/1.0\r\n\r\n", "x")...), 9)
	f.Add(append(message(1, 1, "a.1", "", "{}"), message(1, 1, "", "", "")...), 60)
	f.Fuzz(func(t *testing.T, data []byte, flip int) {
		data = bytes.Clone(data)
		if flip >= 0 && flip < len(data) {
			data[flip] ^= 1
		}
		dir := write(t, map[int][]byte{1: data})
		r := inspect(t, dir)
		if err := blocks.Repair(r, filepath.Join(t.TempDir(), "kept"), format); err != nil {
			t.Fatalf("repair: %v", err)
		}
		if again := inspect(t, dir); len(again.Damaged) > 0 || again.Messages != r.Messages {
			t.Errorf("inspect after the repair: got %+v, want the %d messages of before", again, r.Messages)
		}
	})
}

func FuzzReadIndex(f *testing.F) {
	f.Add([]byte{11, 4, 2, 0, 1, 0, 3, 0, 1, 3, 'a', '.', '1', 2, 1, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		key := sha256.Sum256([]byte("S"))
		dir := t.TempDir()
		sealed := binary.LittleEndian.AppendUint64(append([]byte(nil), data...), highwayhash.Sum64(data, key[:]))
		if err := os.WriteFile(filepath.Join(dir, "index.db"), sealed, 0o600); err != nil {
			t.Fatalf("write: %v", err)
		}
		i, err := blocks.ReadIndex(dir, format)
		if err == nil && len(i.Subjects) > len(data) {
			t.Errorf("%d subjects in %d bytes", len(i.Subjects), len(data))
		}
	})
}

func BenchmarkInspect(b *testing.B) {
	var data []byte
	for seq := uint64(1); len(data) < 8<<20; seq++ {
		data = append(data, message(1, seq, fmt.Sprintf("a.%d", seq%1000), "NATS/1.0\r\nNats-Msg-Id: 1\r\n\r\n", string(bytes.Repeat([]byte("x"), 900)))...)
	}
	dir := write(b, map[int][]byte{1: data})
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := blocks.Inspect(b.Context(), dir, format, func([]byte) bool { return false }); err != nil {
			b.Fatalf("inspect: %v", err)
		}
	}
}
