package main_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	main "github.com/ridethrough/ridethrough/bench/internal/calls"
)

// The compiler reads a profile by way of this list.
func TestProfile_HasTheCallsOfTheList(t *testing.T) {
	const list = `GO PREPROFILE V1
net/http.(*conn).serve
net/http.serverHandler.ServeHTTP
190 700
example.com/a.F[...]
example.com/a.(*T).M.func1
2 31
example.com/a.F[...]
example.com/a.F[...]
7 12
example.com/a.F[...]
runtime.mallocgc
0 5
example.com/b.Generated
runtime.mallocgc
-3 1
`
	var profile bytes.Buffer
	if err := main.Convert(&profile, strings.NewReader(list)); err != nil {
		t.Fatalf("convert: %v", err)
	}
	file := filepath.Join(t.TempDir(), "default.pgo")
	if err := os.WriteFile(file, profile.Bytes(), 0o600); err != nil {
		t.Fatalf("write: %v", err)
	}
	got, err := exec.Command("go", "tool", "preprofile", "-i", file).CombinedOutput()
	if err != nil || string(got) != list {
		t.Errorf("calls of the profile: %v, got\n%s\nwant\n%s", err, got, list)
	}
}

func TestProfile_IsNotMadeOfSomethingElse(t *testing.T) {
	for list, want := range map[string]string{
		"":                                 "begins with",
		"GO PREPROFILE V2\na\nb\n1 2\n":    "begins with",
		"GO PREPROFILE V1\n":               "no calls",
		"GO PREPROFILE V1\na\nb\n":         `call of "b"`,
		"GO PREPROFILE V1\na\nb\n1 many\n": `call of "b"`,
	} {
		var profile bytes.Buffer
		if err := main.Convert(&profile, strings.NewReader(list)); err == nil || !strings.Contains(err.Error(), want) || profile.Len() > 0 {
			t.Errorf("profile of %q: got %v and %d bytes, want an error with %q", list, err, profile.Len(), want)
		}
	}
}
