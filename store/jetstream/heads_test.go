package jetstream_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/store/jetstream"
)

func TestHeads_AreCountedAndCompacted(t *testing.T) {
	dir := t.TempDir()
	note, closeHeads := jetstream.OpenHeads(t, dir)
	note("a", 1, 1)
	note("a", 3, 2)
	note("a", 3, 2) // a repetition that was stored once
	note("b", 4, 1)
	note("b", 5, 0) // deleted
	want := map[string][2]uint64{"a": {3, 3}, "b": {5, 1}}
	if diff := cmp.Diff(want, jetstream.ReadHeads(t, dir)); diff != "" {
		t.Errorf("heads: last and messages (-want +got):\n%s", diff)
	}
	for i := range uint64(100_000) {
		note("c", 6+i, 1)
	}
	want["c"] = [2]uint64{100_005, 100_000}
	if diff := cmp.Diff(want, jetstream.ReadHeads(t, dir)); diff != "" {
		t.Errorf("heads after many appends (-want +got):\n%s", diff)
	}
	closeHeads()
	text, err := os.ReadFile(filepath.Join(dir, "heads"))
	if lines := strings.Count(string(text), "\n"); err != nil || lines > 100 {
		t.Errorf("the file has %d lines, %v; want it compacted to fewer than 100", lines, err)
	}
}
