package arch_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// small is a table with a package on each of the lower floors.
var small = []row{
	{floor: 0, path: "sum"},
	{floor: 1, path: "call", uses: "sum"},
	{floor: 2, path: "box", uses: "call", parts: "example.com/part"},
}

// built are the sources of the small module. All rules hold.
var built = map[string]string{
	"sum/sum.go":      "// Package sum adds.\npackage sum\nimport \"time\"\nconst Day = 24 * time.Hour\nvar ErrFull, days = Day, 7",
	"sum/sum_test.go": "package sum_test\nimport (\"os\"; \"time\"; \"example.com/other\"; \"testing/synctest\")\nvar V = time.Sleep\nvar _ = make(chan int)",
	"box/box_test.go": `package box_test
import ("testing"; "testing/synctest"; "time")
func bubble(t *testing.T, f func()) { synctest.Test(t, func(*testing.T) { f() }) }
func nap() { time.Sleep(time.Hour) }
func TestDirect(t *testing.T) { synctest.Test(t, func(*testing.T) { nap() }) }
func TestByHelper(t *testing.T) { bubble(t, nap) }
func TestTable(t *testing.T) { for _, f := range []func(){func() { nap() }} { bubble(t, f) } }`,
	"call/call.go":          "// Package call waits.\npackage call\nimport (\"time\"; \"" + module + "/sum\")\nfunc Call() { go time.NewTimer(sum.Day) }",
	"box/box.go":            "// Package box holds.\npackage box\nimport (\"" + module + "/call\"; \"example.com/part/v2\"; \"os\")",
	"box/testdata/x.go":     "no Go at all",
	"box/_draft.go":         "no Go either",
	"sdk/go.mod":            "module elsewhere",
	"sdk/deep/sdk.go":       "package deep\nfunc init() {}",
	".hidden/x.go":          "package hidden",
	"node_modules/x/x.go":   "package x",
	"docs/notes.md":         "package docs",
	"box/testdata/deep/y.c": "",
}

// lay returns the small module with one file added or replaced.
func lay(t *testing.T, name, text string) tree {
	t.Helper()
	disk := fstest.MapFS{}
	for n, text := range built {
		disk[n] = &fstest.MapFile{Data: []byte(text)}
	}
	if name != "" {
		disk[name] = &fstest.MapFile{Data: []byte(text)}
	}
	laid, err := read(disk)
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	return laid
}

var smallRules = rules(small, words, []clock{{"call", "NewTimer", "waits"}})

func TestRules_HoldInACleanModule(t *testing.T) {
	for name, r := range smallRules {
		if broken := r(lay(t, "", "")); len(broken) > 0 {
			t.Errorf("%s: %q", name, broken)
		}
	}
}

