package config_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/internal/operation/config"
)

// join reads files as one text, which must not be empty.
func join(texts [][]byte) (string, error) {
	var all []string
	for _, text := range texts {
		if len(text) == 0 {
			return "", errors.New("it is empty")
		}
		all = append(all, string(text))
	}
	return strings.Join(all, "+"), nil
}

func replace(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		t.Fatalf("write: %v", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatalf("rename: %v", err)
	}
}

func TestReload_FollowsItsFiles(t *testing.T) {
	a, b := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
	replace(t, a, "1")
	replace(t, b, "2")
	var reports []string
	v, err := config.Reload(join, func(s string, err error) { reports = append(reports, fmt.Sprint(s, " ", err)) }, a, b)
	if err != nil {
		t.Fatalf("Reload: %v", err)
	}
	check := func(when, want string) {
		t.Helper()
		for range 3 { // each change is reported once
			if got := v.Get(); got != want {
				t.Errorf("Get %s: %q, want %q", when, got, want)
			}
		}
	}
	check("at first", "1+2")
	replace(t, b, "3")
	check("after a change", "1+3")
	replace(t, a, "")
	check("with an empty file", "1+3")
	if err := os.Remove(a); err != nil {
		t.Fatalf("remove: %v", err)
	}
	check("without a file", "1+3")
	replace(t, a, "4")
	check("after its return", "4+3")
	want := []string{"1+3 <nil>", " it is empty", " file " + a + ": no such file or directory", "4+3 <nil>"}
	if diff := cmp.Diff(want, reports); diff != "" {
		t.Errorf("reports (-want +got):\n%s", diff)
	}
}

func TestReload_NeedsItsFiles(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none")
	if _, err := config.Reload(join, nil, missing); err == nil || err.Error() != "file "+missing+": no such file or directory" {
		t.Errorf("Reload: %v", err)
	}
}
