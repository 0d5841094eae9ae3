package release_test

import (
	"bytes"
	"compress/gzip"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	profileFile = "packaging/ridethrough.pgo"
	modulePath  = "github.com/ridethrough/ridethrough/"
)

// hottest returns functions of ours that the profile names, those first that were met most often.
func hottest(t *testing.T, most int) (names []string) {
	t.Helper()
	out, err := exec.Command("go", "tool", "preprofile", "-i", root+profileFile).Output() // its calls, the hottest first
	if err != nil {
		t.Fatalf("calls of %s: %v", profileFile, err)
	}
	for line := range strings.Lines(string(out)) {
		name, ours := strings.CutPrefix(strings.TrimSpace(line), modulePath)
		if ours && len(names) < most && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// source has the functions of packages of ours that were read, by the package's folder.
type source map[string][]*ast.FuncDecl

// declares reports whether a package of ours declares the function that the compiler gives this name. What belongs to
// no declared function, such as the first value of a variable, counts as declared with its package.
func (s source) declares(t *testing.T, name string) bool {
	t.Helper()
	slash := strings.LastIndex(name, "/")
	if bracket := strings.IndexByte(name, '['); bracket >= 0 {
		slash = strings.LastIndex(name[:bracket], "/")
	}
	dot := slash + 1 + strings.IndexByte(name[slash+1:], '.')
	folder, name := name[:dot], name[dot+1:]
	if _, known := s[folder]; !known {
		s.read(t, folder)
	}
	if strings.HasPrefix(name, "init.") || strings.HasPrefix(name, "glob.") {
		return len(s[folder]) > 0
	}
	return slices.ContainsFunc(s[folder], func(f *ast.FuncDecl) bool { return isOf(name, f) })
}

// read parses a package.
func (s source) read(t *testing.T, folder string) {
	t.Helper()
	s[folder] = nil
	files, _ := filepath.Glob(root + folder + "/*.go")
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatalf("parse: %v", err)
		}
		for _, d := range parsed.Decls {
			if f, is := d.(*ast.FuncDecl); is {
				s[folder] = append(s[folder], f)
			}
		}
	}
}

// isOf reports whether a name below a package is that of a function, or of a closure within it.
func isOf(name string, f *ast.FuncDecl) bool {
	if first, last := strings.IndexByte(name, '['), strings.LastIndexByte(name, ']'); first >= 0 && first < last {
		name = name[:first] + name[last+1:] // without arguments for types
	}
	words := strings.Split(strings.NewReplacer("(*", "", ")", "", "-fm", "").Replace(name), ".")
	if f.Recv == nil {
		return words[0] == f.Name.Name
	}
	of := f.Recv.List[0].Type
	if star, is := of.(*ast.StarExpr); is {
		of = star.X
	}
	switch generic := of.(type) {
	case *ast.IndexExpr:
		of = generic.X
	case *ast.IndexListExpr:
		of = generic.X
	}
	ident, is := of.(*ast.Ident)
	return is && len(words) > 1 && words[0] == ident.Name && words[1] == f.Name.Name
}

func TestProfile_NamesFunctionsThatThereAre(t *testing.T) {
	names := hottest(t, 200)
	if len(names) < 100 {
		t.Fatalf("%s names %d functions of ours, want 100 or more: make it anew with scripts/profile", profileFile, len(names))
	}
	ours := source{}
	var gone []string
	for _, name := range names {
		if !ours.declares(t, name) {
			gone = append(gone, name)
		}
	}
	t.Logf("%d of the %d hottest functions are gone: %q", len(gone), len(names), gone)
	if 2*len(gone) > len(names) {
		t.Errorf("%s is of other code: %d of its %d hottest functions are gone; make it anew with scripts/profile", profileFile, len(gone), len(names))
	}
}

func TestProfile_FunctionsAreFoundByTheirNames(t *testing.T) {
	for name, want := range map[string]bool{
		"bench/internal/calls.convert":           true,
		"bench/internal/calls.convert.func1":     true,
		"bench/internal/calls.(*profile).text":   true,
		"bench/internal/calls.profile.text":      true, // as an embedded one
		"bench/internal/calls.(*message).text":   false,
		"bench/internal/calls.text":              false,
		"bench/internal/calls.init.func1":        true,
		"bench/internal/nothing.init.func1":      false,
		"store.(*KV[...]).Nothing":               false,
		"test/release.parse[go.shape.struct {}]": true,

		"internal/server/stream.Next[go.shape.struct { ID string; JSON []uint8; Err error }].func1": true,
	} {
		if got := (source{}).declares(t, name); got != want {
			t.Errorf("%s is declared: got %t, want %t", name, got, want)
		}
	}
}

func TestProfile_IsSmallAndOfNoMachine(t *testing.T) {
	packed, err := os.ReadFile(root + profileFile)
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	if len(packed) > 300_000 {
		t.Errorf("%s has %d bytes, want at most 300 000", profileFile, len(packed))
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatalf("%s: %v", profileFile, err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatalf("%s: %v", profileFile, err)
	}
	if path := regexp.MustCompile(`(/(root|home|tmp|usr|work|opt|var|private|Users)/|[A-Z]:\\)[ -~]*`).Find(text); path != nil {
		t.Errorf("%s has a path: %q", profileFile, path)
	}
}

// The benchmark, the scripts and the releases build a program in the same way.
func TestProfile_IsThatOfReleases(t *testing.T) {
	programs := read(t, "scripts/programs")
	for id, build := range entries(t, parse[object](t, ".goreleaser.yaml"), "builds", "id") {
		want := []string{"-trimpath", "-buildvcs=true"}
		if _, err := os.Stat(root + "packaging/" + id + ".pgo"); err == nil {
			want = append(want, "-pgo=packaging/"+id+".pgo")
		}
		if got := list(build["flags"]); !slices.Equal(got, want) {
			t.Errorf("release of %s: flags %q, want %q", id, got, want)
		}
		if flags := strings.Join(list(build["ldflags"]), " "); !strings.Contains(programs, "-ldflags='"+flags+"'") {
			t.Errorf("release of %s: scripts/programs has not its -ldflags=%q", id, flags)
		}
	}
	for _, part := range []string{"CGO_ENABLED=0", "-trimpath", "profile=packaging/$name.pgo"} {
		if !strings.Contains(programs, part) {
			t.Errorf("scripts/programs has not %q, as releases have", part)
		}
	}
}