func TestRules_EachCatchesItsViolation(t *testing.T) {
	unproved := maps.Clone(smallRules)
	for _, c := range []struct{ rule, name, text, want string }{
		{"every package has a row", "new/x.go", "package x", "new: a package without a row"},
		{"every package has a row", "new/x_test.go", "package x", "new: a package without a row"},
		{"every package has a row", "x.go", "package x", ".: a package without a row"},

		{"imports keep to the row", "sum/x.go", `package sum; import "` + module + `/call"`, "sum/x.go:1: sum may not import " + module + "/call"},
		{"imports keep to the row", "box/x.go", `package box; import "` + module + `/sum"`, "box/x.go:1: box may not import " + module + "/sum"},
		{"imports keep to the row", "box/x.go", `package box; import "` + module + `"`, "box/x.go:1: box may not import " + module},
		{"imports keep to the row", "box/x.go", `package box; import "example.com/party"`, "box/x.go:1: box may not import example.com/party"},
		{"imports keep to the row", "call/x.go", `package call; import "golang.org/x/time/rate"`, "call/x.go:1: call may not import golang.org/x/time/rate"},
		{"imports keep to the row", "call/x_linux.go", `package call; import "C"`, "call/x_linux.go:1: call may not import C"},
		{"imports keep to the row", "new/x.go", `package x; import "` + module + `/sum"`, "new/x.go:1: new may not import " + module + "/sum"},

		{"imports show by name", "box/x.go", `package box; import . "time"`, "box/x.go:1: dot import of time"},

		{"floor 0 computes", "sum/x.go", says("time", "time.Now"), "sum/x.go:1: floor 0 may not use time.Now"},
		{"floor 0 computes", "sum/x.go", says("time", "time.Since"), "sum/x.go:1: floor 0 may not use time.Since"},
		{"floor 0 computes", "sum/x.go", says("time", "time.AfterFunc"), "sum/x.go:1: floor 0 may not use time.AfterFunc"},
		{"floor 0 computes", "sum/x.go", says("time", "time.LoadLocation"), "sum/x.go:1: floor 0 may not use time.LoadLocation"},
		{"floor 0 computes", "sum/x.go", `package sum; import clock "time"; var _ = clock.Now`, "sum/x.go:1: floor 0 may not use time.Now"},
		{"floor 0 computes", "sum/x.go", says("math/rand/v2", "rand.N"), "sum/x.go:1: floor 0 may not use math/rand/v2"},
		{"floor 0 computes", "sum/x.go", says("crypto/rand", "rand.Text"), "sum/x.go:1: floor 0 may not use crypto/rand"},
		{"floor 0 computes", "sum/x.go", says("crypto/tls", "tls.Dial"), "sum/x.go:1: floor 0 may not use crypto/tls.Dial"},
		{"floor 0 computes", "sum/x.go", says("os", "os.Getenv"), "sum/x.go:1: floor 0 may not use os.Getenv"},
		{"floor 0 computes", "sum/x.go", says("net", "net.Dial"), "sum/x.go:1: floor 0 may not use net.Dial"},
		{"floor 0 computes", "sum/x.go", says("net/http", "http.DefaultClient.Do"), "sum/x.go:1: floor 0 may not use net/http.DefaultClient"},
		{"floor 0 computes", "sum/x.go", says("net/http", "http.Error"), "sum/x.go:1: floor 0 may not use net/http.Error"},
		{"floor 0 computes", "sum/x.go", says("io", "io.ReadAll"), "sum/x.go:1: floor 0 may not use io.ReadAll"},
		{"floor 0 computes", "sum/x.go", says("syscall", "syscall.Exit"), "sum/x.go:1: floor 0 may not use syscall.Exit"},
		{"floor 0 computes", "sum/x.go", says("context", "context.WithTimeout"), "sum/x.go:1: floor 0 may not use context.WithTimeout"},
		{"floor 0 computes", "sum/x.go", says("iter", "iter.Pull[int]"), "sum/x.go:1: floor 0 may not use iter.Pull"},
		{"floor 0 computes", "sum/x.go", says("plugin", "plugin.Open"), "sum/x.go:1: floor 0 may not use plugin"},
		{"floor 0 computes", "sum/x.go", `package sum; import _ "net/http/pprof"`, "sum/x.go:1: floor 0 may not use net/http/pprof"},
		{"floor 0 computes", "sum/x.go", "package sum\nfunc f() {\n\tgo f()\n}", "sum/x.go:3: floor 0 starts a goroutine"},
		{"floor 0 computes", "sum/x.go", "package sum; var c chan int", "sum/x.go:1: floor 0 uses a channel"},
		{"floor 0 computes", "sum/x.go", "package sum; func f() { select {} }", "sum/x.go:1: floor 0 uses a channel"},

		{"one package waits", "call/x.go", says("time", "time.Sleep"), "call/x.go:1: time.Sleep: only package retry waits; another clock says what for"},
		{"one package waits", "box/x.go", says("time", "time.NewTimer"), "box/x.go:1: time.NewTimer: only package retry waits; another clock says what for"},
		{"one package waits", "box/x.go", says("time", "time.After"), "box/x.go:1: time.After: only package retry waits; another clock says what for"},
		{"one package waits", "call/call.go", "package call", "call: a clock in vain, it does not use time.NewTimer"},

		{"no exported state", "box/x.go", "package box; var a, Default = 1, 2", "box/x.go:1: exported variable Default"},
		{"no func init", "box/x_test.go", "package box; func init() {}", "box/x_test.go:1: func init"},
		{"packages say why they exist", "box/box.go", "//go:build linux\npackage box", "box: no package comment"},
		{"packages say why they exist", "new/x_test.go", "// Package x is a test.\npackage x", "new: no package comment"},
		{"tests sleep in virtual time", "box/x_test.go", sleeping("TestX", ""), "box/x_test.go:3: time.Sleep outside a bubble of testing/synctest, in TestX"},
		{"tests sleep in virtual time", "box/x_test.go", sleeping("wait", "func TestX() { wait() }\nfunc TestY() { synctest.Test(wait) }"), "box/x_test.go:3: time.Sleep outside a bubble of testing/synctest, in TestX"},
		{"a file is at most 420 lines", "box/x.go", "package box" + strings.Repeat("\n", 421), "box/x.go: 421 lines"},
		{"an interface has at most 5 methods", "box/x.go", "package box; type big interface { a(); b(); c(); d(); e(); f() }", "box/x.go:1: big has 6 methods"},
	} {
		delete(unproved, c.rule)
		if broken := smallRules[c.rule](lay(t, c.name, c.text)); !slices.Equal(broken, []string{c.want}) {
			t.Errorf("%s: %s: %s\n got %q\nwant %q", c.rule, c.name, c.text, broken, c.want)
		}
	}
	delete(unproved, "rows only go down") // about the table alone: see below
	for name := range unproved {
		t.Errorf("%s: no case breaks it", name)
	}
}

