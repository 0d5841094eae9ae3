package gatewaycmd

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// dropText unmaps the pages of the program's code. Three quarters of them are only used at the start; the
// others are mapped again from the page cache when they run. Failing only costs memory. With a debugger,
// which writes breakpoints into these pages, it does nothing.
func dropText() {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil || !bytes.Contains(status, []byte("TracerPid:\t0\n")) {
		return
	}
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return
	}
	defer func() { _ = maps.Close() }() // it is only read
	for _, text := range textOf(maps, program) {
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, text.from, text.to-text.from, syscall.MADV_DONTNEED)
	}
}

// region is a range of addresses.
type region struct{ from, to uintptr }

// textOf returns the code of a program in a list of mappings: what is readable and
// executable, but not writable. Written pages would lose their content.
func textOf(maps io.Reader, program string) (all []region) {
	lines := bufio.NewScanner(maps)
	for lines.Scan() {
		addresses, rest, _ := strings.Cut(lines.Text(), " ")
		if !strings.HasPrefix(rest, "r-xp ") || !strings.HasSuffix(rest, " "+program) {
			continue
		}
		low, high, _ := strings.Cut(addresses, "-")
		from, err := strconv.ParseUint(low, 16, 64)
		to, failed := strconv.ParseUint(high, 16, 64)
		if err == nil && failed == nil && from < to {
			all = append(all, region{uintptr(from), uintptr(to)})
		}
	}
	return all
}
