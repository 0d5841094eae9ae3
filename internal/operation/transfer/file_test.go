package transfer_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/internal/operation/transfer"
	"github.com/ridethrough/ridethrough/store"
)

// openFile opens a file until the test ends.
func openFile(t *testing.T, name string) *transfer.File {
	t.Helper()
	f, err := transfer.OpenFile(name, "a")
	if err != nil {
		t.Fatalf("OpenFile: %v", err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// writtenFile returns the name of a complete file with a conversation of three
// records.
func writtenFile(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "deep", "down", "a.jsonl")
	f := openFile(t, name)
	for _, r := range talk("a", "1", "2", "3").Records {
		if err := f.Append(r); err != nil {
			t.Fatalf("Append: %v", err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	return name
}

// inFile returns the conversation in a file.
func inFile(t *testing.T, name string) transfer.Conversation {
	t.Helper()
	f := openFile(t, name)
	defer func() { _ = f.Close() }()
	return f.Conversation()
}

func TestFile_IsReadAndAppendedTo(t *testing.T) {
	name := writtenFile(t)
	for _, said := range [][]string{{"1", "2", "3"}, {"1", "2", "3", "4"}, {"1", "2", "3", "4", "5"}} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatalf("read file: %v", err)
		}
		all, err := read(string(text))
		if diff := cmp.Diff([]transfer.Conversation{talk("a", said...)}, all); diff != "" || err != nil {
			t.Errorf("Read of a file with %d records: %v (-want +got)\n%s", len(said), err, diff)
		}
		f := openFile(t, name)
		if diff := cmp.Diff(talk("a", said...), f.Conversation()); diff != "" {
			t.Errorf("conversation of %d records (-want +got)\n%s", len(said), diff)
		}
		if err := f.Append(talk("a", "1", "2", "3", "4", "5").Records[len(said)%5]); err != nil {
			t.Errorf("Append: %v", err)
		}
		if err := f.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode of the file is %v, %v, want 0600", info.Mode(), err)
	}
}

func TestFile_OpenAloneChangesNothing(t *testing.T) {
	name := writtenFile(t)
	before, _ := os.ReadFile(name)
	inFile(t, name)
	if after, _ := os.ReadFile(name); string(after) != string(before) {
		t.Errorf("the file is\n%s\nwant\n%s", after, before)
	}
}

func TestFile_CutOffLineIsDropped(t *testing.T) {
	name := writtenFile(t)
	text, _ := os.ReadFile(name)
	lines := strings.SplitAfter(string(text), "\n")
	whole := len(strings.Join(lines[:3], "")) // the header and two records
	for cut := whole; cut < len(text); cut++ {
		want := talk("a", "1", "2")
		if cut >= whole+len(lines[3]) {
			want = talk("a", "1", "2", "3")
		}
		if err := os.WriteFile(name, text[:cut], 0o600); err != nil {
			t.Fatalf("write file: %v", err)
		}
		f := openFile(t, name)
		if diff := cmp.Diff(want, f.Conversation()); diff != "" {
			t.Fatalf("cut at %d of %d (-want +got)\n%s", cut, len(text), diff)
		}
		if err := errors.Join(f.Append(store.Record{Time: noon, Type: "x"}), f.Close()); err != nil {
			t.Fatalf("append after a cut at %d: %v", cut, err)
		}
		if got := inFile(t, name); len(got.Records) != len(want.Records)+1 {
			t.Fatalf("after a cut at %d and an append there are %d records, want %d", cut, len(got.Records), len(want.Records)+1)
		}
	}
}

func TestFile_RefusesOtherContentWithItsLine(t *testing.T) {
	text, _ := os.ReadFile(writtenFile(t))
	lines := strings.SplitAfter(string(text), "\n")
	for name, c := range map[string]struct{ text, says string }{
		"a hole":             {lines[0] + lines[1] + lines[3], "line 3: conversation a has record 3, want 2"},
		"a line twice":       {lines[0] + lines[1] + lines[1], "line 3: conversation a has record 1, want 2"},
		"no JSON":            {lines[0] + "what?\n", "line 2: "},
		"no header":          {lines[1], "line 1: "},
		"an earlier version": {`{"v":1,"seq":1,"ts":"2026-11-21T10:00:00Z","type":"turn-start"}` + "\n", "line 1: the file has a format of an earlier version"},
		"no end of a line":   {`{"name":"mine","version":"1.0.0"}`, "line 1: not a line of a conversation file"},
		"another tail":       {lines[0] + "what?", "line 2: not a line of a conversation file"},
		"two conversations":  {write(t, talk("a", "1"), talk("b", "2")), "line 3: the file has more than one conversation"},
		"two files":          {string(text) + string(text), "line 6: the file has more than one conversation"},
		"a compressed one":   {"\x1f\x8b\x08", "the file is compressed; decompress it with gunzip"},
	} {
		path := filepath.Join(t.TempDir(), "a.jsonl")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatalf("write file: %v", err)
		}
		if _, err := transfer.OpenFile(path, "a"); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: OpenFile returns %v, want %q", name, err, c.says)
		}
		if left, _ := os.ReadFile(path); string(left) != c.text {
			t.Errorf("%s: the file was changed", name)
		}
	}
}

func TestOpenFile_RefusesWhatIsNotARegularFile(t *testing.T) {
	for _, name := range []string{t.TempDir(), os.DevNull} {
		if _, err := transfer.OpenFile(name, "a"); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("OpenFile(%s) returns %v, want that it is not a regular file", name, err)
		}
	}
}

func TestOpenFile_LocksTheFile(t *testing.T) {
	name := writtenFile(t)
	openFile(t, name)
	if _, err := transfer.OpenFile(name, "a"); err == nil || !strings.Contains(err.Error(), "another process is writing to it") {
		t.Errorf("a second OpenFile returns %v, want that another process is writing to it", err)
	}
}

func TestFile_FailedAppendLeavesTheFile(t *testing.T) {
	name := writtenFile(t)
	f := openFile(t, name)
	_ = f.Close()
	if err := f.Append(store.Record{Time: noon, Type: "x"}); err == nil {
		t.Error("Append to a closed file returns no error")
	}
	if diff := cmp.Diff(talk("a", "1", "2", "3"), inFile(t, name)); diff != "" {
		t.Errorf("conversation after a failed append (-want +got)\n%s", diff)
	}
}

func TestFile_RemoveDeletesIt(t *testing.T) {
	name := writtenFile(t)
	if err := openFile(t, name).Remove(); err != nil {
		t.Fatalf("Remove: %v", err)
	}
	if _, err := os.Stat(name); !os.IsNotExist(err) {
		t.Errorf("Stat after Remove returns %v, want that it does not exist", err)
	}
}

func FuzzOpenFile(f *testing.F) {
	for _, seed := range []string{"", "{}\n", "\n\n", write(f, talk("a", "1")), write(f, talk("a", "1"))[:90], write(f)} {
		f.Add([]byte(seed))
	}
	name := filepath.Join(f.TempDir(), "a.jsonl")
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatalf("write file: %v", err)
		}
		j, err := transfer.OpenFile(name, "a")
		if err != nil {
			return
		}
		n := len(j.Conversation().Records)
		if err := errors.Join(j.Append(store.Record{Time: noon, Type: "x"}), j.Close()); err != nil {
			t.Fatalf("append and close: %v", err)
		}
		if got := len(inFile(t, name).Records); got != n+1 {
			t.Fatalf("%d records after an append to %d", got, n)
		}
	})
}