func TestComments_ManyFilesNeedAReason(t *testing.T) {
	module := fstest.MapFS{"box/box.go": {Data: []byte("// Package box is a test.\npackage box")}}
	for i := range 15 {
		module[fmt.Sprintf("box/x%d.go", i)] = &fstest.MapFile{Data: []byte("package box")}
	}
	for _, want := range []string{"box: 16 files, and its comment does not say why it has many files", ""} {
		files, err := read(module)
		if err != nil {
			t.Fatalf("read: %v", err)
		}
		if got := strings.Join(comments(files), "\n"); got != want {
			t.Errorf("16 files: got %q, want %q", got, want)
		}
		module["box/box.go"].Data = []byte("// Package box is a test. It has\n// many files because of this.\npackage box")
	}
}

// sleeping is a test file with a function that sleeps, and more.
func sleeping(name, more string) string {
	return "package box_test\nimport (\"time\"; \"testing/synctest\")\nfunc " + name + "() { time.Sleep(1) }\n" + more
}

// says is a file that uses a name of a standard package.
func says(path, name string) string { return `package sum; import "` + path + `"; var _ = ` + name }

func TestRows_OnlyGoDown(t *testing.T) {
	for _, c := range []struct {
		house []row
		want  string
	}{
		{[]row{{floor: 0, path: "a", uses: "b"}, {floor: 1, path: "b"}}, "a: uses b, which is not above it"},
		{[]row{{floor: 0, path: "a", uses: "a"}}, "a: uses a, which is not above it"},
		{[]row{{floor: 1, path: "a"}, {floor: 0, path: "b"}}, "b: floor 0 stands after floor 1"},
		{[]row{{floor: 1, path: "a", parts: "example.com/part"}}, "a: floor 1 has third-party parts"},
	} {
		if broken := descends(c.house); !slices.Equal(broken, []string{c.want}) {
			t.Errorf("%v: got %q, want %q", c.house, broken, c.want)
		}
	}
}

func TestRows_NeedTheirPackageOnce(t *testing.T) {
	laid := lay(t, "", "")
	for _, extra := range []row{{floor: 2, path: "gone"}, small[0]} {
		want := []string{extra.path + ": a row without a package, or a second row"}
		if broken := rows(append(slices.Clone(small), extra))(laid); !slices.Equal(broken, want) {
			t.Errorf("got %q, want %q", broken, want)
		}
	}
}

func TestRead_RefusesInvalidGo(t *testing.T) {
	if _, err := read(fstest.MapFS{"a/a.go": &fstest.MapFile{Data: []byte("package")}}); err == nil {
		t.Error("read a file that is not Go: got no error")
	}
}
