package tool_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/tool"
)

// tree lays files below a new folder and opens it. It returns the tools by name
// and the folder's path.
func tree(t testing.TB, files map[string]string) (map[string]tool.Tool, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "root")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatalf("mkdir: %v", err)
	}
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatalf("mkdir all: %v", err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatalf("write file: %v", err)
		}
	}
	folder, err := tool.Files(dir)
	if err != nil {
		t.Fatalf("files: %v", err)
	}
	t.Cleanup(func() { folder.Close() })
	tools := map[string]tool.Tool{}
	for _, x := range folder.Tools() {
		if x.Writes {
			t.Errorf("%s writes", x.Name)
		}
		tools[x.Name] = x
	}
	return tools, dir
}

// args writes arguments as JSON from names and values in turn.
func args(pairs ...any) string {
	m := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	text, _ := json.Marshal(m)
	return string(text)
}

func TestFolder_NothingOutsideIsReachable(t *testing.T) {
	tools, dir := tree(t, map[string]string{"a": "inside\n", "sub/b": "below\n"})
	secret := filepath.Join(filepath.Dir(dir), "secret")
	if err := os.WriteFile(secret, []byte("the secret\n"), 0o644); err != nil {
		t.Fatalf("write file: %v", err)
	}
	for name, to := range map[string]string{"out": "..", "file": "../secret", "abs": secret, "in": "sub", "deep": "sub/../../secret"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	for _, path := range []string{
		"..", "../secret", "sub/../../secret", secret, "/etc/passwd", "out", "out/secret", "file", "abs", "deep",
		"/", "a/../../secret", "sub/../../root/../secret",
	} {
		for name, x := range tools {
			got := run(t.Context(), x, args("path", path, "pattern", "."))
			if name != "search_files" {
				got = run(t.Context(), x, args("path", path))
			}
			if strings.Contains(got, "the secret") || !strings.HasPrefix(got, "!") {
				t.Errorf("%s of %s: got %q, want an error", name, path, got)
			}
		}
	}
	if got := run(t.Context(), tools["search_files"], `{"pattern":"secret"}`); strings.Contains(got, "the secret") {
		t.Errorf("searched: %q", got)
	}
	for _, path := range []string{"sub/b", "in/b", dir + "/sub/b", "./sub//b", "a/../sub/b"} {
		if got := run(t.Context(), tools["read_file"], args("path", path)); got != "below\n" {
			t.Errorf("read_file of %s: got %q, want %q", path, got, "below\n")
		}
	}
}

func TestFolder_ListFiles(t *testing.T) {
	tools, dir := tree(t, map[string]string{"b.txt": "12345", "a/x": "", ".hidden": "1"})
	if err := os.Symlink("b.txt", filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "empty"), 0o755); err != nil {
		t.Fatalf("mkdir: %v", err)
	}
	for given, want := range map[string]string{
		``:                  ".hidden (1)\na/\nb.txt (5)\nempty/\nlink (link)\n",
		`{"path":"."}`:      ".hidden (1)\na/\nb.txt (5)\nempty/\nlink (link)\n",
		`{"path":"a"}`:      "x (0)\n",
		`{"path":"empty"}`:  "[empty]",
		`{"path":"b.txt"}`:  "!b.txt: not a directory",
		`{"path":"none"}`:   "!none: no such file or directory",
		`{"path":"../../"}`: "!../../ is outside the folder",
	} {
		if diff := cmp.Diff(want, run(t.Context(), tools["list_files"], given)); diff != "" {
			t.Errorf("list_files of %s: (-want +got)\n%s", given, diff)
		}
	}
}

func TestFolder_ListFilesIsBounded(t *testing.T) {
	files := map[string]string{}
	for i := range 1003 {
		files[strconv.Itoa(i)] = ""
	}
	tools, _ := tree(t, files)
	got := run(t.Context(), tools["list_files"], "")
	if !strings.HasSuffix(got, "[3 more]\n") || strings.Count(got, "\n") != 1001 {
		t.Errorf("got %d lines, the last are %q", strings.Count(got, "\n"), got[len(got)-30:])
	}
}

func TestFolder_ReadFile(t *testing.T) {
	tools, _ := tree(t, map[string]string{
		"three": "one\ntwo\r\nthree", "empty": "", "wide": strings.Repeat("x", 5000) + "\nnext\n",
		"huge": strings.Repeat(strings.Repeat("y", 99)+"\n", 10_000), "binary": "ab\x00c", "wider": strings.Repeat("z", 100_000),
	})
	for _, tt := range []struct{ arguments, want string }{
		{args("path", "three"), "one\ntwo\nthree\n"},
		{args("path", "three", "offset", 2), "two\nthree\n"},
		{args("path", "three", "offset", 2, "limit", 1), "two\n[the file continues: read from offset 3]"},
		{args("path", "three", "offset", 3, "limit", 1), "three\n"},
		{args("path", "three", "offset", -3, "limit", -1), "one\ntwo\nthree\n"},
		{args("path", "three", "offset", 4), "!the file has only 3 lines"},
		{args("path", "three", "offset", 9223372036854775807, "limit", 9223372036854775807), "!the file has only 3 lines"},
		{args("path", "empty"), "[the file is empty]"},
		{args("path", "wide"), strings.Repeat("x", 4096) + " [904 more bytes in this line]\nnext\n"},
		{args("path", "wider"), strings.Repeat("z", 4096) + " [95904 more bytes in this line]\n"},
		{args("path", "huge", "offset", 9999), strings.Repeat(strings.Repeat("y", 99)+"\n", 2)},
		{args("path", "huge"), strings.Repeat(strings.Repeat("y", 99)+"\n", 492) + "[the file continues: read from offset 493]"},
		{args("path", "binary"), "!binary is a binary file of 4 bytes"},
		{args("path", "."), "!. is not a file"},
		{args("path", "none"), "!none: no such file or directory"},
		{`{}`, `!invalid arguments: required: missing properties: ["path"]`},
	} {
		if diff := cmp.Diff(tt.want, run(t.Context(), tools["read_file"], tt.arguments)); diff != "" {
			t.Errorf("read_file of %s: (-want +got)\n%s", tt.arguments, diff)
		}
	}
}

