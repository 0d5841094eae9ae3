package gatewaycmd

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const mapped = `00400000-01c48000 r-xp 00000000 fe:00 10551937                           /opt/a program
01c48000-03ada000 r--p 01848000 fe:00 10551937                           /opt/a program
03ada000-03b86000 rw-p 036da000 fe:00 10551937                           /opt/a program
c000000000-c000c00000 rw-p 00000000 00:00 0
7f423c742000-7f423c768000 r-xp 00000000 fe:00 326269                     /usr/lib/libc.so.6
zzz r-xp 00000000 fe:00 10551937                                         /opt/a program
01c48000-00400000 r-xp 00000000 fe:00 10551937                           /opt/a program
7ffd1b9d1000-7ffd1b9d3000 r-xp 00000000 00:00 0                          [vdso]
`

func TestTextOf_OnlyOwnCode(t *testing.T) {
	got := textOf(strings.NewReader(mapped), "/opt/a program")
	if diff := cmp.Diff([]region{{0x400000, 0x1c48000}}, got, cmp.AllowUnexported(region{})); diff != "" {
		t.Errorf("regions (-want +got):\n%s", diff)
	}
}

func TestDropText_ReleasesMemory(t *testing.T) {
	before := residentText(t)
	dropText()
	if after := residentText(t); after >= before {
		t.Errorf("%d KB of code before, %d after", before, after)
	}
}

// residentText returns how much of this program's code is in memory, in KB.
func residentText(t *testing.T) (sum int) {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil || !strings.Contains(string(status), "TracerPid:\t0\n") {
		t.Skip("it needs /proc, and no debugger")
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	code := false
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		switch {
		case !strings.HasSuffix(fields[0], ":"):
			code = fields[1] == "r-xp" && strings.HasSuffix(fields[len(fields)-1], ".test")
		case code && fields[0] == "Rss:":
			kb, err := strconv.Atoi(fields[1])
			if err != nil {
				t.Fatalf("atoi: %v", err)
			}
			sum += kb
		}
	}
	return sum
}
