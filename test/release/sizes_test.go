package release_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

func TestSizes_LargerProgramIsRefused(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("scripts/sizes needs GNU's stat, and a newer shell than macOS has")
	}
	script, err := os.ReadFile(root + "scripts/sizes")
	if err != nil {
		t.Fatalf("read file: %v", err)
	}
	limit := regexp.MustCompile(`(?m)^readonly limit=(\d+)$`).FindSubmatch(script)
	if limit == nil {
		t.Fatal("scripts/sizes: no line with the limit")
	}
	most, _ := strconv.ParseInt(string(limit[1]), 10, 64)
	for size, says := range map[int64]string{ // "": it passes
		most:     "",
		most + 7: fmt.Sprintf("ridethrough is 7 bytes larger than the %d that it may have", most),
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "ridethrough")
		if err := os.WriteFile(file, nil, 0o700); err != nil {
			t.Fatalf("write: %v", err)
		}
		if err := os.Truncate(file, size); err != nil {
			t.Fatalf("truncate: %v", err)
		}
		out, err := exec.Command("bash", root+"scripts/sizes", dir).CombinedOutput()
		if passes := err == nil; passes != (says == "") || !strings.Contains(string(out), says) {
			t.Errorf("%d bytes: error %v, want %q in\n%s", size, err, says, out)
		}
	}
}