func TestFolder_SearchFiles(t *testing.T) {
	tools, _ := tree(t, map[string]string{
		"a.go": "package a\nfunc A() {}\r\n", "sub/b.go": "package b\n", "c.txt": "package c" + strings.Repeat("!", 400),
		".git/config": "package git\n", "binary": "package\x00", "huge": strings.Repeat("package\n", 600_000),
	})
	const passed = "[left out: 2 files that are binary or above 4 MiB]\n"
	for _, tt := range []struct{ arguments, want string }{
		{args("pattern", "^package [ab]$"), "a.go:1: package a\nsub/b.go:1: package b\n" + passed},
		{args("pattern", `\{\}$`), "a.go:2: func A() {}\n" + passed},
		{args("pattern", "PACKAGE"), "[no line matches in 3 files]\n" + passed},
		{args("pattern", "(?i)PACKAGE", "path", "sub"), "sub/b.go:1: package b\n"},
		{args("pattern", "package", "path", "a.go"), "a.go:1: package a\n"},
		{args("pattern", "package", "files", "*.txt"), "c.txt:1: package c" + strings.Repeat("!", 291) + " [109 more bytes in this line]\n"},
		{args("pattern", "package", "path", ".git"), "[no line matches in 0 files]\n"},
		{args("pattern", "("), "!error parsing regexp: missing closing ): `(`"},
		{args("pattern", "x", "files", "["), "!files: syntax error in pattern"},
		{args("pattern", "x", "path", "none"), "!none: no such file or directory"},
		{`{}`, `!invalid arguments: required: missing properties: ["pattern"]`},
	} {
		if diff := cmp.Diff(tt.want, run(t.Context(), tools["search_files"], tt.arguments)); diff != "" {
			t.Errorf("search_files of %s: (-want +got)\n%s", tt.arguments, diff)
		}
	}
}

func TestFolder_SearchFilesIsBounded(t *testing.T) {
	tools, _ := tree(t, map[string]string{"a": strings.Repeat("x\n", 300), "b": "x\n"})
	got := run(t.Context(), tools["search_files"], `{"pattern":"x"}`)
	if !strings.HasSuffix(got, "a:200: x\n[more than 200 lines match: narrow the search]\n") {
		t.Errorf("ends with %q", got[len(got)-80:])
	}
}

func TestFolder_ClosedFails(t *testing.T) {
	folder, err := tool.Files(t.TempDir())
	if err != nil {
		t.Fatalf("files: %v", err)
	}
	if err := folder.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
	for _, x := range folder.Tools() {
		given := args("path", ".")
		if x.Name == "search_files" {
			given = args("pattern", ".")
		}
		if got := run(t.Context(), x, given); !strings.HasPrefix(got, "!") {
			t.Errorf("%s of a closed folder: got %q, want an error", x.Name, got)
		}
	}
}

func TestFiles_MissingFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatalf("write file: %v", err)
	}
	for _, path := range []string{file, file + "none"} {
		if _, err := tool.Files(path); err == nil {
			t.Errorf("%s: no error", path)
		}
	}
}

func FuzzPath(f *testing.F) {
	tools, dir := tree(f, map[string]string{"a": "inside\n", "sub/b": "inside\n"})
	if err := os.WriteFile(filepath.Join(filepath.Dir(dir), "secret"), []byte("outside"), 0o644); err != nil {
		f.Fatal(err)
	}
	for _, path := range []string{"a", "../secret", "sub/../../secret", "./sub//b", dir, "\x00", "a/.."} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		for _, x := range tools {
			if got := run(t.Context(), x, args("path", path)); strings.Contains(got, "outside\n") {
				t.Errorf("%s of %q: got %q, want nothing from outside", x.Name, path, got)
			}
		}
		if got := run(t.Context(), tools["search_files"], args("path", path, "pattern", "outside")); strings.Contains(got, ": outside") {
			t.Errorf("search %q: %q", path, got)
		}
	})
}

func TestFilesBelow_DirectoryIsInsideTheFolder(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{filepath.Join(root, "in", "a.txt"): "inside", filepath.Join(outside, "b.txt"): "outside", filepath.Join(root, "c.txt"): "above"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatalf("write file: %v", err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(root, "link")); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	for _, dir := range []string{"link", "..", "in/../..", outside, "absent", "c.txt"} {
		if f, err := tool.FilesBelow(root, dir); err == nil {
			f.Close()
			t.Errorf("FilesBelow(%s): got a folder, want an error", dir)
		}
	}
	f, err := tool.FilesBelow(root, "in")
	if err != nil {
		t.Fatalf("FilesBelow: %v", err)
	}
	defer f.Close()
	for _, x := range f.Tools() {
		if x.Name != "read_file" {
			continue
		}
		for path, want := range map[string]bool{"a.txt": true, filepath.Join(root, "in", "a.txt"): true, "../c.txt": false, filepath.Join(root, "c.txt"): false} {
			r := x.Run(t.Context(), llm.ToolCall{ID: "1", Name: x.Name, Arguments: json.RawMessage(fmt.Sprintf(`{"path":%q}`, path))})
			if got := !r.Failed && strings.Contains(r.Output, "inside"); got != want {
				t.Errorf("read_file of %s: got %q, want it read: %t", path, r.Output, want)
			}
		}
	}
}
