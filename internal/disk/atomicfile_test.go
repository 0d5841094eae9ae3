package disk_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/ridethrough/ridethrough/internal/disk"
)

// wantFile checks the content and the permissions of a file.
func wantFile(t *testing.T, path, content string, mode fs.FileMode) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil || string(text) != content {
		t.Errorf("%s: got %q, error %v; want %q", path, text, err, content)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
		t.Errorf("%s: got mode %v, error %v; want %v", path, info.Mode(), err, mode)
	}
}

// wantNames checks what is in a directory.
func wantNames(t *testing.T, dir string, want ...string) {
	t.Helper()
	all, err := os.ReadDir(dir)
	var names []string
	for _, e := range all {
		names = append(names, e.Name())
	}
	if err != nil || !slices.Equal(names, want) {
		t.Errorf("%s: got %q, error %v; want %q", dir, names, err, want)
	}
}

// write creates a file with some permissions.
func write(t *testing.T, path, content string, mode fs.FileMode) {
	t.Helper()
	if err := errors.Join(os.WriteFile(path, []byte(content), 0o600), os.Chmod(path, mode)); err != nil {
		t.Fatalf("write file: %v", err)
	}
}

func TestWrite_KeepsPermissions(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	for i, content := range []string{"first", "second, longer", ""} {
		if err := disk.Write(path, []byte(content)); err != nil {
			t.Errorf("write %d: %v", i, err)
		}
		wantFile(t, path, content, 0o600)
	}
	for _, mode := range []fs.FileMode{0o644, 0o660, 0o400, 0o755} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatalf("chmod: %v", err)
		}
		if err := disk.Write(path, []byte("x")); err != nil {
			t.Errorf("write with mode %v: %v", mode, err)
		}
		wantFile(t, path, "x", mode)
	}
	wantNames(t, dir, "file")
}

func TestReplace_FailureKeepsTheFormerContent(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	write(t, path, "former", 0o640)
	failure := errors.New("no space left")
	err := disk.Replace(path, func(w io.Writer) error {
		_, err := w.Write(bytes.Repeat([]byte("half"), 1000))
		return errors.Join(err, failure)
	})
	if !errors.Is(err, failure) {
		t.Errorf("replace: got error %v, want %v", err, failure)
	}
	wantFile(t, path, "former", 0o640)
	wantNames(t, dir, "file")
	if err := disk.Write(filepath.Join(dir, "none", "file"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("write into a missing directory: got error %v, want %v", err, fs.ErrNotExist)
	}
}

func TestWrite_LinksStay(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real"), filepath.Join(dir, "link")
	write(t, real, "former", 0o644)
	for name, to := range map[string]string{link: "real", filepath.Join(dir, "link2"): "link"} {
		if err := os.Symlink(to, name); err != nil {
			t.Skip(err)
		}
	}
	for _, name := range []string{"link", "link2"} {
		if err := disk.Write(filepath.Join(dir, name), []byte(name)); err != nil {
			t.Errorf("write %s: %v", name, err)
		}
		wantFile(t, real, name, 0o644)
	}
	if to, err := os.Readlink(link); err != nil || to != "real" {
		t.Errorf("the link: got %q, error %v; want it to lead to real", to, err)
	}
	wantNames(t, dir, "link", "link2", "real")
}

func TestWrite_RefusesWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	for name, to := range map[string]string{"loop": "loop", "dangling": "none", "folder": "."} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
		if err := disk.Write(filepath.Join(dir, name), []byte("x")); err == nil {
			t.Errorf("write %s: got no error", name)
		}
	}
	if err := disk.Write(dir, []byte("x")); err == nil {
		t.Error("write a directory: got no error")
	}
	wantNames(t, dir, "dangling", "folder", "loop")
}

// A hard link keeps the former content: the file is another one.
func TestWrite_LeavesHardLinksAlone(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "file"), filepath.Join(dir, "other")
	write(t, path, "former", 0o600)
	if err := os.Link(path, other); err != nil {
		t.Skip(err)
	}
	if err := disk.Write(path, []byte("new")); err != nil {
		t.Errorf("write: %v", err)
	}
	wantFile(t, path, "new", 0o600)
	wantFile(t, other, "former", 0o600)
}

// A reader sees one content or the other, whole, while several write.
func TestWrite_ConcurrentWritersLeaveWholeFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	contents := [][]byte{bytes.Repeat([]byte("a"), 1<<16), bytes.Repeat([]byte("b"), 1<<17), {}}
	write(t, path, "", 0o600)
	var writers sync.WaitGroup
	for _, content := range contents {
		writers.Go(func() {
			for range 20 {
				if err := disk.Write(path, content); err != nil {
					t.Errorf("write: %v", err)
				}
			}
		})
	}
	written := make(chan struct{})
	go func() { writers.Wait(); close(written) }()
	for done := false; !done; {
		select {
		case <-written:
			done = true
		default:
		}
		got, err := os.ReadFile(path)
		if err != nil || !slices.ContainsFunc(contents, func(c []byte) bool { return bytes.Equal(c, got) }) {
			t.Fatalf("read: got %d bytes, error %v; want one of the contents", len(got), err)
		}
	}
	wantNames(t, filepath.Dir(path), "file")
}
