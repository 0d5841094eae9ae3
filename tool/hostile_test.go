//go:build unix

package tool_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/tool"
)

// soon tells a tool that hangs from one that a busy machine makes slow.
const soon = time.Minute

// runSoon runs a tool that must end.
func runSoon(t *testing.T, x tool.Tool, arguments string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	got := run(ctx, x, arguments)
	if ctx.Err() != nil {
		t.Errorf("%s %s: no result within %v: %q", x.Name, arguments, soon, got)
	}
	return got
}

// makeFIFO makes a named pipe without a writer: opening it for reading waits for one.
func makeFIFO(t *testing.T, name string) {
	t.Helper()
	if err := syscall.Mkfifo(name, 0o644); err != nil {
		t.Skip(err)
	}
}

func TestFolder_SpecialFilesDoNotBlock(t *testing.T) {
	tools, dir := tree(t, map[string]string{"a": "inside\n"})
	makeFIFO(t, filepath.Join(dir, "pipe"))
	l, err := net.Listen("unix", filepath.Join(dir, "socket"))
	if err != nil {
		t.Skip(err)
	}
	defer l.Close()
	if err := os.Symlink("pipe", filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	for _, name := range []string{"pipe", "socket", "link"} {
		if got := runSoon(t, tools["read_file"], args("path", name)); got != "!"+name+" is not a file" {
			t.Errorf("read_file %s: got %q", name, got)
		}
		if got := runSoon(t, tools["list_files"], args("path", name)); got != "!"+name+": not a directory" {
			t.Errorf("list_files %s: got %q", name, got)
		}
		if got := runSoon(t, tools["search_files"], args("path", name, "pattern", ".")); got != "[no line matches in 0 files]\n" {
			t.Errorf("search_files %s: got %q", name, got)
		}
	}
	want := "a (7)\nlink (link)\npipe (not a file)\nsocket (not a file)\n"
	if got := runSoon(t, tools["list_files"], "{}"); got != want {
		t.Errorf("list_files: got %q, want %q", got, want)
	}
	if got := runSoon(t, tools["search_files"], args("pattern", ".")); got != "a:1: inside\n" {
		t.Errorf("search_files: got %q", got)
	}
}

func TestFolder_DevicesAreNotRead(t *testing.T) {
	folder, err := tool.Files("/dev")
	if err != nil {
		t.Skip(err)
	}
	defer folder.Close()
	for _, x := range folder.Tools() {
		for _, name := range []string{"null", "zero", "random", "tty"} {
			if x.Name == "read_file" {
				if got := runSoon(t, x, args("path", name)); got != "!"+name+" is not a file" {
					t.Errorf("read_file /dev/%s: got %q", name, got)
				}
			}
			if x.Name == "search_files" {
				runSoon(t, x, args("path", name, "pattern", "."))
			}
		}
	}
}

func TestFolder_LinksInLoopsEnd(t *testing.T) {
	tools, dir := tree(t, map[string]string{"sub/a": "inside\n"})
	for name, to := range map[string]string{"self": "self", "one": "two", "two": "one", "sub/up": "..", "sub/here": "."} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	for _, name := range []string{"self", "one", "self/a"} {
		for _, x := range []string{"read_file", "list_files"} {
			if got := runSoon(t, tools[x], args("path", name)); !strings.HasPrefix(got, "!"+name+": ") {
				t.Errorf("%s %s: got %q, want an error", x, name, got)
			}
		}
	}
	if got := runSoon(t, tools["read_file"], args("path", strings.Repeat("sub/up/", 200)+"sub/a")); got != "inside\n" && !strings.HasPrefix(got, "!") {
		t.Errorf("read_file through many links: got %q", got)
	}
	if got := runSoon(t, tools["search_files"], args("pattern", ".")); got != "sub/a:1: inside\n" {
		t.Errorf("search_files: got %q, want no link to be followed", got)
	}
}

// A line without an end, in a file that takes no room: 8 KiB of text and then a hole of a terabyte.
func TestFolder_SparseFileIsLeftInTime(t *testing.T) {
	tools, dir := tree(t, map[string]string{"sparse": strings.Repeat("x", 9<<10), "a": "inside\n"})
	if err := os.Truncate(filepath.Join(dir, "sparse"), 1<<40); err != nil {
		t.Skip(err)
	}
	read := tools["read_file"]
	read.Timeout = 200 * time.Millisecond
	if got := runSoon(t, read, args("path", "sparse")); !strings.HasPrefix(got, "!stopped: ") || strings.Contains(got, "left behind") {
		t.Errorf("read_file: got %q, want it to stop", got)
	}
	if got := runSoon(t, tools["search_files"], args("pattern", ".")); got != "a:1: inside\n[left out: 1 files that are binary or above 4 MiB]\n" {
		t.Errorf("search_files: got %q", got)
	}
}

// A name must not look like several entries, or like another name.
func TestFolder_NamesAreOneLineAndVisible(t *testing.T) {
	const forged = "a (1)\nsecret (2)"
	names := map[string]string{ // as they are shown
		forged: `"a (1)\u000asecret (2)"`, "gnp.\u202egnp": `"gnp.\u202egnp"`, "bell\a": `"bell\u0007"`, "esc\x1b[2J": `"esc\u001b[2J"`,
		"zero\u200bwidth": `"zero\u200bwidth"`, `"quoted"`: `"\"quoted\""`, `back\slash`: `"back\\slash"`, "tag\U000e0041": `"tag\udb40\udc41"`,
		"bad\xff": "\"bad\ufffd\"", "é 世界 ok": "é 世界 ok",
	}
	files := map[string]string{}
	for name := range names {
		files[name] = "inside\n"
	}
	tools, _ := tree(t, files)
	for _, x := range []struct{ name, arguments, suffix string }{
		{"list_files", "{}", " (7)"}, {"search_files", args("pattern", "inside"), ":1: inside"},
	} {
		got := runSoon(t, tools[x.name], x.arguments)
		for _, name := range names {
			if want := name + x.suffix; !strings.Contains("\n"+got, "\n"+want+"\n") {
				t.Errorf("%s: got %q, want the line %s", x.name, got, want)
			}
		}
		if n := strings.Count(got, "\n"); n != len(names) {
			t.Errorf("%s: got %d lines, want %d", x.name, n, len(names))
		}
	}
	if got := runSoon(t, tools["read_file"], args("path", forged)); got != "inside\n" {
		t.Errorf("read_file with the name itself: got %q", got)
	}
	if got := runSoon(t, tools["read_file"], args("path", "b\nnone (1)")); got != `!"b\u000anone (1)": no such file or directory` {
		t.Errorf("read_file with another name: got %q", got)
	}
}

func TestFolder_LargeDirectoryIsBounded(t *testing.T) {
	files := map[string]string{}
	for i := range 20_100 {
		files["d/"+strconv.Itoa(i)] = ""
	}
	tools, _ := tree(t, files)
	got := runSoon(t, tools["list_files"], args("path", "d"))
	if !strings.HasSuffix(got, "[more than 19000 more]\n") || strings.Count(got, "\n") != 1001 {
		t.Errorf("list_files: got %d lines, the last are %q", strings.Count(got, "\n"), got[max(0, len(got)-40):])
	}
	if got := runSoon(t, tools["search_files"], args("pattern", "x")); !strings.Contains(got, "[no line matches in 20000 files]\n") ||
		!strings.Contains(got, "[not searched: entries beyond the first 20000 of a directory, in 1 directories]\n") {
		t.Errorf("search_files: got %q", got)
	}
}

// TestFolder_PermissionErrorsAreTold acts as another user, because root may read everything.
func TestFolder_PermissionErrorsAreTold(t *testing.T) {
	tools, dir := tree(t, map[string]string{"open": "inside\n", "shut": "secret\n", "closed/a": "secret\n"})
	for _, name := range []string{"shut", "closed"} {
		if err := os.Chmod(filepath.Join(dir, name), 0); err != nil {
			t.Fatalf("chmod: %v", err)
		}
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, "closed"), 0o755) })
	var all sync.WaitGroup
	all.Go(func() {
		runtime.LockOSThread() // the thread ends with the goroutine, and its user with it
		if os.Geteuid() == 0 && !dropRights() {
			t.Log("root may read everything: nothing is tested")
			return
		}
		for _, tt := range []struct{ tool, arguments, want string }{
			{"read_file", args("path", "shut"), "!shut: permission denied"},
			{"read_file", args("path", "closed/a"), "!closed/a: permission denied"},
			{"list_files", args("path", "closed"), "!closed: permission denied"},
			{"search_files", args("pattern", "."), "open:1: inside\n[could not be read: 2]\n"},
		} {
			got, err := tools[tt.tool].Func(t.Context(), []byte(tt.arguments))
			if err != nil {
				got = "!" + err.Error()
			}
			if got != tt.want {
				t.Errorf("%s %s: got %q, want %q", tt.tool, tt.arguments, got, tt.want)
			}
		}
	})
	all.Wait()
}

