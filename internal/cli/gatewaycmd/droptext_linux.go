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

// dropText takes the pages of the program's code out of this process. Three
// quarters of them only the start has needed; what is run again is mapped again,
// from the kernel's cache, sixteen pages at a time. Where it cannot be done,
// nothing is lost but memory.
//
// A debugger writes its breakpoints into these pages, so it is left alone.
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
	defer func() { _ = maps.Close() }() // it was only read
	for _, text := range textOf(maps, program) {
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, text.from, text.to-text.from, syscall.MADV_DONTNEED)
	}
}

// region is a range of addresses.
type region struct{ from, to uintptr }

// textOf finds the code of a program in the list of what a process has mapped:
// what is read and run, and never written. Nothing else may be dropped, for it
// would come back as it is in the file.
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
