package release_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestSizes_LargerProgramIsRefused(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("scripts/sizes needs GNU's stat, and a newer shell than macOS has")
	}
	for _, tt := range []struct {
		gateway, whole int64
		says           string // "": it passes
	}{
		{15e6, 45e6, ""},
		{15e6 + 1, 45e6, "ridethrough-gateway is 1 bytes larger than the 15000000 that it may have"},
		{15e6, 45e6 + 7, "ridethrough is 7 bytes larger than the 45000000 that it may have"},
	} {
		dir := t.TempDir()
		for name, size := range map[string]int64{"ridethrough-gateway": tt.gateway, "ridethrough": tt.whole} {
			file := filepath.Join(dir, name)
			if err := os.WriteFile(file, nil, 0o700); err != nil {
				t.Fatalf("write: %v", err)
			}
			if err := os.Truncate(file, size); err != nil {
				t.Fatalf("truncate: %v", err)
			}
		}
		out, err := exec.Command("bash", root+"scripts/sizes", dir).CombinedOutput()
		if passes := err == nil; passes != (tt.says == "") || !strings.Contains(string(out), tt.says) {
			t.Errorf("%d and %d bytes: error %v, want %q in\n%s", tt.gateway, tt.whole, err, tt.says, out)
		}
	}
}