// Between the look at a file and its opening another process may replace it.
func TestFolder_PipeInPlaceOfAFileDoesNotBlock(t *testing.T) {
	dir := t.TempDir()
	makeFIFO(t, filepath.Join(dir, "pipe"))
	folder, err := tool.Files(dir)
	if err != nil {
		t.Fatalf("files: %v", err)
	}
	defer folder.Close()
	opened := make(chan error, 1)
	go func() { opened <- folder.OpenPresent("pipe") }()
	select {
	case err = <-opened:
	case <-time.After(soon):
		t.Fatalf("open: no result within %v", soon)
	}
	if err == nil || err.Error() != "pipe is not a file" {
		t.Errorf("open: got error %v, want that it is not a file", err)
	}
}

// TestFolder_SwapsWhileItIsUsed replaces files and directories by links outside, pipes and each other while the
// tools run: nothing of the outside is read, and nothing blocks.
func TestFolder_SwapsWhileItIsUsed(t *testing.T) {
	tools, dir := tree(t, map[string]string{"a": "inside\n", "sub/b": "inside\n"})
	outside := filepath.Join(filepath.Dir(dir), "outside")
	if err := os.MkdirAll(filepath.Join(outside, "sub"), 0o755); err != nil {
		t.Fatalf("mkdir: %v", err)
	}
	for _, name := range []string{"a", "b", "sub/b"} {
		if err := os.WriteFile(filepath.Join(outside, name), []byte("secret\n"), 0o644); err != nil {
			t.Fatalf("write file: %v", err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var swapping sync.WaitGroup
	swapping.Go(func() { swap(ctx, filepath.Join(dir, "a"), filepath.Join(outside, "a"), false) })
	swapping.Go(func() { swap(ctx, filepath.Join(dir, "sub"), filepath.Join(outside, "sub"), true) })
	for i := range 2000 {
		for name, x := range tools {
			arguments := args("path", []string{"a", "sub", "sub/b", "."}[i%4])
			if name == "search_files" {
				arguments = args("path", []string{"a", "sub", "."}[i%3], "pattern", ".")
			}
			if got := runSoon(t, x, arguments); strings.Contains(got, "secret") {
				t.Fatalf("%s %s: got %q", name, arguments, got)
			}
		}
		if t.Failed() {
			break
		}
	}
	cancel()
	swapping.Wait()
}

// swap makes a name one thing after the other, in one step each.
func swap(ctx context.Context, name, outside string, directory bool) {
	next := name + ".next"
	for i := 0; ctx.Err() == nil; i++ {
		_ = os.RemoveAll(next)
		kind := i % 3
		if directory && kind == 0 {
			kind = 3
		}
		switch kind {
		case 0:
			_ = os.WriteFile(next, []byte("inside\n"), 0o644)
		case 1:
			_ = os.Symlink(outside, next)
		case 2:
			_ = syscall.Mkfifo(next, 0o644)
		case 3:
			_ = os.MkdirAll(filepath.Join(next, "b"), 0o755)
		}
		if directory {
			_ = os.RemoveAll(name)
		}
		_ = os.Rename(next, name)
	}
}
